package target_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between a target and its server. It reads what the client sends flight by flight (up to each Sync) and
// does to it what the test says. It counts connections and cancel requests.
type proxy struct {
	url string // leads to the server through the proxy

	server   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	judge   func(flight) verdict
	swallow func() // called when a swallowed reply has come in, before the client is cut
	refuse  bool
	open    map[net.Conn]struct{}
	dials   int
	cancels int
}

// flight is the statements that the client sent in one go.
type flight []string

// commits says whether the flight moves checkpoints and commits.
func (f flight) commits() bool {
	return len(f) > 1 && f[len(f)-1] == "COMMIT" && strings.Contains(f[len(f)-2], ".advance(")
}

// verdict is what becomes of a flight.
type verdict int32

const (
	pass          verdict = iota
	cutBefore             // never forwarded; the client is cut
	swallowReply          // forwarded; the reply is taken away and then the client is cut
	holdReply             // forwarded; the reply is taken away and the client left waiting
	warnInReply           // forwarded; a warning is put before the answer to COMMIT
	rollbackReply         // forwarded; the answer to COMMIT says ROLLBACK
	cutInSync             // forwarded but for the last byte of Sync, so that COMMIT is whole; both are cut
)

// onCommit is a judge that does v to the first flight that commits and lets all else pass.
func onCommit(v verdict) func(flight) verdict {
	var done atomic.Bool
	return func(f flight) verdict {
		if f.commits() && done.CompareAndSwap(false, true) {
			return v
		}
		return pass
	}
}

func startProxy(t *testing.T, address string) *proxy {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatalf("parse the server's address: %v", err)
	}
	p := &proxy{server: target.Host, open: map[net.Conn]struct{}{}}
	if p.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0"); err != nil {
		t.Fatalf("listen: %v", err)
	}
	target.Host = p.listener.Addr().String()
	p.url = target.String()
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listener.Close() // the connections are what matters, and they are closed next
		p.setRefuse(true)
		p.running.Wait()
	})
	return p
}

func (p *proxy) setJudge(judge func(flight) verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

func (p *proxy) onSwallow(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = do
}

// setRefuse closes every connection and all that come, until it is taken back.
func (p *proxy) setRefuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
	for c := range p.open {
		if refuse {
			_ = c.Close() // closed twice is closed
		}
	}
}

// counts are the connections that were opened and the cancel requests that came.
func (p *proxy) counts() (dials, cancels int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials, p.cancels
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

const cancelRequest = 80877102

func (p *proxy) serve(client net.Conn) {
	if !p.track(client) {
		return
	}
	defer p.untrack(client)
	startup, code, err := readStartup(client)
	if err != nil {
		return
	}
	p.mu.Lock()
	if code == cancelRequest {
		p.cancels++
	} else {
		p.dials++
	}
	p.mu.Unlock()
	if code == cancelRequest {
		return
	}
	server, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", p.server)
	if err != nil || !p.track(server) {
		return
	}
	defer p.untrack(server)
	if _, err := server.Write(startup); err != nil {
		return
	}
	var reply atomic.Int32
	p.running.Go(func() { p.answer(server, client, &reply) })
	p.ask(client, server, &reply)
}

func (p *proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		_ = c.Close() // refused: nobody listens to the error
		return false
	}
	p.open[c] = struct{}{}
	return true
}

func (p *proxy) untrack(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	_ = c.Close() // closed twice is closed
}

// ask forwards the client's flights.
func (p *proxy) ask(client, server net.Conn, reply *atomic.Int32) {
	var pending []byte
	var statements flight
	for {
		message, err := readMessage(client)
		if err != nil {
			return
		}
		pending = append(pending, message...)
		switch message[0] {
		case 'P': // Parse: the statement's name, then its text, each with a zero behind
			_, rest, _ := bytes.Cut(message[5:], []byte{0})
			text, _, _ := bytes.Cut(rest, []byte{0})
			statements = append(statements, string(text))
			continue
		case 'B', 'D', 'E', 'C', 'H':
			continue
		}
		v := p.verdictOn(statements)
		switch v {
		case cutBefore:
			return
		case cutInSync:
			_, _ = server.Write(pending[:len(pending)-1]) // the server is cut next
			return
		case pass, swallowReply, holdReply, warnInReply, rollbackReply:
		}
		reply.Store(int32(v))
		if _, err := server.Write(pending); err != nil {
			return
		}
		pending, statements = nil, nil
	}
}

func (p *proxy) verdictOn(f flight) verdict {
	p.mu.Lock()
	judge := p.judge
	p.mu.Unlock()
	if judge == nil || len(f) == 0 {
		return pass
	}
	return judge(f)
}

// answer brings the server's messages to the client. Its end cuts the client.
func (p *proxy) answer(server, client net.Conn, reply *atomic.Int32) {
	defer p.untrack(client)
	for {
		message, err := readMessage(server)
		if err != nil {
			return
		}
		switch v := verdict(reply.Load()); {
		case v == swallowReply && message[0] == 'Z':
			p.mu.Lock()
			do := p.swallow
			p.mu.Unlock()
			if do != nil {
				do()
			}
			return
		case v == swallowReply, v == holdReply:
			continue
		case v == warnInReply && message[0] == 'C' && string(message[5:]) == "COMMIT\x00":
			message = append(warning(), message...)
		case v == rollbackReply && message[0] == 'C' && string(message[5:]) == "COMMIT\x00":
			message = append([]byte{'C', 0, 0, 0, 13}, "ROLLBACK\x00"...)
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

// warning is the NoticeResponse of a server that gave up waiting for its standby.
func warning() []byte {
	body := "SWARNING\x00VWARNING\x00C01000\x00Mcanceling wait for synchronous replication due to user request\x00\x00"
	return append(binary.BigEndian.AppendUint32([]byte{'N'}, uint32(len(body)+4)), body...) //nolint:gosec // a short text
}

func readStartup(r io.Reader) (message []byte, code uint32, err error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, 0, err
	}
	return readBody(r, head, int(binary.BigEndian.Uint32(head))-len(head)), binary.BigEndian.Uint32(head[4:]), nil
}

var errShort = errors.New("the message ends early")

func readMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[1:])) - 4
	message := readBody(r, head, n)
	if len(message) != n+len(head) {
		return nil, errShort
	}
	return message, nil
}

// readBody appends up to n bytes to head.
func readBody(r io.Reader, head []byte, n int) []byte {
	body := make([]byte, n)
	read, _ := io.ReadFull(r, body) // a short read shows in the length
	return append(head, body[:read]...)
}
