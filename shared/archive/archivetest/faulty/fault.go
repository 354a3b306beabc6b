package faulty

import "sync"

// Fault is what goes wrong with one call, in the order of its fields. The zero value is nothing.
type Fault struct {
	Hold      *Gate // it waits here before it takes effect: a writer that is frozen
	Fail      error // it fails with this and takes no effect
	HoldReply *Gate // it waits here when it has taken effect
	Drop      bool  // it takes effect and fails with ErrReplyLost, whatever the store said
	Kill      Kill  // it fails with ErrKilled, and so do all calls from then on

	frees *Gate // that the call opens when it is over
}

// Kill is where the process dies.
type Kill uint8

// The places.
const (
	KillNever  Kill = iota
	KillBefore      // before the call takes effect
	KillAfter       // when it has taken effect and before anybody knows
)

// Gate is a place where calls wait until they are let through. Those that come later need not wait.
type Gate struct {
	reached, released   chan struct{}
	reachOnce, openOnce sync.Once
}

// NewGate returns a gate that is closed.
func NewGate() *Gate {
	return &Gate{reached: make(chan struct{}), released: make(chan struct{})}
}

// Reached is closed when the first call waits.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Release opens the gate for good.
func (g *Gate) Release() { g.openOnce.Do(func() { close(g.released) }) }

func (g *Gate) reach() { g.reachOnce.Do(func() { close(g.reached) }) }
