package target_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// path leads to a server and can forget the flows that it knows, as a NAT does: what is sent there goes nowhere, nobody
// says so, and new connections pass.
type path struct {
	url string

	server   string
	listener net.Listener
	epoch    atomic.Int64
	dials    atomic.Int64
	running  sync.WaitGroup

	mu   sync.Mutex
	open []net.Conn
}

func startPath(t *testing.T, address string) *path {
	t.Helper()
	u := parse(t, address)
	p := &path{server: u.Host}
	var err error
	if p.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0"); err != nil {
		t.Fatalf("listen: %v", err)
	}
	u.Host = p.listener.Addr().String()
	p.url = u.String()
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listener.Close() // the connections are what matters, and they are closed next
		p.closeAll()
		p.running.Wait()
	})
	return p
}

// forget makes every flow that is there go nowhere.
func (p *path) forget() { p.epoch.Add(1) }

func (p *path) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close() // closed twice is closed
	}
}

func (p *path) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", p.server)
		if err != nil {
			_ = client.Close() // the client sees a server that is not there
			continue
		}
		p.dials.Add(1)
		p.mu.Lock()
		p.open = append(p.open, client, server)
		p.mu.Unlock()
		born := p.epoch.Load()
		p.running.Go(func() { p.carry(server, client, born) })
		p.running.Go(func() { p.carry(client, server, born) })
	}
}

// carry brings what from sends to to, as long as the flow is known.
func (p *path) carry(to io.WriteCloser, from io.Reader, born int64) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		switch known := p.epoch.Load() == born; {
		case err != nil && known:
			_ = to.Close() // an end is carried too
			return
		case err != nil:
			return
		case known:
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
}

// frozen is a bench over a path, whose target's clock can be moved.
func frozen(t *testing.T, connectTimeout time.Duration) (b *applytest.Bench, p *path, sleep func(time.Duration)) {
	t.Helper()
	db := postgrestest.Live(t, itemDDL)
	p = startPath(t, db.URL)
	var slept atomic.Int64
	s := on(t, db, target.Options{
		Database: p.url, ConnectTimeout: connectTimeout,
		Now: func() time.Time { return time.Now().Add(time.Duration(slept.Load())) },
	})
	return s.bench(apply.Options{}), p, func(d time.Duration) { slept.Add(int64(d)) }
}

// TestThaw is about a process that was frozen for a while: nobody told it what became of its connections.
func TestThaw(t *testing.T) {
	t.Parallel()
	t.Run("ASilentlyDeadConnectionIsReplacedLongBeforeTheDeadline", func(t *testing.T) {
		t.Parallel()
		b, p, sleep := frozen(t, 200*time.Millisecond)
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		p.forget()
		sleep(31 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // by the target's clock there is plenty of time
		defer cancel()
		defer time.AfterFunc(patience, cancel).Stop()
		outcome, err := b.Apply(ctx, record.Batch{items(2, 4, "a")})
		b.Check(applytest.Want{Applied: 2, Next: at0(4)}, outcome, err)
		b.MustStand(at0(4), applytest.RowsOf(items(0, 4, "a")))
		if got := p.dials.Load(); got != 2 {
			t.Errorf("%d connections were made, want the first and one in its place", got)
		}
	})
	t.Run("ALivingConnectionIsKept", func(t *testing.T) {
		t.Parallel()
		b, p, sleep := frozen(t, patience)
		for offset := range position.Offset(3) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			outcome, err := b.Apply(ctx, record.Batch{items(offset, offset+1, "a")})
			cancel()
			b.Check(applytest.Want{Applied: 1, Next: at0(offset + 1)}, outcome, err)
			sleep(31 * time.Second)
		}
		if got := p.dials.Load(); got != 1 {
			t.Errorf("%d connections were made, want one", got)
		}
	})
}
