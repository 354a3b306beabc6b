package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/postgrestest"
)

// heldTarget is a target that a recovery left held: of flow, orders/0 at 5 with [5,9) behind it, orders/1 at 3 with nothing; and
// of another flow one partition.
func heldTarget(t *testing.T) *postgrestest.Database {
	t.Helper()
	return postgrestest.Live(t, `UPDATE tidemark.target SET state = 'held';
		INSERT INTO tidemark.checkpoint (flow, topic, partition, next_offset, incarnation)
		SELECT f, 'orders', n, o, incarnation FROM tidemark.target, (VALUES ('flow', 0, 5), ('flow', 1, 3), ('other', 0, 1)) AS v (f, n, o);
		INSERT INTO tidemark.held (flow, topic, partition, from_offset, until_offset)
		VALUES ('flow', 'orders', 0, 5, 9), ('flow', 'orders', 1, 3, 3), ('flow', 'orders', 2, 0, 4), ('other', 'orders', 0, 1, 2)`)
}

func wantHeld() []ledger.Held {
	return []ledger.Held{
		{Partition: p(0), Range: position.Range{From: 5, Until: 9}},
		{Partition: p(1), Range: position.Range{From: 3, Until: 3}},
		{Partition: p(2), Range: position.Range{Until: 4}},
	}
}

func TestResumeFlow(t *testing.T) {
	t.Parallel()
	const stands = "SELECT partition, next_offset FROM tidemark.checkpoint WHERE flow = 'flow' ORDER BY 1"
	resume := func(t *testing.T, db *postgrestest.Database, flow, skip string) ledger.Resumed {
		t.Helper()
		held, life, err := operator(db).Held(t.Context(), id, flow)
		if err != nil || life.State != apply.StateHeld {
			t.Fatalf("held: %v %v", life, err)
		}
		resumed, err := operator(db).ResumeFlow(t.Context(), id, flow, held, skip)
		if err != nil {
			t.Fatalf("resume: %v", err)
		}
		return resumed
	}
	t.Run("ReplaysWhatIsHeld", func(t *testing.T) {
		t.Parallel()
		db := heldTarget(t)
		got := resume(t, db, flow, "")
		if diff := cmp.Diff(ledger.Resumed{Held: wantHeld(), State: apply.StateHeld, Left: []string{"other"}}, got); diff != "" {
			t.Errorf("resumed (-want +got):\n%s", diff)
		}
		mustSay(t, db, stands, "0\t5\n1\t3\n")
		mustSay(t, db, gapQuery, "")
		if got := resume(t, db, "other", ""); got.State != apply.StateLive {
			t.Errorf("got %+v, want a live target when no flow is held", got)
		}
		mustSay(t, db, "SELECT state FROM tidemark.target", "live\n")
	})
	t.Run("LeavesItOut", func(t *testing.T) {
		t.Parallel()
		db := heldTarget(t)
		resume(t, db, "other", "")
		if got := resume(t, db, flow, "a bad deploy"); got.State != apply.StateLive {
			t.Errorf("got %+v, want a live target", got)
		}
		mustSay(t, db, stands, "0\t9\n1\t3\n2\t4\n")
		mustSay(t, db, "SELECT partition, from_offset, until_offset, how, who, why FROM tidemark.gap ORDER BY 1",
			"0\t5\t9\texcluded\tops\ta bad deploy\n2\t0\t4\texcluded\tops\ta bad deploy\n")
		mustSay(t, db, "SELECT count(*) FROM tidemark.checkpoint WHERE flow = 'flow' AND record_time IS NOT NULL", "2\n")
		mustSay(t, db, "SELECT act, arguments->>'reason', before->>'State' FROM tidemark.audit ORDER BY id DESC LIMIT 1",
			"flow resume\ta bad deploy\theld\n")
	})
	t.Run("RefusesWhatIsNotHeld", func(t *testing.T) {
		t.Parallel()
		db := heldTarget(t)
		_, _, err := operator(db).Held(t.Context(), id, "third")
		mustBe(t, err, fault.Misconfigured, "flow", "other")
		_, _, err = operator(db).Held(t.Context(), "another-target", flow)
		mustBe(t, err, fault.Misconfigured, "TIDEMARK_TARGET_ID")
		_, err = operator(db).ResumeFlow(t.Context(), id, flow, nil, "")
		mustBe(t, err, fault.Retryable, "again")
		db.Exec(t, "DELETE FROM tidemark.held")
		_, _, err = operator(db).Held(t.Context(), id, flow)
		mustBe(t, err, fault.Misconfigured, "rehearsal")
		_, _, err = operator(postgrestest.Live(t, "")).Held(t.Context(), id, flow)
		mustBe(t, err, fault.Misconfigured, "nothing of it is held")
	})
	t.Run("RefusesACheckpointThatWentOn", func(t *testing.T) {
		t.Parallel()
		db := heldTarget(t)
		held := wantHeld()
		db.Exec(t, "UPDATE tidemark.checkpoint SET next_offset = 7 WHERE partition = 0")
		_, err := operator(db).ResumeFlow(t.Context(), id, flow, held, "why")
		mustBe(t, err, fault.Bug, "orders/0")
		mustSay(t, db, "SELECT state FROM tidemark.target", "held\n")
	})
}
