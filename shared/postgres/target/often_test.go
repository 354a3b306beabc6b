package target_test

import (
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
)

// TestPreparedStatements is about statements that come often: they are prepared behind a commit, and nothing else changes.
func TestPreparedStatements(t *testing.T) {
	t.Parallel()
	deliver := func(s *subject, b *applytest.Bench, from, until position.Offset) {
		for o := from; o < until; o++ {
			b.MustDeliver(applytest.Want{Applied: 1, Next: at0(o + 1)}, applytest.Items(applytest.P(0), span(o, o+1), "a"))
		}
		s.t.Helper()
	}
	t.Run("SurviveAChangeOfTheTable", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		deliver(s, b, 0, 4)
		s.db.Exec(t, "ALTER TABLE item ADD COLUMN more text DEFAULT 'x', ALTER COLUMN body TYPE varchar(500)")
		deliver(s, b, 4, 8)
		if got, want := s.db.Copy(t, "SELECT count(*), count(more) FROM item"), "8\t8\n"; got != want {
			t.Errorf("rows and their new column: %q, want %q", got, want)
		}
	})
	t.Run("ThatASessionLostComeAgain", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		deliver(s, b, 0, 4)
		s.db.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		deliver(s, b, 4, 8)
		b.MustStand(at0(8), applytest.RowsOf(applytest.Items(applytest.P(0), span(0, 8), "a")))
	})
	t.Run("AreNotMadeBehindAPooler", func(t *testing.T) {
		t.Parallel()
		s := open(t, "CREATE TABLE seen (n bigint);"+
			"CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen SELECT count(*) FROM"+
			" pg_prepared_statements; RETURN NEW; END';"+
			"CREATE TRIGGER look BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION look();", target.Options{Unprepared: true})
		deliver(s, s.bench(apply.Options{}), 0, 5)
		if got, want := s.db.Copy(t, "SELECT max(n) FROM seen"), "0\n"; got != want {
			t.Errorf("prepared statements seen: %q, want %q", got, want)
		}
	})
	t.Run("AreMadeWithoutOne", func(t *testing.T) {
		t.Parallel()
		s := open(t, "CREATE TABLE seen (n bigint);"+
			"CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen SELECT count(*) FROM"+
			" pg_prepared_statements; RETURN NEW; END';"+
			"CREATE TRIGGER look BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION look();", target.Options{})
		deliver(s, s.bench(apply.Options{}), 0, 5)
		if got := s.db.Copy(t, "SELECT max(n) > 3 FROM seen"); got != "t\n" {
			t.Errorf("prepared statements seen: %q", s.db.Copy(t, "SELECT * FROM seen"))
		}
	})
}
