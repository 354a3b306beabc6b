package backup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/archive/history"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/backup/backuptest"
	"tidemark/shared/fault"
)

// A run that has no time for one more chunk ends, and the next one finds what it stored.
func TestRunOutOfTimeIsContinued(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		tables map[string]*backuptest.Table
		method string // each such call takes a minute
	}{
		{"BetweenParts", map[string]*backuptest.Table{"orders": {Rows: large(40)}}, "Copy"},
		{"WithinAPart", map[string]*backuptest.Table{"log": {Rows: large(40), Keyless: true}}, "Create"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := backuptest.New(t)
			w.Database.Tables = c.tables
			slow := func() *backuptest.Process {
				return w.Process(func(call writertest.Call) writertest.Form {
					if call.Method == c.method && (call.Place == "database" || strings.HasPrefix(call.Key, "objects/")) {
						w.Pass(time.Minute)
					}
					return ""
				})
			}
			p := slow()
			o := p.Options(t)
			o.Deadline = w.Now().Add(15 * time.Minute)
			result, err := backup.Run(t.Context(), o.CutAt(1<<20))
			if !errors.Is(err, backup.ErrOutOfTime) || !fault.Is(err, fault.Retryable) {
				t.Fatalf("got %v, want backup.ErrOutOfTime", err)
			}
			if n := result.Progress.Stored; n < 12 || n > 14 || w.Now().After(o.Deadline) {
				t.Errorf("got %d chunks stored by %s, want as many as there was time for until %s", n, w.Now(), o.Deadline)
			}
			wantListed(t, w, 0)
			wantClosed(t, p)
			if got := w.Database.Runs[0].Outcome; got != writer.Continuation {
				t.Errorf("got the outcome %q, want a continuation", got)
			}
			next := w.Process(nil)
			all := mustRunAt(t, next.Options(t), 1<<20)
			wantSaved(t, w)
			uploads := countCalls(next.Calls(), "Create", "objects/") - 1 // the body
			uploads -= countSecondary(next.Calls())
			if all.Progress.Stored < 35 || uploads > all.Progress.Stored-result.Progress.Stored {
				t.Errorf("got %d uploads for %d chunks, want none of the %d again", uploads, all.Progress.Stored, result.Progress.Stored)
			}
		})
	}
}

func mustRunAt(t *testing.T, o backup.Options, wanted int) backup.Result {
	t.Helper()
	result, err := backup.Run(t.Context(), o.CutAt(wanted))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return result
}

func countSecondary(calls []writertest.Call) (n int) {
	for _, c := range calls {
		if c.Place == "secondary" && c.Method == "Create" && strings.HasPrefix(c.Key, "objects/") {
			n++
		}
	}
	return n
}

// large gives rows of a size from which a store is asked before it is sent anything.
func large(n int64) backuptest.Rows {
	rows := backuptest.Rows{}
	for key := range n {
		seed := [32]byte{}
		copy(seed[:], fmt.Append(nil, key))
		rows[key] = make([]byte, 1<<20)
		_, _ = rand.NewChaCha8(seed).Read(rows[key]) // never fails
	}
	return rows
}

func TestRunThatHasTimeForItsLastPartEndsIt(t *testing.T) {
	t.Parallel()
	w := backuptest.New(t)
	w.Database.Tables["orders"] = &backuptest.Table{Rows: fill(0, 10)}
	o := w.Process(func(call writertest.Call) writertest.Form {
		if call.Method == "Copy" {
			w.Pass(80 * time.Second)
		}
		return ""
	}).Options(t)
	o.Deadline = w.Now().Add(91 * time.Second)
	mustRun(t, o)
	wantSaved(t, w)
	o = w.Options(t)
	o.Deadline, o.Reserve = w.Now().Add(91*time.Second), 2*time.Minute
	if _, err := backup.Run(t.Context(), o.CutAt(small)); !errors.Is(err, backup.ErrOutOfTime) {
		t.Errorf("got %v, want no part begun within the reserve", err)
	}
}

// Cancelled at any call, a run ends with few calls more. It is listed only when it says that it succeeded, or that it does
// not know.
func TestRunCancelledAtAnyCall(t *testing.T) {
	t.Parallel()
	clean := kiosk(t).Process(nil)
	mustRun(t, clean.Options(t))
	for n := range len(clean.Calls()) {
		synctest.Test(t, func(t *testing.T) { cancelledAt(t, n+1) })
	}
	t.Logf("cancelled at %d calls", len(clean.Calls()))
}

func cancelledAt(t *testing.T, n int) {
	t.Helper()
	w := kiosk(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := w.Process(func(call writertest.Call) writertest.Form {
		if call.N == n {
			cancel()
		}
		return ""
	})
	began := time.Now()
	_, err := backup.Run(ctx, p.Options(t).CutAt(small))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("call %d: it took %s", n, took)
	}
	calls := p.Calls()
	if len(calls) < n {
		t.Fatalf("call %d: got %d calls", n, len(calls))
	}
	if more := len(calls) - n; err != nil && more > 60 {
		t.Errorf("call %d: got %d calls more, the last %+v", n, more, calls[len(calls)-1])
	}
	wantClosed(t, p)
	counts := writertest.Sound(t, w.World)
	switch unknown := fault.Is(err, fault.UnknownOutcome); {
	case err == nil && w.Database.Runs[0].Outcome != writer.Done:
		t.Errorf("call %d: got the outcome %q of a run that succeeded", n, w.Database.Runs[0].Outcome)
	case err == nil && len(counts) != 1, err != nil && !unknown && len(counts) != 0:
		t.Errorf("call %d: got %v and %d manifests", n, err, len(counts))
	}
}

func TestRunTellsItsProgress(t *testing.T) {
	t.Parallel()
	w := shop(t)
	o := w.Options(t)
	o.Jobs = 3
	var told []backup.Progress
	o.OnProgress = func(p backup.Progress) { told = append(told, p) }
	result := mustRun(t, o)
	last := backup.Progress{}
	for i, p := range told {
		if p.Bytes < last.Bytes || p.Rows < last.Rows || p.Parts < last.Parts || p.Stored < last.Stored ||
			p.StoredBytes < last.StoredBytes || p.Reused < last.Reused || i > 0 && (p.Of != last.Of || p.OfPart != last.OfPart) {
			t.Fatalf("got %+v after %+v", p, last)
		}
		last = p
	}
	if last != result.Progress || last.Parts != last.OfPart || last.Bytes != last.Of || last.Rows != result.Rows || last.Parts < 20 {
		t.Errorf("got %+v at the end, %+v in the result, want the totals", last, result.Progress)
	}
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(err)
	}
	stock, err := h.Stock(t.Context())
	if err != nil || len(stock["primary"]) > last.Stored+1 {
		t.Errorf("got %d objects, %v, want those that were told of and the body", len(stock["primary"]), err)
	}
}

func TestRunCountsOnlyWhatWasStored(t *testing.T) {
	t.Parallel()
	w := shop(t)
	refused := 0
	p := w.Process(func(call writertest.Call) writertest.Form {
		if call.Method == "Create" && strings.HasPrefix(call.Key, "objects/") {
			if refused++; refused > 3 {
				return writertest.KillBefore
			}
		}
		return ""
	})
	result, err := backup.Run(t.Context(), p.Options(t).CutAt(small))
	if err == nil || result.Progress.Stored != 3 {
		t.Errorf("got %+v, %v, want 3 objects stored", result.Progress, err)
	}
}
