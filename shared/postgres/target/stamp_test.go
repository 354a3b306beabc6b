package target_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// ahead counts rows that carry a position at or above their partition's checkpoint, and positions below it that no row
// carries, in one snapshot.
const ahead = `SELECT
 (SELECT count(*) FROM stamped s JOIN tidemark.checkpoint c USING (partition) WHERE s."offset" >= c.next_offset),
 (SELECT sum(c.next_offset) FROM tidemark.checkpoint c) -
 (SELECT count(*) FROM stamped s JOIN tidemark.checkpoint c USING (partition) WHERE s."offset" < c.next_offset)`

// TestStampedRows is about rows that carry where they came from (L3): in every state that anybody can see, the rows are
// exactly those below the checkpoints.
func TestStampedRows(t *testing.T) {
	t.Parallel()
	t.Run("AreExactlyThoseBelowTheCheckpoint", func(t *testing.T) {
		t.Parallel()
		s := open(t, `CREATE TABLE stamped (partition int, "offset" bigint, PRIMARY KEY (partition, "offset"));`, target.Options{})
		b := s.bench(apply.Options{MaxRows: 7}) // many transactions a delivery
		done := make(chan error, 1)
		go func() {
			defer close(done)
			for from := position.Offset(0); from < 300; from += 30 {
				if _, err := b.Deliver(stampedRun(0, from), stampedRun(1, from)); err != nil {
					done <- err
					return
				}
			}
		}()
		conn, err := pgx.Connect(t.Context(), s.db.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		for looks, running := 0, true; running || looks < 2; looks++ {
			select {
			case err, failed := <-done:
				if failed {
					t.Fatalf("deliver: %v", err)
				}
				running = false
			default:
			}
			var above, below *int64
			if err := conn.QueryRow(t.Context(), ahead).Scan(&above, &below); err != nil {
				t.Fatal(err)
			}
			if above != nil && *above != 0 || below != nil && *below != 0 {
				t.Fatalf("%d rows stand at or above their checkpoint, %d below it are missing", *above, *below)
			}
		}
	})
}

func stampedRun(number int32, from position.Offset) record.Run {
	run := record.Run{Partition: applytest.P(number)}
	partition := strings.TrimPrefix(run.Partition.String(), run.Partition.Topic+"/")
	for o := from; o < from+30; o++ {
		run.Records = append(run.Records, applytest.At(o, applytest.Put("stamped", "partition", partition, "offset", o.String())))
	}
	return run
}
