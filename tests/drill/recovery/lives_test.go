//go:build drill

package recovery_test

import (
	"strings"
	"testing"

	"tidemark/tests/internal/harness"
)

// Where a recovery waits while another one overtakes it.
const (
	claiming = "insert tidemark_recovery.try" // the life that it will take is chosen, and not taken
	restored = "update tidemark_recovery.try" // the life is taken, and the replay has not begun
)

// held11 is the exit code of one that another has overtaken.
const held11 = 11

// atOnceInto has two recoveries of one target at once. Exactly one goes live.
func atOnceInto(t *testing.T, w *world) {
	t.Helper()
	t.Run("TwoDatabases/BeforeTheLifeIsTaken", func(t *testing.T) {
		t.Parallel()
		first, second := overtaken(t, w, claiming, "life 2 belongs to run")
		livesAre(t, first, second, 1)
	})
	t.Run("TwoDatabases/BehindIt", func(t *testing.T) {
		t.Parallel()
		first, second := overtaken(t, w, restored, "life 3 was taken after life 2")
		livesAre(t, first, second, 2)
	})
	t.Run("OneDatabase/ClaimedByAnother", func(t *testing.T) { t.Parallel(); twoClaims(t, w) })
	t.Run("OneDatabase/InTheMiddle", func(t *testing.T) { t.Parallel(); twoCalls(t, w) })
}

// overtaken stops a recovery at a statement until another one, into another database, is live. The first must give way, again too.
func overtaken(t *testing.T, w *world, at, because string) (first, second *sweep) {
	t.Helper()
	first, second = newSweep(t, w), newSweep(t, w)
	second.folder, second.mark = first.folder, first.mark
	reached, goOn := first.pause(at)
	p := first.start(t, first.own(), recovering()...)
	reached(t, p)
	second.run(t, 0, second.own(), recovering()...)
	close(goOn)
	if code := p.Wait(t, patience); code != held11 || !strings.Contains(p.Errors.String(), because) {
		t.Errorf("exit code %d, want %d, and that %s: %s", code, held11, because, &p.Errors)
	}
	first.run(t, held11, first.own(), recovering()...)
	return first, second
}

// livesAre verifies that the second database is live, whole, and can be backed up, and that the first one is not live.
func livesAre(t *testing.T, first, second *sweep, taken int) {
	t.Helper()
	if first.live(t) || !second.live(t) {
		t.Errorf("the first is live: %v, the second: %v; want the second alone", first.live(t), second.live(t))
	}
	if got := rows(t, second.db); got != second.world.want {
		t.Errorf("the rows are\n%s\nwant:\n%s", got, second.world.want)
	}
	if got, want := lives(t, second.folder), lives(t, second.archive)+taken; got != want {
		t.Errorf("the archive has %d records of lives, want %d", got, want)
	}
	second.run(t, 0, second.own(), "backup")
}

// pause makes a recovery wait at the first statement of that kind, when the server has executed it, until goOn is closed. reached
// returns when it waits.
func (s *sweep) pause(at string) (reached func(*testing.T, *process), goOn chan struct{}) {
	goOn = make(chan struct{})
	point := s.proxy.Arm(harness.Trigger{Text: at, After: true, Act: func(harness.Point) harness.Verdict {
		<-goOn
		return harness.Pass
	}})
	return func(t *testing.T, p *process) {
		t.Helper()
		select {
		case <-point:
		case <-p.Over:
			close(goOn)
			t.Fatalf("it ended before: %s: %s", at, &p.Errors)
		}
	}, goOn
}

// twoClaims has two calls see one empty database. The second waits for the first one's claim and finds the database taken.
func twoClaims(t *testing.T, w *world) {
	t.Helper()
	s := newSweep(t, w)
	reached, goOn := s.pause(claiming)
	p := s.start(t, s.own(), recovering()...)
	reached(t, p)
	directly := s.own()
	directly["TIDEMARK_DATABASE_URL"] = s.db.URL
	other := s.start(t, directly, recovering()...)
	await(t, "the second to wait for the first", func() bool {
		return s.db.Copy(t, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "1\n"
	})
	close(goOn)
	if code := other.Wait(t, patience); code != 15 || !strings.Contains(other.Errors.String(), "target_not_empty") {
		t.Errorf("exit code %d of the second, want 15: %s", code, &other.Errors)
	}
	s.ends(t, p)
}

// twoCalls gives the same command while an earlier call is at work.
func twoCalls(t *testing.T, w *world) {
	t.Helper()
	s := newSweep(t, w)
	reached, goOn := s.pause("copy shop.orders")
	p := s.start(t, s.own(), recovering()...)
	reached(t, p)
	directly := s.own()
	directly["TIDEMARK_DATABASE_URL"] = s.db.URL
	other := s.start(t, directly, recovering()...)
	if code := other.Wait(t, patience); code != 30 || !strings.Contains(other.Errors.String(), "is under way in another process") {
		t.Errorf("exit code %d of the second, want 30: %s", code, &other.Errors)
	}
	close(goOn)
	s.ends(t, p)
}

// ends waits for a recovery to end well, with one life taken.
func (s *sweep) ends(t *testing.T, p *process) {
	t.Helper()
	if code := p.Wait(t, patience); code != 0 {
		t.Errorf("exit code %d of the first, want 0: %s", code, &p.Errors)
	}
	if got := rows(t, s.db); got != s.world.want || !s.live(t) {
		t.Errorf("live: %v, the rows are\n%s\nwant:\n%s", s.live(t), got, s.world.want)
	}
	if got, want := lives(t, s.folder), lives(t, s.archive)+1; got != want {
		t.Errorf("the archive has %d records of lives, want %d", got, want)
	}
}
