package recovery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
)

// twice is a shop with a second backup, of its end.
func twice(t *testing.T) (w *recoverytest.World, older, newer writer.Committed) {
	t.Helper()
	w = newShop(t)
	older = writer.Committed{}
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(err)
	}
	older.ID = h.Entries[0].ID
	w.Pass(time.Hour)
	return w, older, w.Backup(t, w.Stable())
}

func wantBase(t *testing.T, r recovery.Report, want layout.ID) {
	t.Helper()
	if r.Try.Base != want {
		t.Errorf("got the base %s, want %s", r.Try.Base, want)
	}
}

// wantWarning fails the test unless one warning has all these words.
func wantWarning(t *testing.T, warnings []string, words ...string) {
	t.Helper()
	for _, warning := range warnings {
		all := true
		for _, word := range words {
			all = all && strings.Contains(warning, word)
		}
		if all {
			return
		}
	}
	t.Errorf("got the warnings %q, want one with %q", warnings, words)
}

func TestRunTakesTheNewestThatVerifies(t *testing.T) {
	t.Parallel()
	t.Run("OfBothBuckets", func(t *testing.T) {
		t.Parallel()
		w, _, newer := twice(t)
		for _, folder := range []string{layout.Manifest(newer.ID), layout.Objects} { // the primary is stale: all of the newer is gone
			for info, err := range w.Primary.List(t.Context(), folder) {
				if err != nil {
					t.Fatal(err)
				}
				replace(t, w.Primary, info.Key, nil)
			}
		}
		wantBase(t, mustRun(t, w, w.Database()), newer.ID)
	})
	for name, spoil := range map[string]func(t *testing.T, w *recoverytest.World, newer writer.Committed){
		"AndSaysWhenASignatureIsBad": func(t *testing.T, w *recoverytest.World, newer writer.Committed) {
			t.Helper()
			wipe(t, w, layout.Manifest(newer.ID), []byte("{}"))
		},
		"AndSaysWhenTheBodyIsGone": func(t *testing.T, w *recoverytest.World, newer writer.Committed) {
			t.Helper()
			wipe(t, w, layout.Object(newer.Statement.Body.Digest), nil)
		},
		"AndSaysWhenAnObjectIsGone": func(t *testing.T, w *recoverytest.World, newer writer.Committed) {
			t.Helper()
			wipe(t, w, layout.Object(ownObject(t, w, newer.ID)), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, older, newer := twice(t)
			spoil(t, w, newer)
			report := mustRun(t, w, w.Database())
			wantBase(t, report, older.ID)
			wantWarning(t, report.Warnings, newer.ID.String(), "passed over")
		})
	}
	t.Run("AndNoOlderOneBecauseAStoreStutters", func(t *testing.T) {
		t.Parallel()
		w, _, newer := twice(t)
		d := w.Database()
		p := w.Process(d, func(c writertest.Call) writertest.Form {
			if c.Key == layout.Manifest(newer.ID) {
				return writertest.Error
			}
			return ""
		})
		if _, err := runBy(t, p); !fault.Is(err, fault.Retryable) || d.State() != "" {
			t.Fatalf("got %v and a database that is %q, want to be told to try again", err, d.State())
		}
		wantBase(t, mustRun(t, w, d), newer.ID)
	})
}

// ownObject is an object of a manifest's tables that no other manifest has.
func ownObject(t *testing.T, w *recoverytest.World, of layout.ID) manifest.Digest {
	t.Helper()
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(err)
	}
	shared := map[manifest.Digest]bool{}
	var own []manifest.Digest
	for _, e := range h.Entries {
		m, err := h.Open(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		b, err := h.Body(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range b.Objects() {
			if e.ID == of {
				own = append(own, object.Digest)
			} else {
				shared[object.Digest] = true
			}
		}
	}
	for _, digest := range own {
		if !shared[digest] {
			return digest
		}
	}
	t.Fatal("every object is shared")
	return ""
}

// away is a bucket that does not answer.
type away struct{ *archivetest.Memory }

func (away) Read(context.Context, string, archive.Span) ([]byte, error) {
	return nil, fault.New(fault.Retryable, "the store is away")
}

func (away) Stat(context.Context, string) (archive.Info, error) {
	return archive.Info{}, fault.New(fault.Retryable, "the store is away")
}

func (away) Create(context.Context, string, []byte) error {
	return fault.New(fault.Retryable, "the store is away")
}

// TestRunWithoutTheSecondary goes on; without the primary the life cannot be taken, and the same command goes on when it is
// back.
func TestRunWithoutABucket(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"ThePrimaryIsAway": 0, "TheSecondaryIsAway": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // its waits cost nothing
				w := newShop(t)
				d := w.Database()
				_, err := run(t, w, d, func(o *recovery.Options) {
					o.Archive.Places[place].Bucket = away{[]*archivetest.Memory{w.Primary, w.Secondary}[place]}
				})
				switch {
				case place == 0 && (!fault.Is(err, fault.Retryable) || d.State() == apply.StateLive):
					t.Fatalf("got %v and a database that is %q, want one that waits for the primary", err, d.State())
				case place == 1 && err != nil:
					t.Fatal(fault.Line(err))
				}
				mustRun(t, w, d)
			})
		})
	}
	t.Run("ThePrimaryIsNew", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		for info, err := range w.Primary.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			replace(t, w.Primary, info.Key, nil)
		}
		mustRun(t, w, w.Database())
	})
}

// TestRunKnowsTheNewest: a mark outside the buckets proves that the manifest is the newest, and says when it is not.
func TestRunKnowsTheNewest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seq    int64 // that was committed
		change func(*recovery.Options)
		name   refusal.Name
		warns  string
	}{
		"ProvenWhenTheMarkAgrees":   {2, func(o *recovery.Options) { o.RequireFresh = true }, "", ""},
		"UnprovenWithoutAMark":      {0, func(*recovery.Options) {}, "", "freshness_unproven: nobody"},
		"RefusedWhenANewerWasSeen":  {3, func(*recovery.Options) {}, refusal.OlderThanSeen, ""},
		"AcceptedByAnOperator":      {3, allowOlder, "", "freshness_unproven, accepted: ticket 8"},
		"AcceptedWhenItMustBeFresh": {0, func(o *recovery.Options) { o.RequireFresh = true; allowOlder(o) }, "", "accepted: ticket 8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, newer := twice(t)
			d := w.Database()
			known := mark{history.Mark{Lineage: 1, Seq: c.seq, Statement: newer.Digest}}
			report, err := run(t, w, d, c.change, func(o *recovery.Options) {
				if c.seq > 0 {
					o.HighWater = known
				}
			})
			if c.name != "" {
				wantRefusal(t, err, c.name, fault.Corrupt)
				return
			}
			if err != nil {
				t.Fatal(fault.Line(err))
			}
			recoverytest.Recovered(t, w, d)
			if unproven := strings.Contains(fmt.Sprint(report.Warnings), "freshness_unproven"); unproven != (c.warns != "") {
				t.Errorf("got the warnings %q", report.Warnings)
			}
			if c.warns != "" {
				wantWarning(t, report.Warnings, c.warns)
			}
		})
	}
	t.Run("NotAskedAgainOfATryThatGoesOn", func(t *testing.T) {
		t.Parallel()
		w, _, newer := twice(t)
		d := w.Database()
		remembers := func(seq int64, statement manifest.Digest) changer {
			return func(o *recovery.Options) {
				o.RequireFresh, o.HighWater = true, mark{history.Mark{Lineage: 1, Seq: seq, Statement: statement}}
			}
		}
		if _, err := runBy(t, w.Process(d, afterClaim), remembers(2, newer.Digest)); err == nil {
			t.Fatal("the first call went through")
		}
		third := w.Backup(t, w.Stable()) // by the old target, which cannot know yet
		mustRun(t, w, d, remembers(3, third.Digest))
	})
}
