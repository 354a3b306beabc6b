package runtimeapi

import (
	"errors"
	"testing"
	"time"
)

// A process that panics posts its error and exits; both may be seen at once, and the error says more.
func TestInstancePrefersWhatWasPostedToTheDeath(t *testing.T) {
	t.Parallel()
	i := &instance{output: &tailWriter{}, dead: make(chan struct{})}
	close(i.dead)

	silent := newInvocation(nil, time.Now())
	if _, err := i.lastWord(silent); !errors.Is(err, ErrDied) {
		t.Errorf("got %v of a process that posted nothing, want ErrDied", err)
	}
	spoken := newInvocation(nil, time.Now())
	spoken.end <- ending{err: report("Panic", "boom")}
	if _, err := i.lastWord(spoken); errors.Is(err, ErrDied) || err == nil {
		t.Errorf("got %v, want what the process posted", err)
	}
}
