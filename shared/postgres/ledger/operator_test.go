package ledger_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

const (
	flow = "flow"
	id   = postgrestest.TargetID
)

func p(number int32) position.Partition { return position.Partition{Topic: "orders", Number: number} }

// operator acts as "ops" on a database.
func operator(db *postgrestest.Database) *ledger.Operator {
	return ledger.NewOperator(db.Conn, postgrestest.Schema, "ops")
}

// migrated is a database with a ledger and no life.
func migrated(t *testing.T) *postgrestest.Database {
	t.Helper()
	db := postgrestest.Empty(t)
	db.Migrate(t)
	return db
}

func mustSay(t *testing.T, db *postgrestest.Database, query, want string) {
	t.Helper()
	if got := db.Copy(t, query); got != want {
		t.Errorf("%s: got %q, want %q", query, got, want)
	}
}

func mustBe(t *testing.T, err error, class fault.Class, parts ...string) {
	t.Helper()
	if !fault.Is(err, class) {
		t.Errorf("got %v (%s), want %s", err, fault.ClassOf(err), class)
		return
	}
	for _, part := range parts {
		if !strings.Contains(fault.Line(err), part) {
			t.Errorf("got %q, want %q in it", fault.Line(err), part)
		}
	}
}

const (
	lifeQuery       = "SELECT target_id, incarnation, lineage, state FROM tidemark.target"
	auditCount      = "SELECT count(*) FROM tidemark.audit"
	checkpointQuery = "SELECT topic, partition, next_offset, generation, record_time FROM tidemark.checkpoint ORDER BY 1, 2"
	gapQuery        = "SELECT topic, partition, generation, from_offset, until_offset, how, who, why FROM tidemark.gap ORDER BY 1, 2, 3"
)

func TestInit(t *testing.T) {
	t.Parallel()
	t.Run("MakesANewTargetLive", func(t *testing.T) {
		t.Parallel()
		db := migrated(t)
		life, made, err := operator(db).Init(t.Context(), id)
		if err != nil || !made {
			t.Fatalf("got made %t and error %v", made, err)
		}
		want := ledger.Life{TargetID: id, Incarnation: life.Incarnation, Lineage: 1, State: apply.StateLive}
		if diff := cmp.Diff(want, life); diff != "" || life.Incarnation.Validate() != nil {
			t.Errorf("life (-want +got):\n%s", diff)
		}
		mustSay(t, db, lifeQuery, "test-target\t"+life.Incarnation.String()+"\t1\tlive\n")
		mustSay(t, db, "SELECT minted_at IS NOT NULL FROM tidemark.target", "t\n")
		mustSay(t, db, "SELECT actor, act, before->>'State', after->>'State', after->>'Incarnation' FROM tidemark.audit",
			"ops\tinit\tnew\tlive\t"+life.Incarnation.String()+"\n")
	})
	t.Run("ChangesNothingTheSecondTime", func(t *testing.T) {
		t.Parallel()
		db := migrated(t)
		first, _, err := operator(db).Init(t.Context(), id)
		if err != nil {
			t.Fatalf("init: %v", err)
		}
		second, made, err := operator(db).Init(t.Context(), id)
		if err != nil || made || !cmp.Equal(first, second) {
			t.Errorf("got %v, made %t, error %v, want %v again", second, made, err, first)
		}
		mustSay(t, db, auditCount, "1\n")
	})
	t.Run("MakesOneLifeForTwoAtOnce", func(t *testing.T) {
		t.Parallel()
		db := migrated(t)
		type result struct {
			life ledger.Life
			made bool
		}
		results := make(chan result, 3)
		for range cap(results) {
			conn, err := pgx.Connect(t.Context(), db.URL)
			if err != nil {
				t.Fatalf("connect: %v", err)
			}
			go func() {
				life, made, err := ledger.NewOperator(conn, postgrestest.Schema, "ops").Init(t.Context(), id)
				if err != nil {
					t.Errorf("init beside another: %v", err)
				}
				results <- result{life, made}
			}()
		}
		made, lives := 0, map[position.Incarnation]bool{}
		for range cap(results) {
			r := <-results
			lives[r.life.Incarnation] = true
			if r.made {
				made++
			}
		}
		if made != 1 || len(lives) != 1 {
			t.Errorf("%d lives were made and %d seen, want 1 and 1", made, len(lives))
		}
		mustSay(t, db, auditCount, "1\n")
	})
	t.Run("RefusesAnotherID", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		before := db.Copy(t, lifeQuery)
		_, made, err := operator(db).Init(t.Context(), "another")
		mustBe(t, err, fault.Misconfigured, "another", "TIDEMARK_TARGET_ID")
		if made || !errors.Is(err, apply.ErrOtherTarget) {
			t.Errorf("got made %t and error %v, want ErrOtherTarget", made, err)
		}
		mustSay(t, db, lifeQuery, before)
		mustSay(t, db, auditCount, "1\n")
	})
	for _, state := range []string{"restoring", "held", "fenced"} {
		t.Run("RefusesATargetThatIs/"+state, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.Live(t, "UPDATE tidemark.target SET state = '"+state+"'")
			_, made, err := operator(db).Init(t.Context(), id)
			mustBe(t, err, fault.Fenced, state)
			if made {
				t.Error("a life was made")
			}
			mustSay(t, db, "SELECT state FROM tidemark.target", state+"\n")
		})
	}
	t.Run("AsksForMigrateWithoutALedger", func(t *testing.T) {
		t.Parallel()
		_, _, err := operator(postgrestest.Empty(t)).Init(t.Context(), id)
		mustBe(t, err, fault.Misconfigured, "run: tidemark migrate")
	})
	t.Run("AsksForMigrateWithoutATargetRow", func(t *testing.T) {
		t.Parallel()
		db := migrated(t)
		db.Exec(t, "DELETE FROM tidemark.target")
		_, _, err := operator(db).Init(t.Context(), id)
		mustBe(t, err, fault.Misconfigured, "no target row")
	})
	t.Run("RefusesAnIDThatNoConfigurationCanName", func(t *testing.T) {
		t.Parallel()
		for _, bad := range []position.TargetID{"", "Upper", "a b"} {
			db := migrated(t)
			_, made, err := operator(db).Init(t.Context(), bad)
			mustBe(t, err, fault.Misconfigured)
			if made {
				t.Errorf("a target %q was made", bad)
			}
		}
	})
}

func TestStartFlow(t *testing.T) {
	t.Parallel()
	start := func(number int32, at position.Offset) ledger.Start { return ledger.Start{Partition: p(number), At: at} }
	mustStart := func(t *testing.T, db *postgrestest.Database, reason string, starts ...ledger.Start) []ledger.Moved {
		t.Helper()
		moved, err := operator(db).StartFlow(t.Context(), id, flow, starts, reason)
		if err != nil {
			t.Fatalf("start: %v", err)
		}
		return moved
	}
	t.Run("BeginsANewPartitionWithAnOrigin", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		got := mustStart(t, db, "", start(1, 7), start(0, 0))
		if diff := cmp.Diff([]ledger.Moved{{Start: start(0, 0)}, {Start: start(1, 7)}}, got); diff != "" {
			t.Errorf("moved (-want +got):\n%s", diff)
		}
		mustSay(t, db, "SELECT topic, partition, next_offset, generation FROM tidemark.checkpoint ORDER BY 2",
			"orders\t0\t0\t0\norders\t1\t7\t1\n")
		mustSay(t, db, gapQuery, "orders\t1\t1\t0\t7\torigin\tops\t\n")
		mustSay(t, db, "SELECT incarnation = (SELECT incarnation FROM tidemark.target) FROM tidemark.checkpoint", "t\nt\n")
		mustSay(t, db, "SELECT actor, act, arguments->>'flow', jsonb_array_length(after) FROM tidemark.audit WHERE act <> 'init'",
			"ops\tflow start\tflow\t2\n")
	})
	t.Run("MovesNothingWithoutAReason", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		mustStart(t, db, "", start(0, 5))
		before := db.Copy(t, checkpointQuery) + db.Copy(t, gapQuery) + db.Copy(t, auditCount)
		for _, at := range []position.Offset{0, 4, 6} {
			moved, err := operator(db).StartFlow(t.Context(), id, flow, []ledger.Start{start(0, at), start(9, 3)}, "")
			mustBe(t, err, fault.Misconfigured, "orders/0", "stands at 5", "--reason")
			if len(moved) > 0 {
				t.Errorf("moved %v beside an error, and all of it was rolled back", moved)
			}
		}
		if after := db.Copy(t, checkpointQuery) + db.Copy(t, gapQuery) + db.Copy(t, auditCount); after != before {
			t.Errorf("the ledger was changed: got %q, want %q", after, before)
		}
	})
	t.Run("LeavesWhatStandsThereAlready", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		mustStart(t, db, "", start(0, 5))
		before := db.Copy(t, checkpointQuery) + db.Copy(t, gapQuery)
		want := []ledger.Moved{{Start: start(0, 5), Existed: true, From: 5}}
		if diff := cmp.Diff(want, mustStart(t, db, "", start(0, 5))); diff != "" {
			t.Errorf("moved (-want +got):\n%s", diff)
		}
		if after := db.Copy(t, checkpointQuery) + db.Copy(t, gapQuery); after != before {
			t.Errorf("the ledger was changed: got %q, want %q", after, before)
		}
	})
	t.Run("LeavesAnAcceptedGapWhenItMovesForward", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		mustStart(t, db, "", start(0, 5))
		want := []ledger.Moved{{Start: start(0, 9), Existed: true, From: 5}}
		if diff := cmp.Diff(want, mustStart(t, db, "retention ate it", start(0, 9))); diff != "" {
			t.Errorf("moved (-want +got):\n%s", diff)
		}
		mustSay(t, db, "SELECT next_offset, generation FROM tidemark.checkpoint", "9\t2\n")
		mustSay(t, db, gapQuery, "orders\t0\t1\t0\t5\torigin\tops\t\norders\t0\t2\t5\t9\taccepted\tops\tretention ate it\n")
		mustSay(t, db, "SELECT arguments->>'reason' FROM tidemark.audit ORDER BY id DESC LIMIT 1", "retention ate it\n")
	})
	t.Run("BeginsANewGenerationWhenItMovesBack", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		mustStart(t, db, "", start(0, 5))
		mustStart(t, db, "again", start(0, 2))
		mustStart(t, db, "and on", start(0, 5))
		mustStart(t, db, "and again", start(0, 2))
		mustStart(t, db, "and on once more", start(0, 5))
		mustSay(t, db, "SELECT next_offset, generation FROM tidemark.checkpoint", "5\t5\n")
		mustSay(t, db, "SELECT generation, from_offset, until_offset, how FROM tidemark.gap ORDER BY 1",
			"1\t0\t5\torigin\n3\t2\t5\taccepted\n5\t2\t5\taccepted\n")
	})
	t.Run("RefusesATargetWithoutALife", func(t *testing.T) {
		t.Parallel()
		db := migrated(t)
		_, err := operator(db).StartFlow(t.Context(), id, flow, []ledger.Start{start(0, 5)}, "why")
		mustBe(t, err, fault.Misconfigured, "run: tidemark init")
		mustSay(t, db, checkpointQuery, "")
	})
	t.Run("RefusesAnotherTargetAndOneThatIsNotLive", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		_, err := operator(db).StartFlow(t.Context(), "another", flow, []ledger.Start{start(0, 5)}, "why")
		mustBe(t, err, fault.Misconfigured, "another")
		db.Exec(t, "UPDATE tidemark.target SET state = 'held'")
		_, err = operator(db).StartFlow(t.Context(), id, flow, []ledger.Start{start(0, 5)}, "why")
		mustBe(t, err, fault.Fenced, "held")
		mustSay(t, db, checkpointQuery, "")
		mustSay(t, db, auditCount, "1\n")
	})
	t.Run("LeavesTheCallersOrderAlone", func(t *testing.T) {
		t.Parallel()
		starts := []ledger.Start{start(2, 1), start(0, 1), start(1, 1)}
		mustStart(t, postgrestest.Live(t, ""), "", starts...)
		if diff := cmp.Diff([]ledger.Start{start(2, 1), start(0, 1), start(1, 1)}, starts); diff != "" {
			t.Errorf("the caller's starts (-want +got):\n%s", diff)
		}
	})
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	starts := []ledger.Start{{Partition: p(10)}, {Partition: p(9)}, {Partition: position.Partition{Topic: "Zebra"}}}
	if _, err := operator(db).StartFlow(t.Context(), id, flow, starts, ""); err != nil {
		t.Fatalf("start: %v", err)
	}
	if _, err := operator(db).StartFlow(t.Context(), id, "other", []ledger.Start{{Partition: p(3)}}, ""); err != nil {
		t.Fatalf("start: %v", err)
	}
	got, err := operator(db).Partitions(t.Context(), flow)
	if err != nil {
		t.Fatalf("partitions: %v", err)
	}
	if diff := cmp.Diff([]position.Partition{{Topic: "Zebra"}, p(9), p(10)}, got); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	_, err = operator(postgrestest.Empty(t)).Partitions(t.Context(), flow)
	mustBe(t, err, fault.Misconfigured, "run: tidemark migrate")
}
