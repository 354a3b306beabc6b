package position_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/position"
)

const topicBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

func offsets() *rapid.Generator[position.Offset] {
	return rapid.Map(rapid.Int64Min(0), func(n int64) position.Offset { return position.Offset(n) })
}

func partitions() *rapid.Generator[position.Partition] {
	return rapid.Custom(func(t *rapid.T) position.Partition {
		topic := rapid.StringOfN(rapid.SampledFrom([]rune(topicBytes)), 1, 249, 249).
			Filter(func(s string) bool { return s != "." && s != ".." })
		return position.Partition{Topic: topic.Draw(t, "topic"), Number: rapid.Int32Min(0).Draw(t, "number")}
	})
}

func TestOffset(t *testing.T) {
	t.Parallel()
	t.Run("PrintsWhatItReads", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			o := offsets().Draw(t, "offset")
			if got, err := position.ParseOffset(o.String()); err != nil || got != o || o.Validate() != nil {
				t.Errorf("%s: got %d, %v; valid: %v", o, got, err, o.Validate())
			}
		})
	})
	t.Run("RefusesAllButDigits", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"", "-1", "+1", "-0", " 1", "1 ", "1\n", "1_0", "0x1", "1.0", "1e3", "one", "\u0661", "1\x00",
			"9223372036854775808", "18446744073709551616", strings.Repeat("9", 1000),
		} {
			if got, err := position.ParseOffset(text); err == nil || got != 0 {
				t.Errorf("%.30q: got %d, %v, want 0 and an error", text, got, err)
			}
		}
	})
	t.Run("QuotesWhatItRefuses", func(t *testing.T) {
		t.Parallel()
		if _, err := position.ParseOffset("1\n2"); err == nil || !strings.Contains(err.Error(), `"1\n2"`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("ReachesTheLargestInt64", func(t *testing.T) {
		t.Parallel()
		if got, err := position.ParseOffset("9223372036854775807"); err != nil || got != math.MaxInt64 {
			t.Errorf("got %d, %v", got, err)
		}
	})
	t.Run("IsZeroAtTheFirstRecordOnly", func(t *testing.T) {
		t.Parallel()
		if !position.Offset(0).IsZero() || position.Offset(1).IsZero() || position.Offset(-1).IsZero() {
			t.Error("want 0 alone to be zero")
		}
	})
	t.Run("IsNoOffsetBelowZero", func(t *testing.T) {
		t.Parallel()
		for o, want := range map[position.Offset]bool{math.MinInt64: false, -1: false, 0: true, math.MaxInt64: true} {
			if got := o.Validate() == nil; got != want {
				t.Errorf("%d: got valid %t, want %t", o, got, want)
			}
		}
	})
	t.Run("IsBeforeTheNextAndNotBeforeItself", func(t *testing.T) {
		t.Parallel()
		o := position.Offset(7)
		if o.Next() != 8 || !o.Before(o.Next()) || o.Before(o) || o.Next().Before(o) {
			t.Errorf("7 and its next, %d, are not in order", o.Next())
		}
	})
}

func TestPartition(t *testing.T) {
	t.Parallel()
	t.Run("PrintsWhatItReads", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p := partitions().Draw(t, "partition")
			if got, err := position.ParsePartition(p.String()); err != nil || got != p {
				t.Errorf("%s: got %v, %v", p, got, err)
			}
		})
	})
	for name, text := range map[string]string{
		"NoSlash": "orders", "Nothing": "", "NoNumber": "orders/", "NoTopic": "/3", "ASign": "orders/+3",
		"ANegativeNumber": "orders/-3", "ABlankBefore": "orders/ 3", "ABlankBehind": "orders/3 ",
		"ANumberBeyondInt32": "orders/2147483648", "AnotherSlash": "a/b/3", "ATrailingSlash": "orders/3/",
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if got, err := position.ParsePartition(text); err == nil {
				t.Errorf("%q: got %v, want an error", text, got)
			}
		})
	}
	t.Run("ReachesTheLargestInt32", func(t *testing.T) {
		t.Parallel()
		want := position.Partition{Topic: "orders", Number: math.MaxInt32}
		if got, err := position.ParsePartition("orders/2147483647"); err != nil || got != want {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("IsZeroWhenItNamesNothing", func(t *testing.T) {
		t.Parallel()
		for _, p := range []position.Partition{{Topic: "orders"}, {Number: 1}} {
			if p.IsZero() {
				t.Errorf("%v is zero", p)
			}
		}
		if !(position.Partition{}).IsZero() {
			t.Error("the zero value is not zero")
		}
	})
	t.Run("IsNoPartitionBelowZero", func(t *testing.T) {
		t.Parallel()
		p := position.Partition{Topic: "orders", Number: -1}
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "orders/-1") {
			t.Errorf("got %v, want an error that names orders/-1", err)
		}
	})
}

// TestTopic: what Kafka cannot hold as a name never becomes a partition.
func TestTopic(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{
		"a", "Z", "9", "...", ".a", "a.", "_", "-", "a.b_c-D9", "__consumer_offsets", strings.Repeat("a", 249), topicBytes,
	} {
		if err := (position.Partition{Topic: topic}).Validate(); err != nil {
			t.Errorf("%q is refused: %v", topic, err)
		}
	}
	refused := []string{"", ".", "..", strings.Repeat("a", 250), strings.Repeat("a", 1<<16), "\u00e4", "a\x00", "caf\xe9"}
	for c := range 256 {
		if b := string([]byte{byte(c)}); !strings.Contains(topicBytes, b) {
			refused = append(refused, "a"+b+"b")
		}
	}
	for _, topic := range refused {
		if err := (position.Partition{Topic: topic}).Validate(); err == nil {
			t.Errorf("%.30q of %d bytes is taken", topic, len(topic))
		}
	}
}

// TestLockOrder: partitions are locked by topic, then by number, so two who lock the same ones never wait in a ring.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	t.Run("IsByTopicAndThenByNumber", func(t *testing.T) {
		t.Parallel()
		want := []position.Partition{
			{Topic: "A", Number: 9},
			{Topic: "a", Number: 0},
			{Topic: "a", Number: 2},
			{Topic: "a", Number: 10},
			{Topic: "a.b", Number: 0},
			{Topic: "b", Number: 1},
		}
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortFunc(got, position.Partition.Compare)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("IsTotal", func(t *testing.T) {
		t.Parallel()
		few := rapid.Custom(func(t *rapid.T) position.Partition {
			return position.Partition{
				Topic:  rapid.SampledFrom([]string{"a", "b", "aa"}).Draw(t, "topic"),
				Number: rapid.Int32Range(0, 2).Draw(t, "number"),
			}
		})
		rapid.Check(t, func(t *rapid.T) {
			a, b, c := few.Draw(t, "a"), few.Draw(t, "b"), few.Draw(t, "c")
			if a.Compare(b) != -b.Compare(a) || (a.Compare(b) == 0) != (a == b) {
				t.Errorf("%s and %s: %d one way, %d the other", a, b, a.Compare(b), b.Compare(a))
			}
			if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
				t.Errorf("%s, %s, %s go round", a, b, c)
			}
		})
	})
}
