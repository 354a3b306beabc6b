//go:build drill

package drill_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/localstack/runtimeapi"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/tests/internal/harness"
)

// The effects that drills aim at by name.
const (
	lastQuestion = "select tidemark.target" // ends the first round trip
	firstWrite   = "insert shop.basket"     // begins the second
	commit       = "commit"
)

// TestSamePartition lets two processes hold the same partitions at once: every effect comes once, whoever brings it.
func TestSamePartition(t *testing.T) {
	t.Parallel()
	t.Run("OneWaitsThenSkips", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.newLambda(t, lambdaOptions{}).settle(t, w.batch(nil, w.first), 1)
		oneWaitsThenSkips(t, w, w.batch(w.first, w.end()))
	})
	// There is no checkpoint yet whose lock one of them could wait for.
	t.Run("OneWaitsAtFirstContact", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.history, w.first = oneByOne()
		oneWaitsThenSkips(t, w, w.batch(nil, w.end()))
	})
	t.Run("TheOtherOfAFrozenOneRetries", theOtherOfAFrozenOneRetries)
	t.Run("AFrozenOneThatTimedOutIsNobody", aFrozenOneThatTimedOutIsNobody)
	t.Run("ALostSessionHoldsThePartitionBriefly", aLostSessionHoldsThePartitionBriefly)
	t.Run("ALostSessionBeforeCommitIsUnknown", aLostSessionBeforeCommitIsUnknown)
	t.Run("ALostSessionWithinCopyIsNothing", aLostSessionWithinCopyIsNothing)
}

// start delivers in the background.
func (l *lambda) start(t *testing.T, batch record.Batch) <-chan invocation {
	t.Helper()
	payload := event(t, batch)
	ended := make(chan invocation, 1)
	joined := make(chan struct{})
	t.Cleanup(func() {
		l.Stop()
		<-joined
	})
	go func() {
		defer close(joined)
		reply, err := l.Invoke(t.Context(), payload)
		ended <- invocation{reply, err}
	}()
	return ended
}

// invocation is how a delivery in the background ended.
type invocation struct {
	reply []byte
	err   error
}

// done waits for a delivery in the background and verifies the target as deliver does.
func (l *lambda) done(t *testing.T, batch record.Batch, ended <-chan invocation) delivery {
	t.Helper()
	end := receive(t, "the end of an invocation", ended)
	return l.judge(t, batch, end.reply, end.err)
}

// awaitLockWait returns when a session of the target waits for a lock.
func (w *world) awaitLockWait(t *testing.T) {
	t.Helper()
	await(t, "a session that waits for a lock", func() bool {
		return w.ask(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") != "0"
	})
}

// ask is one value as text.
func (w *world) ask(t *testing.T, sql string, args ...any) string {
	t.Helper()
	var text string
	if err := w.db.Conn.QueryRow(t.Context(), "SELECT ("+sql+")::text", args...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// hold is an act that lets the connection stand still until release is called. Releasing twice is fine.
func hold(t *testing.T) (act func(harness.Point) harness.Verdict, release func()) {
	t.Helper()
	gate := make(chan struct{}, 1)
	release = func() {
		select {
		case gate <- struct{}{}:
		default:
		}
	}
	t.Cleanup(release)
	return func(harness.Point) harness.Verdict {
		<-gate
		return harness.Pass
	}, release
}

// oneWaitsThenSkips holds one process between its round trips until the other waits for it.
func oneWaitsThenSkips(t *testing.T, w *world, batch record.Batch) {
	t.Helper()
	first, second := w.newLambda(t, lambdaOptions{}), w.newLambda(t, lambdaOptions{})
	act, release := hold(t)
	held := first.proxy.Arm(harness.Trigger{Text: firstWrite, Act: act})
	firstEnd := first.start(t, batch)
	receive(t, "the first between its round trips", held)
	secondEnd := second.start(t, batch)
	w.awaitLockWait(t)
	release()
	if d := first.done(t, batch, firstEnd); !d.done {
		t.Errorf("the first: %v", d.err)
	}
	if d := second.done(t, batch, secondEnd); !d.done {
		t.Errorf("the second: %v", d.err)
	}
	w.ends(t, w.end())
	for _, l := range second.log() {
		if l.Applied != 0 || l.Msg == "batch applied" && l.Skipped == 0 {
			t.Errorf("the second applied %d and skipped %d records of %s/%d", l.Applied, l.Skipped, l.Topic, l.Partition)
		}
	}
}

// freeze stops the process where it is: when the server has answered, before it hears the answer.
func (l *lambda) freeze(t *testing.T) func(harness.Point) harness.Verdict {
	t.Helper()
	return func(harness.Point) harness.Verdict {
		if err := l.Freeze(); err != nil {
			t.Errorf("freeze the process: %v", err)
		}
		return harness.Pass
	}
}

const shortTimeout = 2 * time.Second // of an invocation that is meant to run into it

func theOtherOfAFrozenOneRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := w.batch(w.first, w.end())
	frozen, other := w.newLambda(t, lambdaOptions{}), w.newLambda(t, lambdaOptions{timeout: shortTimeout})
	frozen.settle(t, w.batch(nil, w.first), 1)
	stopped := frozen.proxy.Arm(harness.Trigger{Text: lastQuestion, After: true, Act: frozen.freeze(t)})
	end := frozen.start(t, batch)
	receive(t, "the process between its round trips", stopped)

	d := other.deliver(t, batch)
	if d.done || !strings.Contains(failure(d.err).Message, "55P03") || !strings.HasPrefix(failure(d.err).Message, "retryable: ") {
		t.Errorf("the other: done %v, %v; want a lock that was not had in time, retryable", d.done, d.err)
	}
	w.ends(t, w.first)
	if err := frozen.Thaw(); err != nil {
		t.Fatal(err)
	}
	if d := frozen.done(t, batch, end); !d.done {
		t.Errorf("the thawed one held the lock all the time and did not apply: %v", d.err)
	}
	w.ends(t, w.end())
	other.settle(t, batch, 1)
	w.ends(t, w.end())
}

// failure is the error that a function reported, empty when it reported none.
func failure(err error) runtimeapi.FunctionError {
	if reported, ok := errors.AsType[*runtimeapi.FunctionError](err); ok {
		return *reported
	}
	return runtimeapi.FunctionError{}
}

// The host gives the frozen process up at its time-out and thaws it for its last moments, as Lambda may.
func aFrozenOneThatTimedOutIsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := w.batch(w.first, w.end())
	frozen, other := w.newLambda(t, lambdaOptions{timeout: time.Second}), w.newLambda(t, lambdaOptions{})
	other.settle(t, w.batch(nil, w.first), 1)
	stopped := frozen.proxy.Arm(harness.Trigger{Text: lastQuestion, After: true, Act: frozen.freeze(t)})
	end := frozen.start(t, batch)
	receive(t, "the process between its round trips", stopped)
	otherEnd := other.start(t, batch)
	w.awaitLockWait(t)
	if d := frozen.done(t, batch, end); !errors.Is(d.err, runtimeapi.ErrTimedOut) {
		t.Errorf("the frozen one: %v, want a time-out", d.err)
	}
	if d := other.done(t, batch, otherEnd); !d.done {
		other.settle(t, batch, 1)
	}
	w.ends(t, w.end())
}

// aLostSessionHoldsThePartitionBriefly leaves the server between two round trips with a client that is gone, as a dead
// network does. Its locks end with the time that the function gave its transaction.
func aLostSessionHoldsThePartitionBriefly(t *testing.T) {
	t.Parallel()
	o := newOrphan(t, withoutTruncated(newWorld(t)), harness.Trigger{Text: lastQuestion, After: true})
	o.lambda.settle(t, o.batch, 6)
	o.lambda.world.ends(t, o.end)
}

// aLostSessionBeforeCommitIsUnknown loses the network within the second round trip: the server has everything but COMMIT,
// holds the locks and waits. Nobody is told that anything is applied until the server has found out.
func aLostSessionBeforeCommitIsUnknown(t *testing.T) {
	t.Parallel()
	o := newOrphan(t, withoutTruncated(newWorld(t)), harness.Trigger{Text: commit})
	if !strings.HasPrefix(failure(o.broken.err).Message, "unknown_outcome: ") {
		t.Errorf("got %v, want an unknown outcome: the server still has the transaction", o.broken.err)
	}
	o.endsWithItsSession(t)
}

// aLostSessionWithinCopyIsNothing loses the network when the server has rows of a COPY and waits for more, which no time
// limit ends. COMMIT was never sent, so it is certain that nothing was applied.
func aLostSessionWithinCopyIsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history, w.first = manyNew(false)
	o := newOrphan(t, w, harness.Trigger{Text: harness.CopyDone})
	if !strings.HasPrefix(failure(o.broken.err).Message, "retryable: ") {
		t.Errorf("got %v, want it retryable: the server has no COMMIT", o.broken.err)
	}
	w.ends(t, w.first)
	o.endsWithItsSession(t)
}

// orphan is a process whose session was lost in its second delivery while the server's side lives on.
type orphan struct {
	lambda *lambda
	batch  record.Batch
	end    position.Cut
	broken delivery // the one with the fault
	at     harness.Point
}

// withoutTruncated takes what follows the first delivery out of the table that is truncated: its lock would keep the drill
// from reading.
func withoutTruncated(w *world) *world {
	p := basket.partition(0)
	w.records[p] = w.records[p][:w.first[p]]
	return w
}

func newOrphan(t *testing.T, w *world, trigger harness.Trigger) *orphan {
	t.Helper()
	o := &orphan{lambda: w.newLambda(t, lambdaOptions{timeout: shortTimeout}), batch: w.batch(w.first, w.end()), end: w.end()}
	o.lambda.settle(t, w.batch(nil, w.first), 1)
	trigger.Act = func(harness.Point) harness.Verdict { return harness.Orphan }
	left := o.lambda.proxy.Arm(trigger)
	o.broken = o.lambda.deliver(t, o.batch)
	o.at = receive(t, "an orphaned session", left)
	if o.broken.done {
		t.Error("the partition was applied while a lost session held it")
	}
	return o
}

// endsWithItsSession holds that the lost session keeps everyone out until it is ended, and nobody for longer.
func (o *orphan) endsWithItsSession(t *testing.T) {
	t.Helper()
	if d := o.lambda.deliver(t, o.batch); d.done || !strings.HasPrefix(failure(d.err).Message, "retryable: ") {
		t.Errorf("done %v, %v; want it retryable while the lost session holds the lock", d.done, d.err)
	}
	o.lambda.world.ask(t, "SELECT pg_terminate_backend($1)", int64(o.at.ServerPID))
	o.lambda.settle(t, o.batch, 1)
	o.lambda.world.ends(t, o.end)
}

// TestFrozenAfterCommit stops a process when its COMMIT is executed, until the server has ended its session.
func TestFrozenAfterCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.newLambda(t, lambdaOptions{})
	l.settle(t, w.batch(nil, w.first), 1)
	batch := w.batch(w.first, w.end())
	stopped := l.proxy.Arm(harness.Trigger{Text: commit, After: true, Act: l.freeze(t)})
	end := l.start(t, batch)
	at := receive(t, "the process behind its COMMIT", stopped)
	w.ends(t, w.end())
	const session = "FROM pg_stat_activity WHERE pid = $1"
	await(t, "an idle session", func() bool {
		return w.ask(t, "SELECT count(*) "+session+" AND state = 'idle'", int64(at.ServerPID)) == "1"
	})
	w.ask(t, "SELECT pg_terminate_backend($1)", int64(at.ServerPID))
	await(t, "the end of the session", func() bool {
		return w.ask(t, "SELECT count(*) "+session, int64(at.ServerPID)) == "0"
	})
	if err := l.Thaw(); err != nil {
		t.Fatal(err)
	}
	if d := l.done(t, batch, end); !d.done {
		t.Errorf("its COMMIT was answered, yet it says %v", d.err)
	}
	l.settle(t, batch, 1) // over a new connection, without a failed delivery
	w.ends(t, w.end())
}
