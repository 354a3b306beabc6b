//go:build integration

package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/localstack/runtimeapi"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/signing/localkey/localkeytest"
	"tidemark/tests/internal/binary"
)

// wares is what is backed up: the rows of a table with a key, enough that they are not one page.
const wares = "CREATE TABLE ware (id bigint PRIMARY KEY, note text); INSERT INTO ware SELECT i, md5(i::text) FROM generate_series(1, 20000) i;"

// vault is a target and an archive in a folder, and what the function is told of them.
type vault struct {
	db        *postgrestest.Database
	folder    string
	bootstrap string
	env       map[string]string
}

// backupBinary builds the function.
func backupBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup", "bootstrap")
	if err := binary.Build(t.Context(), path, "./functions/backup"); err != nil {
		t.Fatal(err)
	}
	return path
}

func newVault(t *testing.T, bootstrap string) *vault {
	t.Helper()
	private, trusted := localkeytest.Files(t)
	v := &vault{db: postgrestest.Live(t, wares), folder: t.TempDir(), bootstrap: bootstrap}
	v.env = map[string]string{
		"TIDEMARK_TARGET_ID": postgrestest.TargetID.String(), "TIDEMARK_DATABASE_URL": v.db.URL,
		"TIDEMARK_ARCHIVE": "file://" + v.folder, "TIDEMARK_TRUSTED_KEYS": trusted, "TIDEMARK_SIGNING_KEYS": private,
	}
	return v
}

// function makes a function whose invocations may last so long.
func (v *vault) function(t *testing.T, timeout time.Duration) *function {
	t.Helper()
	f := &function{output: &transcript{}}
	var err error
	f.Function, err = runtimeapi.New(runtimeapi.Options{
		Bootstrap: v.bootstrap, Name: "backup", MemoryMB: 1024, Timeout: timeout, Grace: grace, Output: f.output, Env: v.env,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Stop()
		if t.Failed() {
			t.Logf("the function wrote:\n%s", f.output.end())
		}
	})
	return f
}

// backedUp is what a reply says, as far as tests ask.
type backedUp struct {
	Outcome, Manifest, Why string
	RunID                  string `json:"run_id"`
	Seq, Rows              int64
	Stored                 int `json:"objects_stored"`
	Reused                 int `json:"objects_reused"`
}

// atHour is the event of a scheduled time.
func atHour(hour string) []byte {
	return []byte(`{"scheduled_time":"2026-11-29T` + hour + `:00:00Z","execution":"execution-` + hour + `","attempt":"1"}`)
}

func (f *function) backUp(t *testing.T, event []byte) backedUp {
	t.Helper()
	reply, err := f.start(t, event)()
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// start invokes the function and gives what waits for its reply.
func (f *function) start(t *testing.T, event []byte) (wait func() (backedUp, error)) {
	t.Helper()
	var reply backedUp
	ended := make(chan error, 1)
	go func() {
		answered, err := f.Invoke(t.Context(), event)
		if err == nil {
			err = json.Unmarshal(answered, &reply)
		}
		ended <- err
	}()
	return func() (backedUp, error) {
		err := <-ended
		return reply, err
	}
}

// recorded verifies the target's record of its backups, in their order.
func (v *vault) recorded(t *testing.T, want ...string) {
	t.Helper()
	got := v.db.Copy(t, "SELECT seq || ' attempt ' || attempt || ' ' || state FROM tidemark.backup_run ORDER BY seq")
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", got); diff != "" {
		t.Errorf("backup_run (-want +got):\n%s", diff)
	}
}

// listed verifies that the archive lists so many manifests, the one of the reply among them.
func (v *vault) listed(t *testing.T, reply backedUp, want int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(v.folder, "manifests", "*", "*.json"))
	if err != nil || len(found) != want {
		t.Errorf("got the manifests %v, %v, want %d", found, err, want)
	}
	if _, err := os.Stat(filepath.Join(v.folder, reply.Manifest)); err != nil {
		t.Error(err)
	}
}

// ample is more than any backup here takes, with what is held back before the deadline.
const ample = 5 * time.Minute

// TestBackup runs the function as a process, as the schedule does.
func TestBackup(t *testing.T) {
	t.Parallel()
	binary := backupBinary(t)
	t.Run("AScheduledTimeHasOneBackup", func(t *testing.T) {
		t.Parallel()
		v := newVault(t, binary)
		f := v.function(t, ample)
		made, again := f.backUp(t, atHour("21")), f.backUp(t, atHour("21"))
		if made.Outcome != "done" || made.Seq != 1 || made.Rows < 20000 {
			t.Errorf("got %+v, want a backup of every row", made)
		}
		if again.Outcome != "already_done" || again.Manifest != made.Manifest || again.RunID != made.RunID {
			t.Errorf("got %+v, want the backup that was made: %+v", again, made)
		}
		next := f.backUp(t, atHour("22"))
		if next.Outcome != "done" || next.Seq != 2 || next.Reused == 0 {
			t.Errorf("got %+v, want the next backup, which leans on the first", next)
		}
		v.listed(t, next, 2)
		v.recorded(t, "1 attempt 1 done", "2 attempt 1 done")
	})
	t.Run("GoesOnAfterItsProcessWasKilled", func(t *testing.T) {
		t.Parallel()
		v := newVault(t, binary)
		f := v.function(t, ample)
		died := v.killed(t, f, atHour("21"))
		if !errors.Is(died, runtimeapi.ErrDied) {
			t.Fatalf("got %v, want that the process died", died)
		}
		made := f.backUp(t, atHour("21"))
		if made.Outcome != "done" || made.Seq != 2 {
			t.Errorf("got %+v, want the second attempt to make the backup", made)
		}
		v.listed(t, made, 1)
		v.recorded(t, "1 attempt 1 crashed", "2 attempt 2 done")
		if counts := f.Counts(); counts.ColdStarts != 2 {
			t.Errorf("got %d processes, want 2", counts.ColdStarts)
		}
	})
	t.Run("GivesWayToOneThatRuns", func(t *testing.T) {
		t.Parallel()
		v := newVault(t, binary)
		f, other := v.function(t, ample), v.function(t, ample)
		held := v.hold(t)
		first := f.start(t, atHour("21"))
		v.awaitRun(t)
		if got := other.backUp(t, atHour("22")); got.Outcome != "running" || got.Why == "" {
			t.Errorf("got %+v, want that another one runs", got)
		}
		held()
		if got, err := first(); err != nil || got.Outcome != "done" {
			t.Errorf("got %+v, %v, want the first one undisturbed", got, err)
		}
		v.recorded(t, "1 attempt 1 done")
	})
	t.Run("LeavesTheRestToTheNextRun", func(t *testing.T) {
		t.Parallel()
		v := newVault(t, binary)
		if got := v.function(t, time.Minute).backUp(t, atHour("21")); got.Outcome != "continuation" || got.Manifest != "" {
			t.Errorf("got %+v, want no manifest: within a minute nothing is begun", got)
		}
		made := v.function(t, ample).backUp(t, atHour("21"))
		if made.Outcome != "done" {
			t.Errorf("got %+v, want the backup made by who has time", made)
		}
		v.listed(t, made, 1)
		v.recorded(t, "1 attempt 1 continuation", "2 attempt 2 done")
	})
	t.Run("SaysWhatItWillNotStartWith", func(t *testing.T) {
		t.Parallel()
		v := newVault(t, binary)
		v.env["TIDEMARK_BACKUP_JOBS"] = "64"
		f := v.function(t, ample)
		_, err := f.Invoke(t.Context(), atHour("21"))
		if err == nil {
			t.Fatal("it starts with more readers than its memory holds")
		}
		f.Stop()
		for _, l := range f.output.lines() {
			if l.Level == "ERROR" && l.Msg == "cannot start" && l.Class == "misconfigured" && strings.Contains(l.Error, "64 jobs") {
				return
			}
		}
		t.Error("no line says why it does not start")
	})
}

// hold keeps every backup from seeing the rows, and gives what lets it go on.
func (v *vault) hold(t *testing.T) (let func()) {
	t.Helper()
	v.db.Exec(t, "BEGIN; LOCK TABLE ware")
	return func() { v.db.Exec(t, "ROLLBACK") }
}

// awaitRun waits until the archive has the record of a run.
func (v *vault) awaitRun(t *testing.T) {
	t.Helper()
	await(t, "a run is recorded", func(context.Context) (bool, error) {
		found, err := filepath.Glob(filepath.Join(v.folder, "runs", "*", "*.json"))
		return len(found) > 0, err
	})
}

// killed ends the function's process in the middle of a backup: its record stands, and no row is read yet.
func (v *vault) killed(t *testing.T, f *function, event []byte) error {
	t.Helper()
	let := v.hold(t)
	defer let()
	ended := f.start(t, event)
	v.awaitRun(t)
	if err := f.Kill(); err != nil {
		t.Fatal(err)
	}
	_, err := ended()
	return err
}
