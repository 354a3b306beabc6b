//go:build drill

package drill_test

import (
	"maps"
	"strings"
	"testing"

	"tidemark/shared/position"
	"tidemark/tests/internal/harness"
)

const nextLife = `UPDATE tidemark.target SET incarnation = gen_random_uuid(), lineage = lineage + 1`

// adoptCheckpoints is what a recovery does with the checkpoints that it restored.
const adoptCheckpoints = `UPDATE tidemark.checkpoint SET incarnation = (SELECT incarnation FROM tidemark.target)`

// TestOlderLife changes the target's life under a process: what worked for the older one changes nothing (L5).
func TestOlderLife(t *testing.T) {
	t.Parallel()
	t.Run("BetweenRoundTrips", func(t *testing.T) {
		t.Parallel()
		changedBetweenRoundTrips(t, nextLife)
	})
	t.Run("HeldBetweenRoundTrips", func(t *testing.T) {
		t.Parallel()
		w, l := changedBetweenRoundTrips(t, `UPDATE tidemark.target SET state = 'held'`)
		l.fenced(t, w)
		w.db.Exec(t, `UPDATE tidemark.target SET state = 'live'`)
		l.settle(t, w.batch(w.first, w.end()), 1)
		w.ends(t, w.end())
	})
	t.Run("BetweenDeliveries", olderLifeBetweenDeliveries)
	t.Run("OfACheckpoint", olderLifeOfACheckpoint)
}

// fenced delivers the second delivery and wants it refused without a trace.
func (l *lambda) fenced(t *testing.T, w *world) {
	t.Helper()
	d := l.deliver(t, w.batch(w.first, w.end()))
	if d.done || !strings.HasPrefix(failure(d.err).Message, "fenced: ") {
		t.Errorf("done %v, %v; want it fenced", d.done, d.err)
	}
	w.ends(t, w.first)
}

func changedBetweenRoundTrips(t *testing.T, change string) (*world, *lambda) {
	t.Helper()
	w := newWorld(t)
	l := w.newLambda(t, lambdaOptions{})
	l.settle(t, w.batch(nil, w.first), 1)
	fired := l.proxy.Arm(harness.Trigger{Text: firstWrite, Act: func(harness.Point) harness.Verdict {
		w.db.Exec(t, change)
		return harness.Pass
	}})
	l.fenced(t, w)
	receive(t, "the change between the round trips", fired)
	return w, l
}

func olderLifeBetweenDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.newLambda(t, lambdaOptions{})
	l.settle(t, w.batch(nil, w.first), 1)
	w.db.Exec(t, nextLife)
	w.db.Exec(t, adoptCheckpoints)
	l.fenced(t, w)                            // the delivery that finds out changes nothing
	l.settle(t, w.batch(w.first, w.end()), 1) // a later one adopts the new life
	w.ends(t, w.end())
}

// A checkpoint that was left behind in the older life stays fenced however often its records come.
func olderLifeOfACheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.newLambda(t, lambdaOptions{})
	l.settle(t, w.batch(nil, w.first), 1)
	w.db.Exec(t, nextLife)
	for range 3 {
		l.fenced(t, w)
	}
	l.kill()
	l.fenced(t, w)
	w.db.Exec(t, adoptCheckpoints)
	l.settle(t, w.batch(w.first, w.end()), 2)
	w.ends(t, w.end())
}

// TestCheckpointWriteFails refuses the checkpoint's move and nothing else: the rows before it go back too.
func TestCheckpointWriteFails(t *testing.T) {
	t.Parallel()
	t.Run("OfAllPartitions", func(t *testing.T) {
		t.Parallel()
		checkpointWriteFails(t, "true", nil)
	})
	// What can move goes on, record by record: the first of basket's, and nothing of the others'.
	t.Run("BeyondAnOffset", func(t *testing.T) {
		t.Parallel()
		checkpointWriteFails(t, "NEW.next_offset > 2", position.Cut{basket.partition(0): 2})
	})
}

// checkpointWriteFails refuses moves that meet the condition. moved is what moves all the same.
func checkpointWriteFails(t *testing.T, condition string, moved position.Cut) {
	t.Helper()
	w := newWorld(t)
	l := w.newLambda(t, lambdaOptions{})
	l.settle(t, w.batch(nil, w.first), 1)
	batch := w.batch(w.first, w.end())
	w.db.Exec(t, `CREATE FUNCTION shop.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF `+condition+` THEN RAISE EXCEPTION 'stuck' USING ERRCODE = 'check_violation'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER stuck BEFORE UPDATE ON tidemark.checkpoint FOR EACH ROW EXECUTE FUNCTION shop.refuse()`)
	want := maps.Clone(w.first)
	maps.Copy(want, moved)
	for range 2 {
		if d := l.deliver(t, batch); d.done {
			t.Error("the reply calls everything applied")
		}
		w.ends(t, want)
	}
	w.db.Exec(t, `DROP TRIGGER stuck ON tidemark.checkpoint`)
	l.settle(t, batch, 1)
	w.ends(t, w.end())
}

// TestConnectionRefused lets the database refuse connections for a while.
func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history, w.first = oneByOne()
	l := w.newLambda(t, lambdaOptions{})
	batch := w.batch(nil, w.end())
	l.proxy.RefuseNext(1 << 20)
	d := l.deliver(t, batch)
	if d.done || !strings.HasPrefix(failure(d.err).Message, "retryable: ") {
		t.Errorf("done %v, %v; want it retryable", d.done, d.err)
	}
	l.proxy.RefuseNext(0)
	l.settle(t, batch, 1)
	w.ends(t, w.end())
}
