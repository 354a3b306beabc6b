//go:build drill

package recovery_test

import (
	"testing"

	"tidemark/tests/internal/drilling"
)

// againAndAgain gives the same command until it is through, and stops nearly each: a few effects behind where
// it finds what is done already, in a form that changes. Each comes a little further than the one before, so that together they
// are stopped all along a recovery, and between any two of its steps as like as not.
func againAndAgain(t *testing.T, w *world) {
	t.Helper()
	s := newSweep(t, w)
	s.run(t, 0, s.own(), recovering()...)
	s.want = state(t, s.db)
	const (
		least = 40  // of the calls must be stopped
		most  = 400 // calls
		found = 20  // effects by which a call at the earliest knows what is done
		reach = 41  // how much further a call may come
	)
	through, stopped, first := 0, map[string]int{}, firstForm(t)
	s.reset(t)
	for call := range most {
		f := drilling.Forms()[(call+first)%len(drilling.Forms())]
		if !s.stopAt(t, f, found+call*7%reach) {
			stopped[f.Name]++
			continue
		}
		is(t, s.db, s.want)
		if got, want := lives(t, s.folder), lives(t, s.archive)+1; got != want {
			t.Errorf("the archive has %d records of lives, want %d", got, want)
		}
		if through++; through == 1 || t.Failed() {
			break
		}
		s.reset(t)
	}
	t.Logf("%d recoveries came through, calls were stopped: %v", through, stopped)
	if through == 0 || stopped["ErrorBefore"]+stopped["ReplyDropped"]+stopped["Killed"] < least {
		t.Errorf("%d recoveries came through, and calls were stopped: %v; want one, and %d at least", through, stopped, least)
	}
}

// stopAt gives the command, breaks it at a number, and says whether it came through all the same: it had ended, or what was
// broken needed no answer.
func (s *sweep) stopAt(t *testing.T, f drilling.Form, number int) (through bool) {
	t.Helper()
	started := make(chan *process, 1)
	s.proxy.Arm(f.Trigger(number, func() { (<-started).Kill() }))
	p := s.start(t, s.own(), recovering()...)
	started <- p
	code := p.Wait(t, patience)
	_, fired := s.proxy.Fired()
	s.proxy.Watch()
	s.alone(t)
	live := s.live(t)
	switch {
	case code == 0 && live:
		return true
	case !fired, code == 0, live && code != 30, !f.Kills && code != 30:
		t.Fatalf("exit code %d at effect %d, stopped: %v, live: %v: %s", code, number, fired, live, &p.Errors)
	}
	return false
}
