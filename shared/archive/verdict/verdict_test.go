package verdict_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/verdict"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/signing"
)

func options(w *writertest.World, a *archive.Archive) verdict.Options {
	return verdict.Options{Archive: a, Actor: "ann", Now: w.Now, Signers: []signing.Signer{w.Key}}
}

// world has one backup in both buckets.
func world(t *testing.T) (*writertest.World, writer.Committed) {
	t.Helper()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	w.Pass(time.Minute)
	return w, c
}

func entry(t *testing.T, a *archive.Archive, run manifest.RunID) history.Entry {
	t.Helper()
	h, err := history.Read(t.Context(), a)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	e, err := h.Find(run)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// everywhere fails unless both buckets, each alone, say that of the manifest.
func everywhere(t *testing.T, w *writertest.World, run manifest.RunID, kept, revoked bool) {
	t.Helper()
	for name, bucket := range map[string]archive.Bucket{"primary": w.Primary, "secondary": w.Secondary} {
		if e := entry(t, w.Archive(t, bucket), run); e.Kept != kept || e.Revoked != revoked {
			t.Errorf("%s: kept %t and revoked %t, want %t and %t", name, e.Kept, e.Revoked, kept, revoked)
		}
	}
}

// records gives a bucket's documents beneath a folder.
func records(t *testing.T, bucket archive.Bucket, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for info, err := range bucket.List(t.Context(), folder) {
		if err != nil {
			t.Fatal(err)
		}
		content, err := bucket.Read(t.Context(), info.Key, archive.Span{Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		found[info.Key] = string(content)
	}
	return found
}

// raced is a bucket in which another is faster than a mark.
type raced struct {
	archive.Bucket
	before func()
}

func (r raced) Create(ctx context.Context, key string, content []byte) error {
	if strings.HasPrefix(key, layout.Keeps) {
		r.before()
	}
	return r.Bucket.Create(ctx, key, content)
}

func alike(t *testing.T, w *writertest.World, folder string) {
	t.Helper()
	if diff := cmp.Diff(records(t, w.Primary, folder), records(t, w.Secondary, folder)); diff != "" {
		t.Errorf("the buckets differ in %s: %s", folder, diff)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	t.Run("CountsUntilItIsLetGo", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		o := options(w, w.Archive(t))
		for i, step := range []struct {
			say  func() (verdict.Spoken, error)
			kept bool
		}{
			{func() (verdict.Spoken, error) { return verdict.Keep(t.Context(), o, c.ID.Run, "audit") }, true},
			{func() (verdict.Spoken, error) { return verdict.Keep(t.Context(), o, c.ID.Run, "another audit") }, true},
			{func() (verdict.Spoken, error) { return verdict.LetGo(t.Context(), o, c.ID.Run, "over") }, false},
			{func() (verdict.Spoken, error) { return verdict.LetGo(t.Context(), o, c.ID.Run, "over") }, false},
			{func() (verdict.Spoken, error) { return verdict.Keep(t.Context(), o, c.ID.Run, "not over") }, true},
		} {
			spoken, err := step.say()
			if err != nil {
				t.Fatal(fault.Line(err))
			}
			if spoken.Number != int64(i)+1 || !cmp.Equal(spoken.Places, []string{"primary", "secondary"}) || spoken.Entry.ID != c.ID {
				t.Errorf("step %d: got %+v", i, spoken)
			}
			everywhere(t, w, c.ID.Run, step.kept, false)
		}
		alike(t, w, layout.Keeps)
		opened, err := o.Archive.Trusted.Open(notice.KeepType, []byte(records(t, w.Primary, layout.Keeps)[layout.Keep(c.ID.Run, 1)]))
		if err != nil {
			t.Fatal(err)
		}
		first := string(opened.Payload)
		if !strings.Contains(first, `"reason":"audit"`) || !strings.Contains(first, `"actor":"ann"`) {
			t.Errorf("the record says %s", first)
		}
	})
	t.Run("GoesOnAboveTheMarksOfEitherBucket", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		lone := options(w, w.Archive(t, w.Secondary))
		for range 3 {
			if _, err := verdict.Keep(t.Context(), lone, c.ID.Run, "seen in the second bucket alone"); err != nil {
				t.Fatal(err)
			}
		}
		spoken, err := verdict.LetGo(t.Context(), options(w, w.Archive(t)), c.ID.Run, "over")
		if err != nil || spoken.Number != 4 {
			t.Errorf("got %+v, %v, want number 4", spoken, err)
		}
		everywhere(t, w, c.ID.Run, false, false)
	})
	t.Run("GoesToThePlacesThatListTheManifest", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		c, err := w.Write(t.Context(), w.Options(t, w.Archive(t, w.Primary)), writertest.Backup{Chunks: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		spoken, err := verdict.Keep(t.Context(), options(w, w.Archive(t)), c.ID.Run, "audit")
		if err != nil || !cmp.Equal(spoken.Places, []string{"primary"}) || len(records(t, w.Secondary, "")) > 0 {
			t.Errorf("got %+v, %v", spoken, err)
		}
	})
	t.Run("IsOneMarkForOneNumber", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				o := options(w, w.Archive(t))
				say := verdict.Keep
				if i%2 == 0 {
					say = verdict.LetGo
				}
				if _, err := say(t.Context(), o, c.ID.Run, fmt.Sprint("voice ", i)); err != nil {
					t.Error(fault.Line(err))
				}
			})
		}
		group.Wait()
		alike(t, w, layout.Keeps)
		if n := len(records(t, w.Primary, layout.Keeps)); n != 8 {
			t.Errorf("%d marks, want 8", n)
		}
	})
	t.Run("TakesTheNextNumberWhenAnotherWasFaster", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		both, second := w.Archive(t), w.Archive(t, w.Secondary)
		other := func(a *archive.Archive) func() {
			return sync.OnceFunc(func() {
				if _, err := verdict.LetGo(t.Context(), options(w, a), c.ID.Run, "another's word"); err != nil {
					t.Error(fault.Line(err))
				}
			})
		}
		spoken, err := verdict.Keep(t.Context(), options(w, w.Archive(t, raced{w.Primary, other(both)}, w.Secondary)), c.ID.Run, "audit")
		if err != nil || spoken.Number != 2 {
			t.Errorf("got %+v, %v, want number 2", spoken, err)
		}
		alike(t, w, layout.Keeps)
		spoken, err = verdict.Keep(t.Context(), options(w, w.Archive(t, w.Primary, raced{w.Secondary, other(second)})), c.ID.Run, "audit")
		if err != nil || spoken.Number != 4 {
			t.Errorf("behind another in the second bucket alone: got %+v, %v, want number 4", spoken, err)
		}
		everywhere(t, w, c.ID.Run, true, false)
	})
	t.Run("RefusesWhileABucketIsDown", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		down := faulty.New(w.Secondary, func(faulty.Call) *faulty.Fault {
			return &faulty.Fault{Fail: fault.New(fault.Retryable, "down")}
		})
		_, err := verdict.Keep(t.Context(), options(w, w.Archive(t, w.Primary, down)), c.ID.Run, "audit")
		if !fault.Is(err, fault.Retryable) || len(records(t, w.Primary, layout.Keeps)) > 0 {
			t.Errorf("got %v", err)
		}
	})
}

func TestRefusesToSpeak(t *testing.T) {
	t.Parallel()
	w, c := world(t)
	const stranger = manifest.RunID("99999999-0000-4000-8000-000000000000")
	for name, test := range map[string]struct {
		run    manifest.RunID
		reason string
		says   string
	}{
		"OfAManifestThatIsNotListed": {stranger, "audit", "no manifest of run"},
		"OfWhatIsNoRun":              {"3/17", "audit", "want a UUID"},
		"WithoutAReason":             {c.ID.Run, "", "a reason of 0 bytes"},
		"AtLength":                   {c.ID.Run, strings.Repeat("a", 1001), "a reason of 1001 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(w, w.Archive(t))
			_, kept := verdict.Keep(t.Context(), o, test.run, test.reason)
			_, letGo := verdict.LetGo(t.Context(), o, test.run, test.reason)
			_, withdrawn := verdict.Withdraw(t.Context(), o, test.run, test.reason)
			for _, err := range []error{kept, letGo, withdrawn} {
				if !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), test.says) || fault.HintOf(err) == "" {
					t.Errorf("got %v, want it to say %q", err, test.says)
				}
			}
			for _, folder := range []string{layout.Keeps, layout.Revoked} {
				if found := records(t, w.Primary, folder); len(found) > 0 {
					t.Errorf("wrote %v", found)
				}
			}
		})
	}
}

// TestSaidAgainAfterAStop stops an operator at each call, in each way. Saying it again settles it, alike in both buckets.
func TestSaidAgainAfterAStop(t *testing.T) {
	t.Parallel()
	for _, form := range writertest.Forms() {
		for name, say := range map[string]func(context.Context, verdict.Options, manifest.RunID) error{
			"Keep": func(ctx context.Context, o verdict.Options, run manifest.RunID) error {
				_, err := verdict.Keep(ctx, o, run, "audit")
				return err
			},
			"Withdraw": func(ctx context.Context, o verdict.Options, run manifest.RunID) error {
				_, err := verdict.Withdraw(ctx, o, run, "wrong rows")
				return err
			},
		} {
			t.Run(name+" "+string(form), func(t *testing.T) {
				t.Parallel()
				for n, stopped := 1, true; stopped; n++ {
					w, c := world(t)
					primary, secondary := w.Break(n, form)
					_ = say(t.Context(), options(w, w.Archive(t, primary, secondary)), c.ID.Run) // what it says is for the operator
					stopped = len(primary.Calls())+len(secondary.Calls()) >= n
					if err := say(t.Context(), options(w, w.Archive(t)), c.ID.Run); err != nil {
						t.Fatalf("call %d: again: %s", n, fault.Line(err))
					}
					everywhere(t, w, c.ID.Run, name == "Keep", name == "Withdraw")
				}
			})
		}
	}
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	t.Run("CountsInEveryBucket", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		spoken, err := verdict.Withdraw(t.Context(), options(w, w.Archive(t)), c.ID.Run, "wrong rows")
		if err != nil || !cmp.Equal(spoken.Places, []string{"primary", "secondary"}) || len(spoken.Warnings) > 0 {
			t.Fatalf("got %+v, %v", spoken, err)
		}
		everywhere(t, w, c.ID.Run, false, true)
		alike(t, w, layout.Revoked)
		h, err := history.Read(t.Context(), w.Archive(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Open(t.Context(), h.Entries[0]); !errors.Is(err, history.ErrRevoked) {
			t.Errorf("the manifest still opens: %v", err)
		}
	})
	t.Run("LeavesAnEarlierOneAlone", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		o := options(w, w.Archive(t))
		if _, err := verdict.Withdraw(t.Context(), o, c.ID.Run, "wrong rows"); err != nil {
			t.Fatal(err)
		}
		before := records(t, w.Primary, layout.Revoked)
		w.Pass(time.Hour)
		spoken, err := verdict.Withdraw(t.Context(), o, c.ID.Run, "again")
		if err != nil || !spoken.Entry.Revoked {
			t.Errorf("got %+v, %v", spoken, err)
		}
		if diff := cmp.Diff(before, records(t, w.Primary, layout.Revoked)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("GoesOnWhileABucketIsDown", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		down := faulty.New(w.Secondary, func(faulty.Call) *faulty.Fault {
			return &faulty.Fault{Fail: fault.New(fault.Retryable, "down")}
		})
		spoken, err := verdict.Withdraw(t.Context(), options(w, w.Archive(t, w.Primary, down)), c.ID.Run, "wrong rows")
		if err != nil || !cmp.Equal(spoken.Places, []string{"primary"}) || len(spoken.Warnings) != 1 {
			t.Fatalf("got %+v, %v", spoken, err)
		}
		if !entry(t, w.Archive(t), c.ID.Run).Revoked {
			t.Error("one bucket's word does not count")
		}
	})
	t.Run("RefusesWhatNobodyWouldBelieve", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		o := options(w, w.Archive(t))
		for name, signers := range map[string][]signing.Signer{"no key": nil, "a stranger's key": {writertest.NewKey(t, 2)}} {
			o.Signers = signers
			_, withdrawn := verdict.Withdraw(t.Context(), o, c.ID.Run, "wrong rows")
			_, kept := verdict.Keep(t.Context(), o, c.ID.Run, "audit")
			_, letGo := verdict.LetGo(t.Context(), o, c.ID.Run, "over")
			for _, err := range []error{withdrawn, kept, letGo} {
				if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" || len(signers) > 0 && !errors.Is(err, signing.ErrUntrusted) {
					t.Errorf("%s: got %v", name, err)
				}
			}
		}
		for _, folder := range []string{layout.Revoked, layout.Keeps} {
			if found := records(t, w.Primary, folder); len(found) > 0 {
				t.Errorf("wrote %v", found)
			}
		}
	})
	t.Run("RefusesToStandBehindGarbage", func(t *testing.T) {
		t.Parallel()
		w, c := world(t)
		if err := w.Primary.Create(t.Context(), layout.Revocation(c.ID.Run), []byte("garbage")); err != nil {
			t.Fatal(err)
		}
		_, err := verdict.Withdraw(t.Context(), options(w, w.Archive(t)), c.ID.Run, "wrong rows")
		if !fault.Is(err, fault.Corrupt) || !errors.Is(err, signing.ErrUntrusted) || !strings.Contains(fault.HintOf(err), "remove") {
			t.Errorf("got %v with hint %q", err, fault.HintOf(err))
		}
	})
}
