// Package harness owns how drills break what lies between a function and its database: a proxy for PostgreSQL's wire
// protocol that numbers every effect and acts at any one of them.
//
// An effect is what can be lost or done twice: the start of a connection, each statement, BEGIN and COMMIT included, and
// of a COPY FROM STDIN also each message of rows and its end.
// The proxy parses what the client sends, passes it on as it came, and at the effect that a Trigger names it cuts,
// stops, kills or lets somebody else act. Acting after an effect means that the server has executed it: where a pipeline
// has not asked for answers yet, the proxy asks. It records the effects as verbs with tables, never values, and counts
// cancel requests, which it swallows.
//
// It refuses encryption, so it is for loopback, and it understands COPY as a query of its own only, not in a pipeline.
// Methods may be called at any time from several goroutines, also within an act; Close waits for every goroutine.
package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// Proxy is one listening address before one server.
type Proxy struct {
	upstream string
	listener net.Listener
	matcher  *matcher
	serving  sync.WaitGroup

	mu      sync.Mutex
	effects []Effect
	trigger *armed
	fired   *Point
	refuse  int
	cancels int
	links   map[*link]struct{}
	closed  bool
}

// Listen opens a proxy on loopback. upstream is the server's host:port; it is dialled for each connection anew.
func Listen(ctx context.Context, upstream string) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the proxy: %w", err)
	}
	p := &Proxy{upstream: upstream, listener: listener, matcher: newMatcher(), links: map[*link]struct{}{}}
	p.serving.Go(p.accept)
	return p, nil
}

// Address is where clients connect to, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Arm numbers effects from 1 again, forgets those before, and sets the trigger in place of one that did not fire. The
// channel gives the point at which the trigger fires, when its act begins.
func (p *Proxy) Arm(trigger Trigger) <-chan Point {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects, p.fired, p.trigger = nil, nil, &armed{Trigger: trigger, signal: make(chan Point, 1)}
	return p.trigger.signal
}

// Watch numbers effects from 1 again and sets no trigger.
func (p *Proxy) Watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects, p.fired, p.trigger = nil, nil, nil
}

// Fired is the point at which the trigger acted since Arm, if it did.
func (p *Proxy) Fired() (Point, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fired == nil {
		return Point{}, false
	}
	return *p.fired, true
}

// Effects lists the effects since Arm or Watch.
func (p *Proxy) Effects() []Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.effects)
}

// RefuseNext makes the proxy close the next n connections at once.
func (p *Proxy) RefuseNext(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = n
}

// Cancels counts the cancel requests that came in.
func (p *Proxy) Cancels() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cancels
}

// CutAll cuts the connections that are open, also in the middle of a statement.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close(Cut)
	}
}

// Close cuts everything and returns when no goroutine is left.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.CutAll()
	p.serving.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // a client that was gone again
		}
		if l := p.admit(client); l != nil {
			p.serving.Go(func() {
				defer p.dismiss(l)
				l.serve()
			})
		}
	}
}

// admit makes a link for a client, or closes its connection.
func (p *Proxy) admit(client net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refuse > 0 {
		p.refuse = max(0, p.refuse-1)
		_ = client.Close() // refused is refused
		return nil
	}
	l := newLink(p, client)
	p.links[l] = struct{}{}
	return l
}

func (p *Proxy) dismiss(l *link) {
	l.close(Cut)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) countCancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancels++
}

// number records an effect and gives the trigger that it meets, which is used up by that.
func (p *Proxy) number(text string) (Effect, *armed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	effect := Effect{Number: len(p.effects) + 1, Text: text}
	p.effects = append(p.effects, effect)
	if !p.trigger.meets(effect) {
		return effect, nil
	}
	trigger := p.trigger
	p.trigger = nil
	return effect, trigger
}

// fire notes that a trigger acts now, then lets it act.
func (p *Proxy) fire(trigger *armed, at Point) Verdict {
	p.mu.Lock()
	p.fired = &at
	p.mu.Unlock()
	trigger.signal <- at // holds one, and a trigger fires once
	return trigger.act(at)
}
