package harness

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
)

// link is one client's connection and its counterpart at the server. Two goroutines serve it, one a direction.
type link struct {
	proxy *Proxy

	// of the client's direction alone
	client     net.Conn
	fromClient *bufio.Reader
	statements map[string]string // text by name of a prepared statement
	portals    map[string]string // text by name of a portal

	done chan struct{} // closed when the link is

	mu        sync.Mutex
	server    net.Conn // nil until the client has said what it wants
	serverPID uint32
	pending   []expectation
	failed    bool // the server passes over statements until the next sync
	closed    bool
	orphan    bool // the client's side was closed alone
}

// expectation is an answer that the server owes.
type expectation struct {
	kind  byte
	after *watch // acts when the answer comes
}

// The kinds of expectations. A COPY owes three answers: that it takes rows, that it has them, that the server is ready.
const (
	ofStatement = 'E' // one of a pipeline
	ofSync      = 'S'
	ofQuery     = 'Q' // a statement or a start-up that ends when the server is ready
	ofCopy      = 'G'
	ofCopyEnd   = 'c'
	ofCopyData  = 'd' // never answered
)

// watch is a trigger that waits for its effect to be executed.
type watch struct {
	trigger *armed
	effect  Effect
	over    chan struct{} // closed when the connection goes on
}

var errCut = errors.New("the connection is cut")

func newLink(p *Proxy, client net.Conn) *link {
	return &link{
		proxy: p, client: client, fromClient: bufio.NewReader(client), done: make(chan struct{}),
		statements: map[string]string{}, portals: map[string]string{},
	}
}

// serve passes messages on until one side is gone. The reasons are the sides' own and nobody's here.
func (l *link) serve() {
	opening, ok := l.readStartup()
	if !ok {
		return
	}
	var answering sync.WaitGroup
	err := l.step(ofQuery, Connect, opening, func() error {
		if err := l.dial(); err != nil {
			return err
		}
		answering.Go(l.answer)
		return nil
	})
	for err == nil {
		var message frame
		if message, err = readFrame(l.fromClient); err == nil {
			err = l.forward(message)
		}
	}
	l.end()
	answering.Wait()
}

// end closes the link when one of its sides is gone, unless an act has orphaned the server's.
func (l *link) end() {
	l.mu.Lock()
	orphan := l.orphan
	l.mu.Unlock()
	if !orphan {
		l.close(Cut)
	}
}

// close carries out Cut or Orphan. Cut may follow Orphan.
func (l *link) close(v Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed, l.orphan = true, v == Orphan
		close(l.done)
		_ = l.client.Close() // whatever was under way is meant to be lost
	}
	if v == Cut && l.server != nil {
		_ = l.server.Close() // as above
	}
}

// readStartup reads up to the message that starts a session. Encryption is refused, a cancel request swallowed.
func (l *link) readStartup() (frame, bool) {
	for {
		opening, code, err := readOpening(l.fromClient)
		if err != nil {
			return frame{}, false
		}
		switch code {
		case codeSSL, codeGSS:
			if _, err := l.client.Write([]byte{'N'}); err != nil {
				return frame{}, false
			}
		case codeCancel:
			l.proxy.countCancel()
			return frame{}, false
		default:
			return opening, true
		}
	}
}

func (l *link) dial() error {
	server, err := net.Dial("tcp4", l.proxy.upstream) //nolint:noctx // loopback: it answers or refuses at once
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.Join(errCut, server.Close())
	}
	l.server = server
	return nil
}

// forward passes one message of the client on.
func (l *link) forward(message frame) error {
	switch message.kind {
	case 'P':
		names := message.texts(2)
		l.statements[names[0]] = l.proxy.matcher.describe(names[1])
	case 'B':
		names := message.texts(2)
		l.portals[names[0]] = l.statements[names[1]]
	case 'E':
		return l.step(ofStatement, l.portals[message.texts(1)[0]], message, nil)
	case 'Q':
		return l.forwardQuery(message)
	case 'd', 'c', 'f':
		return l.forwardCopy(message)
	case 'S':
		l.expect(expectation{kind: ofSync})
	}
	return l.send(message)
}

func (l *link) forwardQuery(message frame) error {
	sql, kind := message.texts(1)[0], byte(ofQuery)
	if l.proxy.matcher.copiesIn(sql) {
		kind = ofCopy
	}
	return l.step(kind, l.proxy.matcher.describe(sql), message, nil)
}

// forwardCopy passes on a part of a COPY. Behind an error that ended the COPY it is no effect: the server ignores it.
func (l *link) forwardCopy(message frame) error {
	switch {
	case !l.isCopying():
		return l.send(message)
	case message.kind == 'd':
		return l.step(ofCopyData, CopyData, message, nil)
	case message.kind == 'f':
		return l.step(ofCopyEnd, CopyFail, message, nil)
	}
	return l.step(ofCopyEnd, CopyDone, message, nil)
}

func (l *link) isCopying() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.copyEnd() >= 0
}

// copyEnd is the place of the end of a COPY in the pending list, -1 if none is under way.
func (l *link) copyEnd() int {
	return slices.IndexFunc(l.pending, func(e expectation) bool { return e.kind == ofCopyEnd })
}

// step passes an effect on and lets the trigger act that it meets. before runs between a trigger that acts before the
// effect and the effect.
func (l *link) step(kind byte, text string, message frame, before func() error) error {
	effect, trigger := l.proxy.number(text)
	if trigger != nil && !trigger.After {
		if !l.pass(l.proxy.fire(trigger, Point{Effect: effect, ServerPID: l.pid()})) {
			return errCut
		}
		trigger = nil
	}
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	if trigger == nil {
		l.expect(expectation{kind: kind})
		return l.send(message)
	}
	return l.stepAndWait(kind, message, &watch{trigger: trigger, effect: effect, over: make(chan struct{})})
}

// stepAndWait passes an effect on and stands still until its trigger has acted. The start of a connection needs more
// messages from the client, so only what comes behind it waits.
func (l *link) stepAndWait(kind byte, message frame, w *watch) error {
	l.expect(expectation{kind: kind, after: w})
	if err := l.send(message); err != nil {
		return err
	}
	switch {
	case w.effect.Text == Connect:
		return nil
	case kind == ofStatement:
		if err := l.send(askForAnswers()); err != nil {
			return err
		}
	case kind == ofCopyData:
		l.settle(w) // that the server has it is as much as can be known
	}
	select {
	case <-w.over:
		return nil
	case <-l.done:
		return errCut
	}
}

func (l *link) send(message frame) error {
	_, err := l.server.Write(message.raw)
	return err
}

// expect notes an answer that the server owes. What it will pass over counts as answered at once.
func (l *link) expect(e expectation) {
	l.mu.Lock()
	owed := l.note(e)
	l.mu.Unlock()
	if !owed && e.after != nil {
		l.settle(e.after)
	}
}

// note puts an answer on the pending list and says whether the server will not pass over its effect.
func (l *link) note(e expectation) bool {
	switch {
	case e.kind == ofStatement && l.failed:
		return false
	case e.kind == ofCopyEnd:
		end := l.copyEnd()
		if end >= 0 {
			l.pending[end].after = e.after
		}
		return end >= 0
	case e.kind == ofCopy:
		l.pending = append(l.pending, e, expectation{kind: ofCopyEnd}, expectation{kind: ofQuery})
	case e.kind != ofCopyData:
		l.pending = append(l.pending, e)
	}
	return true
}

// answer passes the server's messages on to the client. It returns when the server's side is closed.
func (l *link) answer() {
	fromServer := bufio.NewReader(l.server)
	for {
		message, err := readFrame(fromServer)
		if err != nil || !l.deliver(message) {
			break
		}
	}
	l.end()
	_, _ = io.Copy(io.Discard, fromServer) // what an orphan still says
}

// deliver gives a message to the client, after the watches on what it answers, and says whether the connection goes on.
func (l *link) deliver(message frame) bool {
	for _, w := range l.answered(message) {
		if !l.settle(w) {
			return false
		}
	}
	_, err := l.client.Write(message.raw)
	return err == nil
}

// settle lets a watch act and says whether the connection goes on. The server of an orphan gets the end of the round trip
// that its client had sent.
func (l *link) settle(w *watch) bool {
	verdict := l.proxy.fire(w.trigger, Point{Effect: w.effect, ServerPID: l.pid()})
	if verdict == Orphan && w.effect.Text != Connect {
		_ = l.send(endOfTrip()) // a server that is gone has no session to leave
	}
	if !l.pass(verdict) {
		return false
	}
	close(w.over)
	return true
}

// answered takes what a message answers off the pending list and returns the watches among it.
func (l *link) answered(message frame) []*watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch message.kind {
	case 'K':
		l.serverPID = binary.BigEndian.Uint32(message.body)
	case 'C', 'I', 's': // done, empty, suspended
		if l.isNext(ofStatement) || l.isNext(ofCopyEnd) {
			return l.take(1)
		}
	case 'G':
		if l.isNext(ofCopy) {
			return l.take(1)
		}
	case 'E':
		l.failed = true
		return l.take(l.untilReady())
	case 'Z':
		l.failed = false
		return l.take(min(l.untilReady()+1, len(l.pending)))
	}
	return nil
}

func (l *link) isNext(kind byte) bool { return len(l.pending) > 0 && l.pending[0].kind == kind }

// untilReady counts what is owed before the server is ready again: an error is the answer to all of it.
func (l *link) untilReady() int {
	n := 0
	for n < len(l.pending) && l.pending[n].kind != ofSync && l.pending[n].kind != ofQuery {
		n++
	}
	return n
}

func (l *link) take(n int) []*watch {
	var watches []*watch
	for _, e := range l.pending[:n] {
		if e.after != nil {
			watches = append(watches, e.after)
		}
	}
	l.pending = l.pending[n:]
	return watches
}

func (l *link) pid() uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serverPID
}

// pass carries out a verdict and says whether the connection goes on.
func (l *link) pass(v Verdict) bool {
	if v != Pass {
		l.close(v)
	}
	return v == Pass
}
