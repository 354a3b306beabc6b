package ledger_test

import (
	"testing"

	"tidemark/shared/fault"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/postgrestest"
)

// What was left out for good does not come back by a start below it (R4): every later replay leaves it out.
func TestStartBelowWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, `INSERT INTO tidemark.checkpoint (flow, topic, partition, next_offset, incarnation)
		SELECT 'flow', 'orders', 0, 20, incarnation FROM tidemark.target;
		INSERT INTO tidemark.gap (flow, topic, partition, from_offset, until_offset, how, who, why)
		VALUES ('flow', 'orders', 0, 5, 9, 'excluded', 'ann', 'a bad deploy')`)
	_, err := operator(db).StartFlow(t.Context(), id, flow, []ledger.Start{{Partition: p(0), At: 0}}, "again")
	mustBe(t, err, fault.Misconfigured, "[5,9)")
}
