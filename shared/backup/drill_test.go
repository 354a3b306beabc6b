package backup_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/backup/backuptest"
	"tidemark/shared/fault"
)

// TestRunAtEveryCall breaks each call that a backup makes, of its database and of its buckets, in every form. Whatever
// happens, nothing is listed that is not whole, nothing that is referred to goes, and the next run succeeds. A reading call of
// a bucket that was lost after it is one that was lost before.
func TestRunAtEveryCall(t *testing.T) {
	t.Parallel()
	calls := callsOfABackup(t)
	of := map[string]int{}
	for _, c := range calls {
		of[c.Place]++
	}
	if of["database"] < 16 || of["primary"] < 60 || of["secondary"] < 20 {
		t.Fatalf("a backup makes the calls %v, want at least 16 of the database, 60 and 20 of the buckets", of)
	}
	for _, form := range writertest.Forms() {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			told, broken := map[string]int{}, 0
			for n, call := range calls {
				if late := form == writertest.ReplyLost || form == writertest.KillAfter; late && reads(call) {
					continue
				}
				broken++
				synctest.Test(t, func(t *testing.T) { told[brokenRun(t, n+1, form)]++ }) // its waits cost nothing
			}
			if sum := told["failed"] + told["landed unseen"] + told["succeeded"] + told["succeeded with a warning"]; sum != broken {
				t.Errorf("got %d ends of %d broken backups", sum, broken)
			}
			t.Logf("%d of %d calls %v, each %s: %v", broken, len(calls), of, form, told)
		})
	}
}

func reads(c writertest.Call) bool {
	return c.Place != "database" && (c.Method == "Read" || c.Method == "Stat" || c.Method == "List")
}

// kiosk is a database with few rows: some that stay, some that change, and one table without a key.
func kiosk(t *testing.T) *backuptest.World {
	t.Helper()
	w := backuptest.New(t)
	w.Database.Tables = map[string]*backuptest.Table{
		"orders": {Rows: fill(0, 60)}, "log": {Rows: fill(0, 25), Keyless: true}, "empty": {},
	}
	return w
}

// change makes the second state, of which a part is in the archive already.
func change(w *backuptest.World) {
	insert(w.Database.Tables["orders"].Rows, 60, 100)
	insert(w.Database.Tables["log"].Rows, 25, 30)
	w.Database.Next++
}

func callsOfABackup(t *testing.T) []writertest.Call {
	t.Helper()
	w := kiosk(t)
	mustRun(t, w.Options(t))
	change(w)
	p := w.Process(nil)
	mustRun(t, p.Options(t))
	return p.Calls()
}

// brokenRun makes a backup of which one call goes wrong, and says how it ended.
func brokenRun(t *testing.T, n int, form writertest.Form) string {
	t.Helper()
	w := kiosk(t)
	first := mustRun(t, w.Options(t))
	change(w)
	w.Pass(hour)
	scheduled := w.Now()
	p := w.Process(writertest.At(n, form))
	o := p.Options(t)
	o.Scheduled = scheduled
	result, err := backup.Run(t.Context(), o.CutAt(small))
	at := fmt.Sprintf("call %d %s", n, form)
	if len(p.Calls()) < n {
		t.Fatalf("%s: the backup ended after %d calls", at, len(p.Calls()))
	}
	at = fmt.Sprintf("%s %+v", at, p.Calls()[n-1])
	wantNothingDeleted(t, at, p)
	counts := writertest.Sound(t, w.World)
	landed := len(counts) == 2
	switch {
	case !counts[first.ID]:
		t.Fatalf("%s: the first backup is gone", at)
	case err == nil && !counts[result.ID]:
		t.Fatalf("%s: the backup said that it is there, and it is not", at)
	case err != nil && landed && !fault.Is(err, fault.UnknownOutcome) && form != writertest.KillAfter && form != writertest.KillBefore:
		t.Fatalf("%s: got %v, and the manifest is there", at, err)
	}
	w.Pass(time.Minute)
	again := w.Process(nil)
	o = again.Options(t)
	o.Scheduled = scheduled
	_, retried := backup.Run(t.Context(), o.CutAt(small))
	if landed != errors.Is(retried, backup.ErrDone) || retried != nil && !landed {
		t.Fatalf("%s: got %v from the next attempt; landed: %v", at, retried, landed)
	}
	wantSaved(t, w)
	w.Pass(hour)
	insert(w.Database.Tables["orders"].Rows, 100, 110)
	next := mustRun(t, w.Options(t))
	if counts := writertest.Counted(t, w.Archive(t)); len(counts) != 3 || !counts[next.ID] || next.Copies != 2 {
		t.Fatalf("%s: got %d manifests and %d copies, want one for each time: %q", at, len(counts), next.Copies, next.Warnings)
	}
	switch {
	case err == nil && len(result.Warnings) > 0:
		return "succeeded with a warning"
	case err == nil:
		return "succeeded"
	case landed:
		return "landed unseen"
	}
	return "failed"
}

func wantNothingDeleted(t *testing.T, at string, p *backuptest.Process) {
	t.Helper()
	if n := countCalls(p.Calls(), "Delete", ""); n > 0 {
		t.Fatalf("%s: %d objects were deleted", at, n)
	}
}
