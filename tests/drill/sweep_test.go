//go:build drill

package drill_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/tests/internal/harness"
)

// form is one way in which an effect can go wrong.
type form struct {
	name    string
	trigger func(t *testing.T, l *lambda, number int) harness.Trigger
	// after judges where the target stands directly after the fault at number of effects, where that is certain.
	after func(number, effects int) verdict
}

// verdict is what is certain of a delivery with a fault in it.
type verdict uint8

const (
	uncertain verdict = iota // applied and said so, or neither
	untouched                // nothing is applied
	applied                  // all is applied, whoever was told
	replied                  // all is applied and the function said so
)

// forms are those of a mode. What an administrator or a signal does needs no process that starts anew, and no second sweep
// over effects that are alike.
func forms(m mode) []form {
	if m.warm && !m.alike {
		return append(breaks(), form{"SessionEnded", sessionEnded, never}, form{"SignalBefore", signalBefore, never})
	}
	return breaks()
}

func breaks() []form {
	return []form{
		{"ErrorBefore", func(_ *testing.T, _ *lambda, number int) harness.Trigger {
			return harness.ErrorBefore(number)
		}, never},
		{"ReplyDropped", func(_ *testing.T, _ *lambda, number int) harness.Trigger {
			return harness.ReplyDropped(number)
		}, func(number, effects int) verdict {
			if number == effects {
				return replied // the ledger decides within the invocation
			}
			return uncertain
		}},
		{"KillBefore", func(_ *testing.T, l *lambda, number int) harness.Trigger {
			return harness.KillBefore(number, l.kill)
		}, func(int, int) verdict { return untouched }},
		{"KillAfter", func(_ *testing.T, l *lambda, number int) harness.Trigger {
			return harness.KillAfter(number, l.kill)
		}, func(number, effects int) verdict {
			if number == effects {
				return applied
			}
			return untouched
		}},
	}
}

func never(int, int) verdict { return uncertain }

// sessionEnded lets an administrator end the server's session when it has executed the effect.
func sessionEnded(t *testing.T, l *lambda, number int) harness.Trigger {
	t.Helper()
	return harness.Trigger{Number: number, After: true, Act: func(at harness.Point) harness.Verdict {
		conn, err := pgx.Connect(t.Context(), l.world.address.String())
		if err != nil {
			t.Errorf("connect as administrator: %v", err)
			return harness.Pass
		}
		defer func() { _ = conn.Close(t.Context()) }() // what counts is the statement
		if _, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend($1)", int64(at.ServerPID)); err != nil {
			t.Errorf("end the session: %v", err)
		}
		return harness.Pass
	}}
}

// signalBefore sends SIGTERM, as Lambda does before it takes an environment away, and lets the invocation go on.
func signalBefore(t *testing.T, l *lambda, number int) harness.Trigger {
	t.Helper()
	return harness.Trigger{Number: number, Act: func(harness.Point) harness.Verdict {
		if err := syscall.Kill(l.Pid(), syscall.SIGTERM); err != nil {
			t.Errorf("signal the process: %v", err)
		}
		return harness.Pass
	}}
}

// mode is in what state the process meets the fault, and in which delivery.
type mode struct {
	name    string
	warm    bool                            // the process has delivered before and holds a connection
	alike   bool                            // but for a few effects, another mode's delivery is the same
	history func() (*history, position.Cut) // all of it, and where its first delivery ends
	wanted  []effects                       // what the delivery with the fault must hold, each without a gap
}

// effects are the texts of effects that follow each other.
type effects []string

func (e effects) String() string { return strings.Join(e, "\n  ") }

// hold says whether others are among them, in one piece.
func (e effects) hold(others effects) bool {
	for i := range e {
		if n := i + len(others); n <= len(e) && slices.Equal(e[i:n], others) {
			return true
		}
	}
	return false
}

func modes() []mode {
	const writes, changes, deletes = "insert shop.crate in bulk", "update shop.crate in bulk", "delete shop.crate in bulk"
	copied := effects{
		"savepoint", "copy shop.crate", harness.CopyData, harness.CopyData, harness.CopyData, harness.CopyDone,
	}
	behind := effects{changes, "insert shop.journal", "delete shop.journal", "update shop.orders", "select tidemark.advance", commit}
	return []mode{
		{name: "Cold", history: everyKind},
		{name: "Warm", warm: true, history: everyKind, wanted: []effects{
			// rows as a whole, cells of rows, rows made anew, new rows; rows that may be gone, rows that must be there
			{writes, changes, writes, writes, deletes, deletes},
		}},
		{name: "Copy", warm: true, history: func() (*history, position.Cut) { return manyNew(false) }, wanted: []effects{
			slices.Concat(copied, effects{"release"}, behind),
		}},
		{
			name: "CopyRefused", warm: true, alike: true, history: func() (*history, position.Cut) { return manyNew(true) },
			wanted: []effects{slices.Concat(copied, effects{"rollback to savepoint", "release", writes}, behind)},
		},
	}
}

// tally counts what a sweep reached.
type tally struct{ effects, forms, reached, again atomic.Int64 }

// TestSweep numbers every effect of a delivery and runs each number in each form. Cold, a process connects, learns what
// the ledger and two tables are and applies their records; warm, it applies changes of every kind. Copy brings new rows
// in by COPY, of which the proxy numbers every message; in CopyRefused one of them is there already, so COPY fails, goes
// back to its savepoint, and a bulk upsert follows.
func TestSweep(t *testing.T) {
	t.Parallel()
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var sum tally
			t.Cleanup(func() {
				want := sum.effects.Load() * sum.forms.Load()
				t.Logf("%s: %d effects × %d forms: %d faults reached of %d, %d of them delivered again",
					m.name, sum.effects.Load(), sum.forms.Load(), sum.reached.Load(), want, sum.again.Load())
				if got := sum.reached.Load(); got != want || want == 0 {
					t.Errorf("%d faults were reached, want %d", got, want)
				}
			})
			found := cleanRun(t, m)
			sum.effects.Store(int64(len(found)))
			for _, f := range forms(m) {
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					sum.forms.Add(1)
					newSweep(t, m, f).run(t, found, &sum)
				})
			}
		})
	}
}

// sweep runs one form in one mode.
type sweep struct {
	mode   mode
	form   form
	lambda *lambda
	begin  position.Cut
	end    position.Cut
	batch  record.Batch
}

func newSweep(t *testing.T, m mode, f form) *sweep {
	t.Helper()
	w := newWorld(t)
	w.history, w.first = m.history()
	s := &sweep{mode: m, form: f, lambda: w.newLambda(t, lambdaOptions{}), begin: position.Cut{}, end: w.end()}
	if m.warm {
		s.begin = w.first
	} else { // two tables' catalogs are enough to read
		delete(s.end, orders.partition(0))
		delete(s.end, orders.partition(1))
		delete(s.end, crate.partition(0))
	}
	s.batch = w.batch(s.begin, s.end)
	return s
}

// prepare brings target and process to where the fault shall meet them.
func (s *sweep) prepare(t *testing.T) {
	t.Helper()
	s.lambda.kill()
	s.lambda.proxy.Watch()
	s.lambda.world.reset(t)
	if s.mode.warm {
		s.lambda.settle(t, s.lambda.world.batch(nil, s.begin), 1)
	}
}

// cleanRun delivers without a fault and lists the effects.
func cleanRun(t *testing.T, m mode) effects {
	t.Helper()
	s := newSweep(t, m, form{})
	s.prepare(t)
	s.lambda.proxy.Watch()
	s.lambda.settle(t, s.batch, 1)
	s.lambda.world.ends(t, s.end)
	var found effects
	var list strings.Builder
	for _, e := range s.lambda.proxy.Effects() {
		found = append(found, e.Text)
		list.WriteString("\n  " + e.String())
	}
	t.Logf("%s: %d effects%s", m.name, len(found), &list)
	if n := len(found); n == 0 || found[n-1] != commit {
		t.Fatal("the last effect of a delivery is not its COMMIT")
	}
	for _, want := range m.wanted {
		if !found.hold(want) {
			t.Errorf("%s: among its effects there must be, one behind the other:\n  %s", m.name, want)
		}
	}
	return found
}

func (s *sweep) run(t *testing.T, found effects, sum *tally) {
	t.Helper()
	for i, text := range found {
		again := s.one(t, harness.Effect{Number: i + 1, Text: text}, len(found))
		sum.again.Add(int64(again))
		if t.Failed() {
			t.Fatalf("%s %s at effect %d %s; output:\n%s", s.mode.name, s.form.name, i+1, text, s.lambda.output)
		}
		sum.reached.Add(1)
		s.lambda.output.check(t, marker)
		s.lambda.output.forget()
	}
	t.Logf("%s %s: all %d effects reached", s.mode.name, s.form.name, len(found))
}

// one runs the form at one effect and returns how many deliveries it took beside the first.
func (s *sweep) one(t *testing.T, at harness.Effect, effects int) int {
	t.Helper()
	w := s.lambda.world
	s.prepare(t)
	s.lambda.proxy.Arm(s.form.trigger(t, s.lambda, at.Number))
	broken := s.lambda.deliver(t, s.batch)
	if met, fired := s.lambda.proxy.Fired(); !fired || met.Effect != at {
		t.Errorf("the fault was not reached: fired %v at %s", fired, met.Effect)
	}
	switch s.form.after(at.Number, effects) {
	case uncertain:
	case untouched:
		if !cmp.Equal(broken.stands, s.begin) || broken.done {
			t.Errorf("directly after the fault the target stands at %s and done is %v", broken.stands, broken.done)
		}
	case replied:
		if !broken.done {
			t.Errorf("the invocation did not settle what the ledger knows: %v", broken.err)
		}
		w.ends(t, s.end)
	case applied:
		w.ends(t, s.end)
	}
	if s.form.name == "SignalBefore" {
		s.lambda.kill() // Lambda does, half a second after the signal
	}
	again := 0
	if !broken.done {
		again = s.lambda.settle(t, s.batch, 1)
	}
	s.lambda.settle(t, s.batch, 1) // once more, as an event source may
	w.ends(t, s.end)
	return again
}
