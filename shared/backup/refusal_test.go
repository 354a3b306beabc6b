package backup_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/backup/backuptest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

func TestRunRefusesAState(t *testing.T) {
	t.Parallel()
	// What a database becomes between the claim and the snapshot.
	for name, c := range map[string]struct {
		change func(*backuptest.Database)
		class  fault.Class
		is     error
	}{
		"ThatIsNotLive":           {func(d *backuptest.Database) { d.Life.State = "restoring" }, fault.Fenced, nil},
		"OfAnotherTarget":         {func(d *backuptest.Database) { d.Life.TargetID = "other" }, fault.Misconfigured, nil},
		"OfALaterLife":            {func(d *backuptest.Database) { d.Life.Lineage = 2 }, fault.Fenced, nil},
		"OfAnotherIncarnation":    {func(d *backuptest.Database) { d.Life.Incarnation = writertest.Life(9) }, fault.Fenced, nil},
		"ThatWouldNotBeWhole":     {func(d *backuptest.Database) { d.Uncaptured = []string{"role app"} }, fault.Misconfigured, backup.ErrUncaptured},
		"ThatCountsMore":          {func(d *backuptest.Database) { d.Tables["orders"].CountLie = 1 }, fault.Bug, nil},
		"ThatCountsLess":          {func(d *backuptest.Database) { d.Tables["nothing"].CountLie = -1 }, fault.Bug, nil},
		"OfWhichRowsAreLost":      {func(d *backuptest.Database) { d.Tables["orders"].SentLie = 1 }, fault.Bug, nil},
		"ThatCountsWithoutItsKey": {func(d *backuptest.Database) { d.Tables["log"].CountLie = 5 }, fault.Bug, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shop(t)
			p := w.Process(func(call writertest.Call) writertest.Form {
				if call.Method == "Snapshot" {
					c.change(w.Database)
				}
				return ""
			})
			_, err := backup.Run(t.Context(), p.Options(t).CutAt(small))
			if !fault.Is(err, c.class) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v of class %s, want class %s and %v", err, fault.ClassOf(err), c.class, c.is)
			}
			wantListed(t, w, 0)
			wantClosed(t, p)
			if got := w.Database.Runs[0].Outcome; got != writer.Failed {
				t.Errorf("got the outcome %q, want that it failed", got)
			}
		})
	}
}

func wantClosed(t *testing.T, p *backuptest.Process) {
	t.Helper()
	if n := p.Open(); n != 0 {
		t.Errorf("%d claims, snapshots and readers were left open", n)
	}
	calls := p.Calls()
	if last := calls[len(calls)-1]; last.Method != "Claim.Close" && countCalls(calls, "Snapshot", "") > 0 {
		t.Errorf("got %+v as the last call, want the claim closed when all is over", last)
	}
}

func TestRunLeavesOutWhatWasAllowedByName(t *testing.T) {
	t.Parallel()
	w := shop(t)
	w.Database.Uncaptured = []string{"role app", "role report"}
	o := w.Options(t)
	o.AllowUncaptured = []string{"role report", "role none"}
	_, err := backup.Run(t.Context(), o.CutAt(small))
	if !errors.Is(err, backup.ErrUncaptured) || !strings.Contains(err.Error(), "role app") || strings.Contains(err.Error(), "report") {
		t.Errorf("got %v, want role app refused alone", err)
	}
	o = w.Options(t)
	o.AllowUncaptured = []string{"role app", "role report"}
	mustRun(t, o)
	if b := wantSaved(t, w); !slices.Equal(b.Uncaptured, w.Database.Uncaptured) {
		t.Errorf("got %q in the manifest, want both", b.Uncaptured)
	}
}

func TestRunPassesOnWhyThereIsNoClaim(t *testing.T) {
	t.Parallel()
	w := shop(t)
	var second error
	p := w.Process(func(call writertest.Call) writertest.Form {
		if call.Method == "Copy" && second == nil {
			_, second = backup.Run(t.Context(), w.Options(t).CutAt(small))
		}
		return ""
	})
	o := p.Options(t)
	o.Scheduled = w.Now()
	mustRun(t, o)
	if !errors.Is(second, backup.ErrRunning) {
		t.Errorf("beside another: got %v, want backup.ErrRunning", second)
	}
	again := w.Process(nil)
	o = again.Options(t)
	o.Scheduled = w.Now()
	if _, err := backup.Run(t.Context(), o.CutAt(small)); !errors.Is(err, backup.ErrDone) {
		t.Errorf("for the same time: got %v, want backup.ErrDone", err)
	}
	w.Database.Runs = nil // a clone of an older state
	clone := w.Process(nil)
	if _, err := backup.Run(t.Context(), clone.Options(t).CutAt(small)); !errors.Is(err, backup.ErrPrefixShared) || !fault.Is(err, fault.Fenced) {
		t.Errorf("as a clone: got %v, want backup.ErrPrefixShared", err)
	}
	wantListed(t, w, 1)
	wantClosed(t, p)
	wantClosed(t, again)
	wantClosed(t, clone)
}

// A store that never says whether it has the statement: the run stays open, and its next attempt finds out.
func TestRunLeavesAnUnknownOutcomeOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := shop(t)
		silent := false
		p := w.Process(func(call writertest.Call) writertest.Form {
			if call.Place != "primary" || !strings.HasPrefix(call.Key, "manifests/") || call.Method == "List" {
				return ""
			}
			if !silent {
				silent = true
				return writertest.ReplyLost
			}
			return writertest.Error
		})
		o := p.Options(t)
		o.Scheduled = w.Now()
		if _, err := backup.Run(t.Context(), o.CutAt(small)); !fault.Is(err, fault.UnknownOutcome) {
			t.Errorf("got %v of class %s, want an unknown outcome", err, fault.ClassOf(err))
		}
		wantClosed(t, p)
		if got := w.Database.Runs[0].Outcome; got != "" || countCalls(p.Calls(), "Finish", "") > 0 {
			t.Errorf("got the outcome %q, want none", got)
		}
		if n := countCalls(p.Calls(), "Create", ".end.json"); n > 0 {
			t.Errorf("got %d ends of the run in the store, want none", n)
		}
		o = w.Options(t)
		o.Scheduled = w.Now()
		if _, err := backup.Run(t.Context(), o.CutAt(small)); !errors.Is(err, backup.ErrDone) {
			t.Errorf("got %v, want the next attempt to find it done", err)
		}
		wantListed(t, w, 1)
	})
}

// Once the manifest is there the backup succeeded, whatever breaks then.
func TestRunSucceedsOnceTheManifestIsThere(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Snapshot.Close", "Finish", "Claim.Close"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := shop(t)
			p := w.Process(func(call writertest.Call) writertest.Form {
				if call.Method == method {
					return writertest.Error
				}
				return ""
			})
			result := mustRun(t, p.Options(t))
			if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], method) {
				t.Errorf("got warnings %q, want one of %s", result.Warnings, method)
			}
			wantClosed(t, p)
			wantListed(t, w, 1)
		})
	}
}

func TestRunClosesTheSnapshotBeforeItCommits(t *testing.T) {
	t.Parallel()
	w := shop(t)
	p := w.Process(nil)
	mustRun(t, p.Options(t))
	closed := slices.IndexFunc(p.Calls(), func(c writertest.Call) bool { return c.Method == "Snapshot.Close" })
	signed := slices.IndexFunc(p.Calls(), func(c writertest.Call) bool {
		return c.Method == "Create" && strings.HasPrefix(c.Key, "manifests/")
	})
	if closed < 0 || signed < closed {
		t.Errorf("got the snapshot closed at call %d, the statement stored at %d", closed+1, signed+1)
	}
}

// A damaged manifest before must not stop backups: what it misses is stored anew, and the warning says why.
func TestRunSaysWhatAnEarlierManifestMisses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   func(backup.Result, body.Body) manifest.Object
		want string
	}{
		"AChunk":  {func(_ backup.Result, b body.Body) manifest.Object { return tableOf(t, b, "orders").Chunks[0].Object }, "not whole"},
		"ItsBody": {func(r backup.Result, _ body.Body) manifest.Object { return r.Statement.Body }, "everything was stored anew"},
	} {
		w := shop(t)
		result, b := saved(t, w)
		gone := c.of(result, b)
		for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
			if err := bucket.Delete(t.Context(), layout.Object(gone.Digest)); err != nil {
				t.Fatal(err)
			}
		}
		result, _ = saved(t, w)
		if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], c.want) ||
			!strings.Contains(result.Warnings[0], gone.Digest.String()) {
			t.Errorf("%s: got warnings %q, want one that names %s", name, result.Warnings, gone.Digest)
		}
	}
}

// Everything stored anew is a whole upload: not because a store did not answer once.
func TestRunFailsWhereTheManifestBeforeCannotBeReadNow(t *testing.T) {
	t.Parallel()
	w := shop(t)
	first, _ := saved(t, w)
	p := w.Process(func(call writertest.Call) writertest.Form {
		if call.Method == "Read" && call.Key == layout.Object(first.Statement.Body.Digest) {
			return writertest.Error
		}
		return ""
	})
	if _, err := backup.Run(t.Context(), p.Options(t).CutAt(small)); !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v, want a failure that another run mends", err)
	}
	wantClosed(t, p)
	if result, _ := saved(t, w); result.Progress.Stored > 0 {
		t.Errorf("got %d chunks stored by the next run, want none", result.Progress.Stored)
	}
}

// A chunk that the store does not take: nothing is signed, and nobody has to find out whether something was.
func TestRunSignsNothingWhereAChunkIsNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := shop(t)
		refused := ""
		p := w.Process(func(call writertest.Call) writertest.Form {
			if call.Method == "Create" && strings.HasPrefix(call.Key, "objects/") && refused == "" {
				refused = call.Key
			}
			if call.Key == refused && refused != "" {
				return writertest.Error
			}
			return ""
		})
		if _, err := backup.Run(t.Context(), p.Options(t).CutAt(small)); !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v of class %s, want a failure that another run mends", err, fault.ClassOf(err))
		}
		wantListed(t, w, 0)
		wantClosed(t, p)
		if got := w.Database.Runs[0].Outcome; got != writer.Failed || countCalls(p.Calls(), "Create", ".end.json") != 1 {
			t.Errorf("got the outcome %q, want that it failed, in the store too", got)
		}
	})
}
