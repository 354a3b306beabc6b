//go:build drill

package recovery_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark/shared/postgres/postgrestest"
	"tidemark/tests/internal/drilling"
	"tidemark/tests/internal/harness"
)

// due says whether a number has a form in this run.
func due(number, which, first int) bool {
	return everyEffect || (number+first)%len(drilling.Forms()) == which
}

// telling are the effects that differ: the first of those that follow the same effect. A restore does the same for one definition
// after the other.
func telling(effects []harness.Effect) (chosen []harness.Effect) {
	seen, before := map[string]bool{}, ""
	for _, e := range effects {
		if kind := before + " | " + e.Text; everyEffect || !seen[kind] {
			seen[kind] = true
			chosen = append(chosen, e)
		}
		before = e.Text
	}
	if last := effects[len(effects)-1]; chosen[len(chosen)-1] != last {
		chosen = append(chosen, last)
	}
	return chosen
}

// firstForm is the form with which this run begins.
func firstForm(t *testing.T) int {
	t.Helper()
	first := turn
	if first < 0 {
		first = rand.IntN(len(drilling.Forms())) //nolint:gosec // which form, not a secret
	}
	t.Logf("go test -turn %d gives each effect the form that it has in this run", first)
	return first
}

// TestRecover stops the command in every way that a database and a broker can.
func TestRecover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("AtEveryStatement", func(t *testing.T) { t.Parallel(); atEveryStatement(t, w) })
	t.Run("AgainAndAgain", func(t *testing.T) { t.Parallel(); againAndAgain(t, w) })
	t.Run("AtEveryRequest", func(t *testing.T) { t.Parallel(); atEveryRequest(t, w) })
	t.Run("AtOnce", func(t *testing.T) { t.Parallel(); atOnceInto(t, w) })
}

// atEveryStatement breaks the command at each statement that it sends, from the first look at the database to the
// commit of the settlement, in three forms. What the command said is true, and the same command ends as if nothing had been.
// Effects that are like others are left to againAndAgain, unless -every-effect says otherwise.
func atEveryStatement(t *testing.T, w *world) {
	t.Helper()
	clean := newSweep(t, w)
	clean.proxy.Watch()
	clean.run(t, 0, clean.own(), recovering()...)
	effects := clean.proxy.Effects()
	chosen := telling(effects)
	t.Logf("%d effects, of which these are broken: %d: %v", len(effects), len(chosen), chosen)
	if got := rows(t, clean.db); got != w.want {
		t.Fatalf("an undisturbed recovery brings back\n%s\nwant:\n%s", got, w.want)
	}
	want, first := state(t, clean.db), firstForm(t)
	if n := len(effects); n < 80 || effects[n-1].Text != "commit" {
		t.Fatal("a recovery takes fewer effects than it must, or does not end with the commit of its settlement")
	}
	var reached, planned atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d effects, %d of them broken: %d faults planned, %d reached", len(effects), len(chosen), planned.Load(), reached.Load())
		if reached.Load() != planned.Load() || planned.Load() < int64(len(chosen)) {
			t.Errorf("%d faults were reached, want %d, one of each of %d effects at least", reached.Load(), planned.Load(), len(chosen))
		}
	})
	for which, f := range drilling.Forms() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			s, told := newSweep(t, w), map[string]int{}
			s.want = want
			for _, at := range chosen {
				if !due(at.Number, which, first) {
					continue
				}
				planned.Add(1)
				told[s.breakAt(t, f, at)]++
				if t.Failed() {
					t.Fatalf("at effect %s", at)
				}
				reached.Add(1)
			}
			t.Logf("of %d effects: %v", len(effects), told)
		})
	}
}

// recovering is the command. One job, so that its statements come in one order.
func recovering() []string { return []string{"recover", "--jobs", "1"} }

// sweep is a database that is recovered into again and again, behind a proxy, with an archive of its own each time.
type sweep struct {
	*world

	db     *postgrestest.Database
	proxy  *harness.Proxy
	url    string // of the proxy
	folder string
	mark   string // where the newest backup is remembered
	want   string // the state after an undisturbed recovery
}

func newSweep(t *testing.T, w *world) *sweep {
	t.Helper()
	s := &sweep{world: w, db: postgrestest.Empty(t), folder: copied(t, w.archive), mark: filepath.Join(t.TempDir(), "newest")}
	newest, err := os.ReadFile(strings.TrimPrefix(w.env["TIDEMARK_HIGH_WATER"], "file://"))
	//nolint:gosec // a path of this test's own
	if err = errors.Join(err, os.WriteFile(s.mark, newest, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.reach(t, s.db.URL)
	return s
}

// reach puts a proxy before a database and has the command go through it.
func (s *sweep) reach(t *testing.T, database string) {
	t.Helper()
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal("the database's address is no URL")
	}
	proxy, err := harness.Listen(t.Context(), address.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	address.Host = proxy.Address()
	s.proxy, s.url = proxy, address.String()
}

// own is what the command is told of this sweep.
func (s *sweep) own() map[string]string {
	return map[string]string{
		"TIDEMARK_DATABASE_URL": s.url, "TIDEMARK_ARCHIVE": "file://" + s.folder, "TIDEMARK_HIGH_WATER": "file://" + s.mark,
	}
}

// reset empties the database and goes back to the archive with the one backup.
func (s *sweep) reset(t *testing.T) {
	t.Helper()
	s.alone(t)
	s.db.Exec(t, "SET client_min_messages = warning; DROP SCHEMA IF EXISTS shop, tidemark, tidemark_recovery CASCADE")
	s.folder = copied(t, s.archive)
}

// alone waits until the database has noticed that nobody is there but the test's session.
func (s *sweep) alone(t *testing.T) {
	t.Helper()
	const question = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	await(t, "the end of every other session", func() bool { return s.db.Copy(t, question) == "0\n" })
}

// breakAt runs the form at one effect, then the command again, and says how the first one ended.
func (s *sweep) breakAt(t *testing.T, f drilling.Form, at harness.Effect) string {
	t.Helper()
	s.reset(t)
	started := make(chan *process, 1)
	s.proxy.Arm(f.Trigger(at.Number, func() { (<-started).Kill() }))
	p := s.start(t, s.own(), recovering()...)
	started <- p
	code := p.Wait(t, patience)
	if met, fired := s.proxy.Fired(); !fired || met.Effect != at {
		t.Errorf("the fault was not reached: fired %v at %s", fired, met.Effect)
	}
	s.proxy.Watch()
	s.alone(t)
	live := s.live(t)
	s.judge(t, f, p, code, live)
	again := s.run(t, 0, s.own(), recovering()...)
	if said := strings.Contains(again.Output.String(), "had recovered it already"); said != live {
		t.Errorf("the target was live: %v; the same command says: %s", live, &again.Output)
	}
	is(t, s.db, s.want)
	if got, want := lives(t, s.folder), lives(t, s.archive)+1; got != want {
		t.Errorf("the archive has %d records of lives, want %d: the try's alone comes on top", got, want)
	}
	return fmt.Sprintf("exit %d, live %v", code, live)
}

// live says whether the database has a target that is live.
func (s *sweep) live(t *testing.T) bool {
	t.Helper()
	if s.db.Copy(t, "SELECT to_regclass('tidemark.target') IS NOT NULL") != "t\n" {
		return false
	}
	return s.db.Copy(t, "SELECT state FROM tidemark.target") == "live\n"
}

// judge holds what the first command said against what is there.
func (s *sweep) judge(t *testing.T, f drilling.Form, p *process, code int, live bool) {
	t.Helper()
	switch said := p.Errors.String(); {
	case f.Kills && code != -1:
		t.Errorf("exit code %d of a process that was killed", code)
	case f.Kills:
	case code == 0:
		is(t, s.db, s.want)
	case live && !strings.Contains(said, "unknown"):
		t.Errorf("exit code %d, and the target is live: %s", code, said)
	case code != 30 || !strings.Contains(said, "retryable") && !strings.Contains(said, "unknown"):
		t.Errorf("exit code %d, want 30, and retryable or an unknown outcome: %s", code, said)
	}
}
