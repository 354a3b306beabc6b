//go:build drill

package recovery_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire is a proxy before a broker. It numbers the requests that pass, cuts a connection at one of them, and has clients come
// back to itself: in what the broker says of the cluster it puts its own address.
type wire struct {
	upstream string
	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex
	requests []string
	fault    wireFault
	fired    bool
	open     map[net.Conn]struct{}
	closed   bool
}

// wireFault is what happens at a request. It is named by its kind: how many of another kind come before it differs from run to run.
type wireFault struct {
	request
	after bool
	act   func() // may be nil
}

// request is the nth of a kind, from 1 on; 0: none.
type request struct {
	kind string
	nth  int
}

// String names it for a person.
func (r request) String() string { return fmt.Sprintf("%s %d", r.kind, r.nth) }

func newWire(t *testing.T, upstream string) *wire {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{upstream: upstream, listener: listener, open: map[net.Conn]struct{}{}}
	w.serving.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// arm counts requests from 1 again.
func (w *wire) arm(fault wireFault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.fault, w.fired = nil, fault, false
}

// seen are the requests since arm, and whether the fault has acted.
func (w *wire) seen() (requests []string, fired bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests), w.fired
}

func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	_ = w.listener.Close() // it is the end
	for c := range w.open {
		_ = c.Close() // as above
	}
	w.mu.Unlock()
	w.serving.Wait()
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			w.serving.Go(func() { w.serve(client) })
		}
	}
}

// hold keeps a connection for close, or says that it is too late.
func (w *wire) hold(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.open[c] = struct{}{}
	}
	return !w.closed
}

func (w *wire) drop(c net.Conn) {
	_ = c.Close() // whatever was under way is meant to be lost
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
}

// asked is a request whose answer the broker owes.
type asked struct {
	key, version int16
	act          func() // before the answer is lost; nil: it is passed on
}

// serve passes requests on until one side is gone.
func (w *wire) serve(client net.Conn) {
	defer w.drop(client)
	broker, err := net.Dial("tcp4", w.upstream) //nolint:noctx // loopback: it answers or refuses at once
	if err != nil || !w.hold(client) || !w.hold(broker) {
		return
	}
	defer w.drop(broker)
	owed := make(chan asked, 100) // more than a client has under way
	defer close(owed)
	w.serving.Go(func() {
		defer w.drop(client)
		w.answer(client, broker, owed)
	})
	for {
		frame, err := readFrame(client)
		const header = 4
		if err != nil || len(frame) < header {
			return
		}
		a := asked{key: int16(binary.BigEndian.Uint16(frame)), version: int16(binary.BigEndian.Uint16(frame[2:]))} //nolint:gosec // so it is on the wire
		if !w.pass(&a) || writeFrame(broker, frame) != nil {
			return
		}
		owed <- a
	}
}

// pass counts a request, lets the fault act that comes before it, and says whether it is passed on.
func (w *wire) pass(a *asked) bool {
	w.mu.Lock()
	came := nthOf(append(w.requests, kmsg.NameForKey(a.key)))
	w.requests = append(w.requests, came.kind)
	fault := w.fault
	met := fault.request == came
	w.mu.Unlock()
	if !met {
		return true
	}
	act := func() {
		w.mu.Lock()
		w.fired = true // before it acts: whoever sees the process end asks at once
		w.mu.Unlock()
		if fault.act != nil {
			fault.act()
		}
	}
	if fault.after {
		a.act = act
		return true
	}
	act()
	return false
}

// nthOf is the last of some requests, counted among those of its kind.
func nthOf(kinds []string) request {
	last := request{kind: kinds[len(kinds)-1]}
	for _, kind := range kinds {
		if kind == last.kind {
			last.nth++
		}
	}
	return last
}

// answer passes answers on, in the order of the requests.
func (w *wire) answer(client, broker net.Conn, owed <-chan asked) {
	for a := range owed {
		frame, err := readFrame(broker)
		if err == nil && a.act != nil {
			a.act()
			return
		}
		if err == nil && a.key == kmsg.Metadata.Int16() {
			frame, err = w.readdress(frame, a.version)
		}
		if err != nil || writeFrame(client, frame) != nil {
			return
		}
	}
}

// readdress puts the proxy's port into what the broker says of the cluster.
func (w *wire) readdress(frame []byte, version int16) ([]byte, error) {
	_, text, err := net.SplitHostPort(w.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, err
	}
	answer := kmsg.NewPtrMetadataResponse()
	answer.SetVersion(version)
	header := 4 // the request's number
	if answer.IsFlexible() {
		header++ // and no tags
	}
	if err := answer.ReadFrom(frame[header:]); err != nil {
		return nil, err
	}
	for i := range answer.Brokers {
		answer.Brokers[i].Port = int32(port)
	}
	return answer.AppendTo(frame[:header:header]), nil
}

func readFrame(from io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	const most = 100 << 20
	n := binary.BigEndian.Uint32(length[:])
	if n > most {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(from, frame)
	return frame, err
}

func writeFrame(to io.Writer, frame []byte) error {
	_, err := to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)) //nolint:gosec // it was read so
	return err
}
