package target_test

import (
	"strconv"
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestLargeBatch is about batches beyond the protocol's 65,535 parameters: a bulk statement has one for each column.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	const rows = 70_000
	run := func(from position.Offset, body string) record.Run {
		run := record.Run{Partition: applytest.P(0)}
		for i := range rows {
			offset := from + position.Offset(i)
			run.Records = append(run.Records, applytest.At(offset, applytest.Item(strconv.Itoa(i), body)))
		}
		return run
	}
	for name, options := range map[string]target.Options{
		"Of70000ChangedRowsByCopy": {},
		"Of70000ChangedRowsInBulk": {LeastCopied: rows + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, "", options)
			b := s.bench(apply.Options{MaxRows: 4 * rows, MaxBytes: 1 << 30})
			b.MustDeliver(applytest.Want{Applied: rows, Next: at0(rows)}, run(0, "a"))
			b.MustDeliver(applytest.Want{Applied: rows, Next: at0(2 * rows)}, run(rows, "b")) // the same rows: none is new
			if got, want := s.db.Copy(t, "SELECT body, count(*) FROM item GROUP BY 1"), "b\t70000\n"; got != want {
				t.Errorf("rows by body: %q, want %q", got, want)
			}
			if got, want := s.db.Copy(t, "SELECT count(DISTINCT xmin::text) FROM item"), "1\n"; got != want {
				t.Errorf("transactions: %q, want %q", got, want)
			}
		})
	}
}
