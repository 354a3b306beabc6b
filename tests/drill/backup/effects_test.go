//go:build drill

package backup_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark/shared/archive/layout"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres/snapshot"
	"tidemark/tests/internal/drilling"
	"tidemark/tests/internal/harness"
)

// kiosk is small: what counts is how many statements a backup of it takes.
const kiosk = `CREATE TABLE item (id int PRIMARY KEY, note text); INSERT INTO item SELECT n, 'note ' || n FROM generate_series(1, 50) AS n;
	CREATE TABLE log (line text); INSERT INTO log SELECT 'line ' || n FROM generate_series(1, 20) AS n;
	INSERT INTO tidemark.checkpoint (flow, topic, partition, next_offset, incarnation)
	  SELECT 'drill', 'drill.public.item', n, 100 + n, incarnation FROM tidemark.target, generate_series(0, 2) AS n;`

// proxied is a vault whose command reaches the database through a proxy.
type proxied struct {
	*vault

	proxy *harness.Proxy
}

func newProxied(t *testing.T, ddl string, buckets int) *proxied {
	t.Helper()
	p := &proxied{vault: newVault(t, ddl, buckets)}
	address, err := url.Parse(p.db.URL)
	if err != nil {
		t.Fatal("the database's address is no URL")
	}
	if p.proxy, err = harness.Listen(t.Context(), address.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.proxy.Close(); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	address.Host = p.proxy.Address()
	p.env["TIDEMARK_DATABASE_URL"] = address.String()
	return p
}

const commandAgain = 4 // of how many faults one is followed by the command

// TestBackupAtEveryEffect breaks the command at each statement that it sends, from the first connection to the commit of the
// run's end. Whatever happens, every manifest that is listed is whole, the ones before too; what the command said is true;
// and the next run succeeds.
func TestBackupAtEveryEffect(t *testing.T) {
	t.Parallel()
	clean := newSweep(t)
	clean.change(t)
	clean.proxy.Watch()
	clean.run(t, 0, "--jobs", "1")
	effects := clean.proxy.Effects()
	t.Logf("%d effects: %v", len(effects), effects)
	if n := len(effects); n < 80 || effects[n-1].Text != "commit" || effects[n-2].Text != "update tidemark.backup_run" {
		t.Fatal("a backup takes fewer effects than it must, or does not end with its record")
	}
	var reached atomic.Int64
	t.Cleanup(func() {
		want := int64(len(effects) * len(drilling.Forms()))
		t.Logf("%d effects × %d forms: %d faults reached of %d", len(effects), len(drilling.Forms()), reached.Load(), want)
		if reached.Load() != want {
			t.Errorf("%d faults were reached, want %d", reached.Load(), want)
		}
	})
	for _, f := range drilling.Forms() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			s, told := newSweep(t), map[string]int{}
			for _, at := range effects {
				told[s.breakAt(t, f, at)]++
				if t.Failed() {
					t.Fatalf("at effect %s", at)
				}
				reached.Add(1)
			}
			t.Logf("all %d effects reached: %v", len(effects), told)
		})
	}
}

// sweep is a vault with one backup in it, to which it goes back before each fault.
type sweep struct {
	*proxied
	origin

	rows int
}

func newSweep(t *testing.T) *sweep {
	t.Helper()
	p := newProxied(t, kiosk, 1)
	p.run(t, 0, "--jobs", "1")
	return &sweep{proxied: p, origin: p.origin(t), rows: 50}
}

// change makes a state that the archive has only in part.
func (s *sweep) change(t *testing.T) {
	t.Helper()
	s.rows++
	s.db.Exec(t, fmt.Sprintf("INSERT INTO item VALUES (%d, 'new'); UPDATE tidemark.checkpoint SET next_offset = next_offset + 1", s.rows))
}

// origin is an archive with one backup, and folders in which nobody writes any more.
type origin struct {
	first  layout.ID
	copies []string
}

func (v *vault) origin(t *testing.T) origin {
	t.Helper()
	o := origin{copies: copies(t, v.folders)}
	o.first = v.sound(t).newest()
	return o
}

// reset goes back to the one backup, in folders of its own, when nobody else is there but the sessions named.
func (v *vault) reset(t *testing.T, to origin, but ...uint32) {
	t.Helper()
	v.alone(t, but...)
	v.db.Exec(t, "DELETE FROM tidemark.backup_run WHERE run_id <> '"+to.first.Run.String()+"'")
	v.folders = copies(t, to.copies)
	v.point()
}

func copies(t *testing.T, folders []string) (own []string) {
	t.Helper()
	for _, folder := range folders {
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		own = append(own, to)
	}
	return own
}

// breakAt runs the form at one effect and says how the command ended.
func (s *sweep) breakAt(t *testing.T, f drilling.Form, at harness.Effect) string {
	t.Helper()
	s.reset(t, s.origin)
	s.change(t)
	started := make(chan *process, 1)
	s.proxy.Arm(f.Trigger(at.Number, func() { (<-started).Kill() }))
	p := s.start(t, "--jobs", "1")
	started <- p
	code := p.Wait(t, patience)
	if met, fired := s.proxy.Fired(); !fired || met.Effect != at {
		t.Errorf("the fault was not reached: fired %v at %s", fired, met.Effect)
	}
	s.proxy.Watch()
	after := s.sound(t)
	landed := s.judge(t, f, p, code, after)
	s.next(t, at, after)
	return fmt.Sprintf("exit %d, landed %v", code, landed)
}

// judge holds what the command said against what is there.
func (s *sweep) judge(t *testing.T, f drilling.Form, p *process, code int, after listing) (landed bool) {
	t.Helper()
	landed = len(after) == 2
	switch {
	case !after.has(s.first):
		t.Error("the first backup is gone")
	case f.Kills && code != -1:
		t.Errorf("exit code %d of a process that was killed", code)
	case f.Kills:
	case code == 0 || code == 3:
		m := p.made(t)
		if !landed || m.Rows == 0 {
			t.Errorf("the command said %+v, and %d manifests are there", m, len(after))
		}
		state := s.db.Copy(t, "SELECT state FROM tidemark.backup_run WHERE run_id = '"+m.Run+"'")
		if code == 0 && state != "done\n" {
			t.Errorf("exit code 0, and the ledger says that the run is %q", state)
		}
	case landed:
		t.Errorf("exit code %d, and the manifest is there: %s", code, &p.Errors)
	case code != 30 || !strings.Contains(p.Errors.String(), "retryable"):
		t.Errorf("exit code %d, want 30 and retryable: %s", code, &p.Errors)
	}
	return landed
}

// next makes the next backup, which must succeed with all that is there now, and leaves what was there. Now and then it is the
// command again, else the same core in this process, which is cheaper.
func (s *sweep) next(t *testing.T, at harness.Effect, before listing) {
	t.Helper()
	s.alone(t)
	s.change(t)
	var m made
	if at.Number%commandAgain == 0 {
		m = s.run(t, 0, "--jobs", "1").made(t)
	} else {
		done := backUp(t, s.inProcess(t, 1, snapshot.Options{}))
		m = made{Run: done.ID.Run.String(), Warnings: done.Warnings}
	}
	counts := s.sound(t)
	for id := range before {
		if !counts.has(id) {
			t.Errorf("manifest %s is gone after the next run", id)
		}
	}
	made := counts.newest()
	if len(counts) != len(before)+1 || made.Run != manifest.RunID(m.Run) || len(m.Warnings) > 0 {
		t.Errorf("%d manifests after %d, the newest %s, want that of the next run: %+v", len(counts), len(before), made, m)
	}
	if rows := tableOf(t, counts[made], "public", "item").Rows; rows != int64(s.rows) {
		t.Errorf("the next backup has %d rows, want %d", rows, s.rows)
	}
	if open := s.db.Copy(t, "SELECT count(*) FROM tidemark.backup_run WHERE state = 'running'"); open != "0\n" {
		t.Errorf("%s runs are under way, and nobody is there", strings.TrimSpace(open))
	}
}
