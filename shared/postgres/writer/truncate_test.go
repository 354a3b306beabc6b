package writer_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
)

// hold opens a transaction in a session of its own, which holds what the statement takes.
func (f *flow) hold(tb testing.TB, statement string) pgx.Tx {
	tb.Helper()
	tx, err := f.session(tb).Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := tx.Exec(tb.Context(), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
	return tx
}

// wantHeld checks that a session still holds a lock of that mode on the table, and lets it go.
func (f *flow) wantHeld(tb testing.TB, tx pgx.Tx, table, mode string) {
	tb.Helper()
	var held bool
	err := tx.QueryRow(tb.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND granted"+
		" AND relation = $1::text::regclass AND mode = $2)", table, mode).Scan(&held)
	if err != nil || !held {
		tb.Errorf("the other session holds %s on %s: %v (%v), want true", mode, table, held, err)
	}
	if err := tx.Rollback(tb.Context()); err != nil {
		tb.Error(err)
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')"
	t.Run("ItEmptiesTheTableInOrder", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl)
		tab := f.table(t, "t")
		f.must(t, tab.insert("3", "c"), tab.truncate(), tab.insert("4", "d"))
		f.wantRows(t, "TABLE t", "4\td")
	})
	t.Run("BesideAReaderItDeletes", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl)
		before := f.Copy(t, "SELECT pg_relation_filenode('t')")
		reader := f.hold(t, "LOCK TABLE t IN ACCESS SHARE MODE")
		f.must(t, f.table(t, "t").truncate())
		f.wantHeld(t, reader, "t", "AccessShareLock")
		f.wantRows(t, "TABLE t")
		f.wantRows(t, "SELECT pg_relation_filenode('t')", before[:len(before)-1]) // TRUNCATE would have made it anew
	})
	t.Run("OtherWritersPassWhileTheReaderStays", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl)
		tab := f.table(t, "t")
		reader := f.hold(t, "LOCK TABLE t IN ACCESS SHARE MODE")
		first, second := f.begin(t), f.begin(t)
		done := make(chan error, 2)
		f.commitLater(t, first, done, tab.truncate())
		f.commitLater(t, second, done, tab.insert("3", "c"))
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		f.wantHeld(t, reader, "t", "AccessShareLock")
		f.wantRows(t, "SELECT count(*) FROM t WHERE id < 3", "0")
	})
	t.Run("TheLockTimeLimitIsRestored", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+`; CREATE TABLE seen (at text, limit_now text);
			CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
				$$BEGIN INSERT INTO seen VALUES (NEW.v, current_setting('lock_timeout')); RETURN NEW; END$$;
			CREATE TABLE probe (v text); CREATE TRIGGER see BEFORE INSERT ON probe FOR EACH ROW EXECUTE FUNCTION see();
			CREATE TABLE referenced (id int PRIMARY KEY); CREATE TABLE child (id int REFERENCES referenced)`)
		tab, probe, referenced := f.table(t, "t"), f.table(t, "probe"), f.table(t, "referenced")
		f.must(t, probe.insert("before"), tab.truncate(), probe.insert("after truncate"), referenced.truncate(),
			probe.insert("after delete"))
		reader := f.hold(t, "LOCK TABLE t IN ACCESS SHARE MODE")
		f.must(t, tab.truncate(), probe.insert("after waiting"))
		f.wantHeld(t, reader, "t", "AccessShareLock")
		limit := f.Copy(t, "SELECT limit_now FROM seen WHERE at = 'before'")
		if limit == "200ms\n" || limit == "0\n" {
			t.Errorf("the limit before is %q, so the test proves nothing", limit)
		}
		f.wantRows(t, "SELECT DISTINCT limit_now FROM seen", limit[:len(limit)-1])
		f.wantRows(t, "SELECT count(*) FROM seen", "4")
	})
	t.Run("AReferencedTableIsEmptiedByDelete", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+"; CREATE TABLE child (id int REFERENCES t)")
		tab := f.table(t, "t")
		f.must(t, tab.truncate(), tab.insert("5", "e"))
		f.wantRows(t, "TABLE t", "5\te")
		f.Exec(t, "INSERT INTO child VALUES (5)")
		wantFault(t, f.try(t, tab.truncate()), fault.Retryable, "23503")
		f.must(t, f.table(t, "child").truncate(), tab.truncate())
		f.wantRows(t, "TABLE t")
	})
	t.Run("TruncateTriggersFireAndNeverBecomeDelete", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+`; CREATE TABLE seen (what text);
			CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
				$$BEGIN INSERT INTO seen VALUES (TG_OP); RETURN NULL; END$$;
			CREATE TRIGGER see AFTER TRUNCATE OR DELETE ON t EXECUTE FUNCTION see()`)
		f.must(t, f.table(t, "t").truncate())
		f.wantRows(t, "TABLE seen", "TRUNCATE")
		f.wantRows(t, "TABLE t")
	})
	t.Run("WithTruncateTriggersItWaitsAsLongAsItMay", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+`; CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
			CREATE TRIGGER see AFTER TRUNCATE ON t EXECUTE FUNCTION see()`)
		tab := f.table(t, "t")
		reader := f.hold(t, "LOCK TABLE t IN ACCESS SHARE MODE")
		done := make(chan error, 1)
		f.commitLater(t, f.begin(t), done, tab.truncate())
		f.waitForLocks(t, 1)
		f.wantHeld(t, reader, "t", "AccessShareLock")
		if err := <-done; err != nil {
			t.Error(err)
		}
		f.wantRows(t, "TABLE t")
	})
	t.Run("APartitionedTableIsEmptiedWhole", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, `CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
			CREATE TABLE a PARTITION OF t FOR VALUES FROM (MINVALUE) TO (2); CREATE TABLE b PARTITION OF t DEFAULT;
			INSERT INTO t VALUES (1, 'a'), (2, 'b')`)
		tab := f.table(t, "t")
		reader := f.hold(t, "LOCK TABLE ONLY a IN ACCESS SHARE MODE")
		f.must(t, tab.truncate())
		f.wantHeld(t, reader, "a", "AccessShareLock")
		f.wantRows(t, "TABLE t")
		f.must(t, tab.insert("1", "a"), tab.insert("2", "b"), tab.truncate())
		f.wantRows(t, "TABLE t")
	})
}
