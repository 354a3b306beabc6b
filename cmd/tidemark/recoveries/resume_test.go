package recoveries

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/apply"
	"tidemark/shared/archive/decision"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/life"
	"tidemark/shared/signing"
)

// heldShop is a target that a recovery left held in its second life: orders/0 at 5, with [5,9) behind it.
func heldShop(t *testing.T, w *writertest.World) *postgrestest.Database {
	t.Helper()
	return postgrestest.Live(t, `UPDATE tidemark.target SET state = 'held', target_id = '`+writertest.Target.String()+`', lineage = 2;
		INSERT INTO tidemark.checkpoint (flow, topic, partition, next_offset, incarnation)
		SELECT 'shop', 'orders', 0, 5, incarnation FROM tidemark.target;
		INSERT INTO tidemark.held (flow, topic, partition, from_offset, until_offset) VALUES ('shop', 'orders', 0, 5, 9)`)
}

func resumption(t *testing.T, w *writertest.World, db *postgrestest.Database, skip string) Resumption {
	t.Helper()
	return Resumption{
		Operator: ledger.NewOperator(db.Conn, "tidemark", "ann"), Target: writertest.Target, Flow: "shop", Skip: skip,
		Decide: func(context.Context) (decision.Options, error) { return decider(t, w), nil },
	}
}

func decider(t *testing.T, w *writertest.World) decision.Options {
	t.Helper()
	return decision.Options{Archive: w.Archive(t), Actor: "ann", Now: w.Now, Signers: []signing.Signer{w.Key}}
}

func excluded(from, until position.Offset) []notice.Decision {
	return []notice.Decision{{Act: decision.Exclude, Flow: "shop", Topic: "orders", From: from, Until: until, At: from, Reason: "a bad deploy"}}
}

// What the archive says was left out for good is not applied: neither when --skip died between the decision and the act, nor
// when an earlier life had left it out.
func TestReplayRefusesWhatWasDecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		life        position.Lineage
		from, until position.Offset
	}{"ByACallThatDied": {2, 5, 9}, "InALifeBefore": {1, 6, 8}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := writertest.New(t)
			db := heldShop(t, w)
			if _, err := decision.Write(t.Context(), decider(t, w), c.life, excluded(c.from, c.until)); err != nil {
				t.Fatal(err)
			}
			err := resumption(t, w, db, "").Run(t.Context(), io.Discard)
			if state := db.Copy(t, "SELECT state FROM tidemark.target"); err == nil || state != "held\n" {
				t.Errorf("got %v, and a target that is %q: it applies [%d,%d), which every later recovery leaves out", err, state, c.from, c.until)
			}
		})
	}
}

// A life must be the latest when its target goes live (recovery/DESIGN, must hold), and a life that is over decides nothing.
func TestResumeRefusesALifeThatIsOver(t *testing.T) {
	t.Parallel()
	for name, skip := range map[string]string{"Replay": "", "Skip": "a bad deploy"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := writertest.New(t)
			db := heldShop(t, w)
			base := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}, Next: 5})
			a := w.Archive(t)
			taken := life.Options{Archive: a, Signers: []signing.Signer{w.Key}, Pack: w.Options(t, a).Pack, Now: w.Now, Tool: "test"}
			if err := taken.Take(t.Context(), life.Life{
				RunID: w.NextRun(), TargetID: writertest.Target, Lineage: 3, Incarnation: writertest.Life(3), Base: base.ID,
				Statement: base.Digest, Began: w.Now(), Ends: body.Cut{{Flow: "shop", Topic: "orders", NextOffset: 9}},
			}); err != nil {
				t.Fatal(err)
			}
			err := resumption(t, w, db, skip).Run(t.Context(), io.Discard)
			if state := db.Copy(t, "SELECT state FROM tidemark.target"); !fault.Is(err, fault.Fenced) || state != "held\n" {
				t.Errorf("got %v, and a target of life 2 that is %q beside life 3", err, state)
			}
		})
	}
}

// The same command goes on after flow resume: it knows that nothing is held any more. With --switch it then moves the groups.
func TestSettledAndResumed(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	db := heldShop(t, w)
	db.Exec(t, `INSERT INTO tidemark.audit (actor, act, arguments) SELECT 'ann', 'recover', jsonb_build_object('run_id',
		'33333333-0000-4000-8000-000000000001', 'target_id', target_id, 'lineage', '2', 'incarnation', incarnation, 'held',
		'[{"flow": "shop", "topic": "orders", "partition": 0, "from": "5", "until": "9"}]'::jsonb) FROM tidemark.target`)
	if err := resumption(t, w, db, "").Run(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	at, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	d := restore.New(at, restore.Options{})
	options := recovery.Options{Archive: w.Archive(t), Database: d, Checkpoints: d, Now: w.Now}
	plan, err := recovery.Prepare(t.Context(), options)
	if err != nil || !plan.Settled {
		t.Fatal(err)
	}
	outcome, err := Command{Flags: &Flags{}, Out: io.Discard, Progress: io.Discard}.recover(t.Context(), options, plan)
	if err != nil {
		t.Fatal(err)
	}
	next := strings.Join(outcome.Next, "\n")
	if state := outcome.form().State; state != apply.StateLive || strings.Contains(next, "while the target is held") {
		t.Errorf("the target is live, and the report says %s: %s", state, next)
	}
}

// A bucket that is away is no word of the database.
func TestResumeSaysThatTheStoreIsAway(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	r := resumption(t, w, heldShop(t, w), "a bad deploy")
	r.Decide = func(context.Context) (decision.Options, error) {
		return decision.Options{}, exit.Archive(fault.New(fault.Retryable, "the store is away"))
	}
	err := r.Run(t.Context(), io.Discard)
	if code := exit.Code(exit.Database(err), false); code != 21 { // exit.Database: as operate does
		t.Errorf("got code %d for %v, want 21", code, err)
	}
}
