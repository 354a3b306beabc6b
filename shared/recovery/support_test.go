package recovery_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
)

const (
	shopFlow = "shop"
	orders   = "orders"
)

func at(number int32) position.Partition { return position.Partition{Topic: orders, Number: number} }

// clock gives times a second apart from shortly before the world's own on.
type clock struct{ next time.Time }

func newClock(w *recoverytest.World) *clock { return &clock{w.Now().Add(-time.Hour)} }

func (c *clock) tick() time.Time {
	c.next = c.next.Add(time.Second)
	return c.next
}

// shop is a world with one flow of three partitions, each with six records, two of which are above the cut that is backed up;
// all ends are odd: a mark, an aborted record, nothing.
func shop(t *testing.T, w *recoverytest.World) *recoverytest.World {
	t.Helper()
	w.Flows[shopFlow] = []string{orders}
	w.Log.Create(orders, 4)
	c := newClock(w)
	round := func(n int) {
		for number := range int32(3) { // the fourth stays empty
			key := fmt.Sprintf("%d-%d", number, n%3)
			w.Log.Append(at(number), c.tick(), recoverytest.Put(key, fmt.Sprintf("v%d", n)))
		}
	}
	for n := range 4 {
		round(n)
	}
	w.Backup(t, w.Stable())
	round(4)
	w.Log.Append(at(0), c.tick(), recoverytest.Move("0-0", "0-9"))
	w.Log.Append(at(1), c.tick(), recoverytest.Remove("1-2"))
	round(5)
	w.Log.Control(at(0))
	w.Log.Aborted(at(1), c.tick(), recoverytest.Put("1-0", "never"))
	return w
}

func newShop(t *testing.T) *recoverytest.World {
	t.Helper()
	return shop(t, recoverytest.New(t, 1))
}

// run recovers into a database by a process with which nothing goes wrong.
func run(
	t *testing.T, w *recoverytest.World, d *recoverytest.Database, change ...func(*recovery.Options),
) (recovery.Report, error) {
	t.Helper()
	return runBy(t, w.Process(d, nil), change...)
}

func runBy(t *testing.T, p *recoverytest.Process, change ...func(*recovery.Options)) (recovery.Report, error) {
	t.Helper()
	o := p.Options(t)
	for _, c := range change {
		c(&o)
	}
	report, err := recovery.Run(t.Context(), o)
	if n := p.Open(); n != 0 {
		t.Fatalf("%d readers were left open, after %v", n, err)
	}
	return report, err
}

// mustRun recovers and verifies.
func mustRun(t *testing.T, w *recoverytest.World, d *recoverytest.Database, change ...func(*recovery.Options)) recovery.Report {
	t.Helper()
	report, err := run(t, w, d, change...)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	recoverytest.Recovered(t, w, d)
	return report
}

// wantRefusal fails the test unless an error is a refusal of that name and class.
func wantRefusal(t *testing.T, err error, name refusal.Name, class fault.Class) {
	t.Helper()
	refused, ok := errors.AsType[*refusal.Error](err)
	if !ok || refused.Name != name || fault.ClassOf(err) != class {
		t.Fatalf("got %s %v, want %s %s", fault.ClassOf(err), err, class, name)
	}
	if fault.HintOf(err) == "" {
		t.Fatalf("%v has no hint", err)
	}
}

func allowGap(o *recovery.Options)   { o.AllowGap = "ticket 7" }
func allowOlder(o *recovery.Options) { o.AllowOlder = "ticket 8" }

// life is the nth life's incarnation of a target that was never recovered.
func life() position.Incarnation { return writertest.Life(1) }

func spanOf(size int64) archive.Span { return archive.Span{Limit: size} }
