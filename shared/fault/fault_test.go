package fault_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
)

// names are the classes as they stand in logs, in metrics and in quarantine rows: changing one breaks what reads those.
var names = map[fault.Class]string{
	fault.Unclassified:   "unclassified",
	fault.Retryable:      "retryable",
	fault.UnknownOutcome: "unknown_outcome",
	fault.Fenced:         "fenced",
	fault.Poison:         "poison",
	fault.Gap:            "gap",
	fault.Corrupt:        "corrupt",
	fault.Misconfigured:  "misconfigured",
	fault.Bug:            "bug",
}

func TestClass(t *testing.T) {
	t.Parallel()
	t.Run("HasAStableName", func(t *testing.T) {
		t.Parallel()
		got := map[fault.Class]string{}
		for c := fault.Unclassified; c <= fault.Bug; c++ {
			got[c] = c.String()
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("IsInTheListOfNames", func(t *testing.T) {
		t.Parallel()
		for n := range 256 {
			c := fault.Class(n)
			_, listed := names[c]
			if anonymous := c.String() == fmt.Sprintf("class(%d)", n); anonymous == listed {
				t.Errorf("class %d is called %s, listed: %t", n, c, listed)
			}
		}
	})
	t.Run("IsUnclassifiedUntilSomebodyDecides", func(t *testing.T) {
		t.Parallel()
		var zero fault.Class
		if zero != fault.Unclassified {
			t.Errorf("the zero class is %s", zero)
		}
	})
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	gap := fault.New(fault.Gap, "gone")
	for name, test := range map[string]struct {
		err  error
		want fault.Class
	}{
		"NothingIsUnclassified":            {nil, fault.Unclassified},
		"AnybodysErrorIsUnclassified":      {io.EOF, fault.Unclassified},
		"AWrappedErrorIsUnclassifiedToo":   {fmt.Errorf("read: %w", io.EOF), fault.Unclassified},
		"ANewFaultHasItsClass":             {gap, fault.Gap},
		"AWrapKeepsTheClass":               {fmt.Errorf("apply: %w", fmt.Errorf("heal: %w", gap)), fault.Gap},
		"AHintKeepsTheClass":               {gap.WithHint("run: x"), fault.Gap},
		"AJoinKeepsTheClass":               {errors.Join(io.EOF, gap), fault.Gap},
		"AWrappedJoinKeepsTheClass":        {fmt.Errorf("close: %w", errors.Join(io.EOF, gap)), fault.Gap},
		"TwoWrapsInOneKeepTheClass":        {fmt.Errorf("%w: %w", io.EOF, gap), fault.Gap},
		"TheFirstOfAJoinDecides":           {errors.Join(gap, fault.New(fault.Bug, "b")), fault.Gap},
		"TheNearestDecides":                {fault.Wrap(fault.Retryable, gap), fault.Retryable},
		"TheNearestDecidesThroughAMessage": {fault.New(fault.Poison, "park: %w", gap), fault.Poison},
		"UnclassifiedIsADecisionToo":       {fault.Wrap(fault.Unclassified, gap), fault.Unclassified},
		"AMessageWithoutWrapLosesTheClass": {fmt.Errorf("apply: %s", gap.Error()), fault.Unclassified},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fault.ClassOf(test.err); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			for class := range names {
				if got, want := fault.Is(test.err, class), test.err != nil && class == test.want; got != want {
					t.Errorf("is %s: got %t, want %t", class, got, want)
				}
			}
		})
	}
}

func TestHintOf(t *testing.T) {
	t.Parallel()
	const accept = "run: tidemark gap accept"
	hinted := fault.New(fault.Gap, "gone").WithHint(accept)
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"NothingHasNone":                {nil, ""},
		"AnybodysErrorHasNone":          {io.EOF, ""},
		"AFaultWithoutOneHasNone":       {fault.New(fault.Gap, "gone"), ""},
		"ItsOwn":                        {hinted, accept},
		"ThroughAWrap":                  {fmt.Errorf("apply: %w", hinted), accept},
		"ThroughAJoin":                  {errors.Join(io.EOF, hinted), accept},
		"ThroughAClassWithoutAHint":     {fault.Wrap(fault.Bug, hinted), accept},
		"ThroughAMessageAndAClass":      {fault.New(fault.Bug, "a: %w", fmt.Errorf("b: %w", hinted)), accept},
		"ThroughAJoinBelowAClass":       {fault.Wrap(fault.Bug, errors.Join(io.EOF, hinted)), accept},
		"TheNearestWins":                {fault.New(fault.Bug, "a: %w", hinted).WithHint("call us"), "call us"},
		"TheNearestWinsThroughManyMore": {fault.Wrap(fault.Bug, fmt.Errorf("a: %w", fault.Wrap(fault.Gap, hinted))), accept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fault.HintOf(test.err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	t.Run("SaysWhatItWraps", func(t *testing.T) {
		t.Parallel()
		err := fault.New(fault.Corrupt, "read %s/%d: %w", "orders", 3, io.ErrUnexpectedEOF)
		if got := err.Error(); got != "read orders/3: unexpected EOF" {
			t.Errorf("got %q", got)
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(fault.Wrap(fault.Bug, err), io.ErrUnexpectedEOF) {
			t.Error("the cause is lost")
		}
	})
	t.Run("KeepsClassAndHintOutOfTheMessage", func(t *testing.T) {
		t.Parallel()
		err := fault.New(fault.Corrupt, "read").WithHint("look")
		if got := fmt.Errorf("apply: %w", err).Error(); got != "apply: read" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("StaysNilWhenNilIsWrapped", func(t *testing.T) {
		t.Parallel()
		for class := range names {
			if err := fault.Wrap(class, nil); err != nil { // also as an interface
				t.Errorf("%s: got %#v", class, err)
			}
		}
	})
	t.Run("GivesTheHintToACopy", func(t *testing.T) {
		t.Parallel()
		first := fault.New(fault.Gap, "gone: %w", io.EOF)
		second := first.WithHint("run: %s %d", "x", 1)
		third := second.WithHint("100%% sure")
		for _, test := range []struct {
			err  *fault.Error
			want string
		}{{first, ""}, {second, "run: x 1"}, {third, "100% sure"}} {
			kept := test.err.Class == fault.Gap && test.err.Error() == "gone: EOF" && errors.Is(test.err, io.EOF)
			if test.err.Hint != test.want || !kept {
				t.Errorf("got %+v, want the hint %q", test.err, test.want)
			}
		}
	})
}

func TestLine(t *testing.T) {
	t.Parallel()
	hinted := fault.New(fault.Gap, "gone").WithHint("run: x")
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"SaysClassAndMessage":        {fault.New(fault.Gap, "gone"), "gap: gone"},
		"EndsWithTheHint":            {hinted, "gap: gone; run: x"},
		"TakesTheWholeMessage":       {fmt.Errorf("apply: %w", fault.New(fault.Poison, "bad")), "poison: apply: bad"},
		"TakesTheHintFromFarBelow":   {fault.Wrap(fault.Bug, hinted), "bug: gone; run: x"},
		"SaysThatNobodyClassifiedIt": {io.EOF, "unclassified: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := fault.Line(test.err)
			if got != test.want || strings.Contains(got, "\n") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
