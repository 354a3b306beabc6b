package command_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/localstack/child/childtest"
	"tidemark/shared/archive/layout"
)

// running is a command that was started.
type running struct {
	*exec.Cmd

	t              *testing.T
	output, errors bytes.Buffer
}

// start starts a verb with the environment, in a process of its own.
func (o *operator) start(arguments ...string) *running {
	o.t.Helper()
	path, err := tidemark()
	if err != nil {
		o.t.Fatalf("build the command: %v", err)
	}
	r := &running{Cmd: exec.CommandContext(o.t.Context(), path, arguments...), t: o.t} //nolint:gosec // the binary under test
	for name, value := range o.env {
		r.Env = append(r.Env, name+"="+value)
	}
	r.Stdout, r.Stderr = &r.output, &r.errors
	return r
}

// begin lets it run.
func (r *running) begin() *running {
	r.t.Helper()
	if err := r.Start(); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// wait gives its exit code, -1 for one that was killed.
func (r *running) wait() int {
	r.t.Helper()
	var err error
	if r.Process == nil {
		err = r.Run()
	} else {
		err = r.Wait()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		r.t.Fatal(err)
	}
	return r.ProcessState.ExitCode()
}

// patience bounds what a test waits for.
const patience = time.Minute

// until waits for something to become true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	childtest.Within(t, patience, what, is)
}

// wide is a database whose tables are larger than a pipe holds, so that a backup of them can be met halfway.
const wide = shop + `
DO $$ BEGIN FOR n IN 1..12 LOOP
  EXECUTE format('CREATE TABLE shop.wide_%s (id int PRIMARY KEY, filler text)', n);
  EXECUTE format('INSERT INTO shop.wide_%s SELECT g, md5(g::text || %s) || md5(%s || g::text) FROM generate_series(1, 20000) AS g', n, n, n);
END LOOP; END $$;
`

// halfway starts a backup and returns when it has stored something.
func (k *keeper) halfway() *running {
	k.t.Helper()
	b := k.start("backup", "--jobs", "1", "--json").begin()
	until(k.t, "an object is stored", func() bool { return count(k.t, k.primary, layout.Objects+"*/*") > 1 })
	return b
}

// free waits until the database has noticed that nobody backs up any more.
func (k *keeper) free() {
	k.t.Helper()
	until(k.t, "the run's session is gone", func() bool {
		return k.db.Copy(k.t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") == "0\n"
	})
}

func TestBackupThatEndsEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signal os.Signal
		code   int
	}{"Interrupted": {os.Interrupt, 130}, "Killed": {os.Kill, -1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, wide)
			b := k.halfway()
			if err := b.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if code := b.wait(); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, &b.errors)
			}
			if listed := count(t, k.primary, layout.Manifests+"*/*") + count(t, k.secondary, layout.Manifests+"*/*"); listed != 0 {
				t.Errorf("%d manifests are listed", listed)
			}
			if said := b.errors.String(); c.code == 130 && !strings.Contains(said, "nothing is listed") {
				t.Errorf("got %s", said)
			}
			k.free()
			m := k.backUp(0)
			if m.Manifest != "1/2" || m.Rows < 240000 || len(m.Warnings) > 0 {
				t.Errorf("got %+v", m)
			}
			k.says(0, []string{"1/2", "verified"}, "manifests", "list")
		})
	}
	t.Run("WithAFullDisk", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, wide)
		path, err := tidemark()
		if err != nil {
			t.Fatal(err)
		}
		b := k.start("backup")
		b.Path, b.Args = "/bin/sh", []string{"sh", "-c", `ulimit -f 64; exec "$0" backup --jobs 1`, path}
		if code := b.wait(); code != 21 || !strings.Contains(b.errors.String(), "file too large") {
			t.Errorf("exit code %d: %s", code, &b.errors)
		}
		if listed := count(t, k.primary, layout.Manifests+"*/*"); listed != 0 {
			t.Errorf("%d manifests are listed", listed)
		}
		k.backUp(0)
	})
}

// TestBackupBesideAnother holds the first one up before its snapshot, by a lock on a table.
func TestBackupBesideAnother(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, shop)
	k.db.Exec(t, "BEGIN; LOCK TABLE shop.orders IN ACCESS EXCLUSIVE MODE")
	first := k.start("backup", "--json").begin()
	until(t, "the first one holds its claim", func() bool { return count(t, k.primary, layout.Runs+"*/*") > 0 })
	k.says(11, []string{"another backup is running", "wait until it ends"}, "backup")
	k.db.Exec(t, "COMMIT")
	if code := first.wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, &first.errors)
	}
	if diff := cmp.Diff(1, count(t, k.primary, layout.Manifests+"*/*")); diff != "" {
		t.Error(diff)
	}
}
