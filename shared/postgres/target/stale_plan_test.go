package target_test

import (
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestStalePlan is about statements that a warm connection prepared and that outlived what they were made for: the
// connection is given up, and the flow goes on.
func TestStalePlan(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TABLE m (id text PRIMARY KEY, m mood);"
	const warm position.Offset = 4
	for _, c := range []struct{ name, alter string }{
		{
			"AnEnumMadeAnew", "ALTER TYPE mood RENAME TO mood_old; CREATE TYPE mood AS ENUM ('a', 'c');" +
				"ALTER TABLE m ALTER COLUMN m TYPE mood USING replace(m::text, 'b', 'c')::mood; DROP TYPE mood_old",
		},
		{"AColumnOfAnotherType", "ALTER TABLE m ALTER COLUMN m TYPE text"},
		{"AKeyOfAnotherType", "ALTER TABLE m ALTER COLUMN id TYPE varchar(20)"},
		{"ATableMadeAnew", "DROP TABLE m; CREATE TABLE m (m text, id varchar(9) PRIMARY KEY)"},
	} {
		t.Run("CostsAtMostOneDelivery/"+c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, ddl, target.Options{})
			b := s.bench(apply.Options{})
			one := func(offset position.Offset, value string) record.Run {
				return record.Run{Partition: applytest.P(0), Records: []record.Record{
					applytest.At(offset, applytest.Put("m", "id", "k", "m", value)),
				}}
			}
			for offset := range warm {
				b.MustDeliver(applytest.Want{Applied: 1, Next: at0(offset + 1)}, one(offset, "b"))
			}
			s.db.Exec(t, c.alter)
			if outcome, err := b.Deliver(one(warm, "a")); err != nil { // the one delivery that may fail
				if outcome.Applied() != 0 || outcome.Next()[applytest.P(0)] != warm {
					t.Errorf("a failed delivery left %+v", outcome)
				}
				b.MustDeliver(applytest.Want{Applied: 1, Next: at0(warm + 1)}, one(warm, "a"))
			}
			for offset := warm + 1; offset < 2*warm; offset++ {
				b.MustDeliver(applytest.Want{Applied: 1, Next: at0(offset + 1)}, one(offset, "a"))
			}
			if got := s.db.Copy(t, "SELECT id, m FROM m"); got != "k\ta\n" {
				t.Errorf("the row: got %q, want the last record's", got)
			}
		})
	}
}
