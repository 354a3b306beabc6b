package decision_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/decision"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout/decided"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/signing"
)

func excluding(from, until position.Offset) notice.Decision {
	return notice.Decision{
		Act: decision.Exclude, Flow: "shop", Topic: "orders", Partition: 3, From: from, Until: until, At: from, Reason: "a bad deploy",
	}
}

func options(t *testing.T, w *writertest.World, buckets ...archive.Bucket) decision.Options {
	t.Helper()
	return decision.Options{Archive: w.Archive(t, buckets...), Actor: "ann", Now: w.Now, Signers: []signing.Signer{w.Key}}
}

func read(t *testing.T, w *writertest.World, buckets ...archive.Bucket) []notice.Decision {
	t.Helper()
	h, err := history.Read(t.Context(), w.Archive(t, buckets...))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	decisions, err := h.Decisions(t.Context())
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return decisions
}

// TestWriteIsReadInEveryLife: decisions come back in their order, with who took them, from either bucket alone.
func TestWriteIsReadInEveryLife(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	first, err := decision.Write(t.Context(), options(t, w), 1, []notice.Decision{excluding(5, 9), excluding(20, 21)})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	second, err := decision.Write(t.Context(), options(t, w), 2, []notice.Decision{excluding(5, 9)})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	want := append(first, second...)
	for name, buckets := range map[string][]archive.Bucket{"both": nil, "the primary": {w.Primary}, "the secondary": {w.Secondary}} {
		if diff := cmp.Diff(want, read(t, w, buckets...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if d := want[0]; d.Actor != "ann" || d.TargetID != writertest.Target || !d.Created.Equal(w.Now()) || d.Number != 1 {
		t.Errorf("got %+v", d)
	}
}

// TestWriteAtEveryCall breaks each call in every form. The same call again leaves each decision once, in both buckets.
func TestWriteAtEveryCall(t *testing.T) {
	t.Parallel()
	wanted := []notice.Decision{excluding(5, 9), excluding(20, 21)}
	for _, form := range writertest.Forms() {
		n, failed := 1, 0
		for ; ; n++ {
			w := writertest.New(t)
			s := writertest.NewSequence(writertest.At(n, form))
			dies := func() {}
			_, err := decision.Write(t.Context(), options(t, w, faulty.New(w.Primary, s.Bucket("primary", dies)),
				faulty.New(w.Secondary, s.Bucket("secondary", dies))), 1, wanted)
			if len(s.Calls()) < n {
				break
			}
			if err != nil {
				failed++
			}
			if _, err := decision.Write(t.Context(), options(t, w), 1, wanted); err != nil {
				t.Fatalf("call %d %s: the same again: %s", n, form, fault.Line(err))
			}
			for name, bucket := range map[string]archive.Bucket{"primary": w.Primary, "secondary": w.Secondary} {
				if got := read(t, w, bucket); len(got) != len(wanted) {
					t.Errorf("call %d %s: the %s bucket has %d decisions, want each of %d once", n, form, name, len(got), len(wanted))
				}
			}
		}
		if n < 10 || failed == 0 {
			t.Errorf("%s: %d calls, of which %d failed", form, n-1, failed)
		}
		t.Logf("%s: %d calls, of which %d failed", form, n-1, failed)
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	stranger := writertest.NewKey(t, 9)
	for name, c := range map[string]struct {
		change func(*decision.Options)
		wanted notice.Decision
		class  fault.Class
		says   string
	}{
		"WithoutAKey":         {func(o *decision.Options) { o.Signers = nil }, excluding(5, 9), fault.Misconfigured, "signing key"},
		"WithAnUntrustedKey":  {func(o *decision.Options) { o.Signers = []signing.Signer{stranger} }, excluding(5, 9), fault.Misconfigured, "trust"},
		"AnEmptyRange":        {func(*decision.Options) {}, excluding(9, 5), fault.Misconfigured, ""},
		"WithoutAReason":      {func(*decision.Options) {}, notice.Decision{Act: decision.Exclude, Topic: "orders", Until: 3}, fault.Misconfigured, "reason"},
		"WithABucketThatAway": {func(o *decision.Options) { o.Archive.Places[1].Bucket = gone(w) }, excluding(5, 9), fault.Retryable, "every bucket"},
	} {
		o := options(t, w)
		c.change(&o)
		_, err := decision.Write(t.Context(), o, 1, []notice.Decision{c.wanted})
		if !fault.Is(err, c.class) || !strings.Contains(fault.Line(err), c.says) {
			t.Errorf("%s: got %s %v, want %s that says %q", name, fault.ClassOf(err), err, c.class, c.says)
		}
	}
	if left := read(t, w); len(left) > 0 {
		t.Errorf("wrote %v", left)
	}
}

func gone(w *writertest.World) archive.Bucket {
	return faulty.New(w.Secondary, func(faulty.Call) *faulty.Fault {
		return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store is away")}
	})
}

// TestDecisionsRefuseWhatDoesNotVerify: garbage, a stranger's signature and another number's document.
func TestDecisionsRefuseWhatDoesNotVerify(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	if _, err := decision.Write(t.Context(), options(t, w), 1, []notice.Decision{excluding(5, 9)}); err != nil {
		t.Fatal(fault.Line(err))
	}
	good, err := w.Primary.Read(t.Context(), decided.Key(1, 1), archive.Span{Limit: signing.MaxEnvelope})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"garbage": []byte("{"), "another number's": good} {
		if err := w.Primary.Create(t.Context(), decided.Key(1, 2), content); err != nil {
			t.Fatal(err)
		}
		h, err := history.Read(t.Context(), w.Archive(t))
		if err != nil {
			t.Fatal(fault.Line(err))
		}
		if _, err := h.Decisions(t.Context()); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
		if err := w.Primary.Delete(t.Context(), decided.Key(1, 2)); err != nil && !errors.Is(err, archive.ErrNotFound) {
			t.Fatal(err)
		}
	}
}
