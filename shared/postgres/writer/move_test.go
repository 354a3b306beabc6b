package writer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/fault"
)

// halves are the two records of a changed key: row is the row under its new key, with the key first.
func (t table) halves(id, from string, row ...any) (deleted, inserted change.Change) {
	deleted, inserted = t.delete(from), t.insert(row...)
	deleted.Move = &change.Move{ID: id, From: `{"id":` + from + `}`, To: `{"id":` + inserted.Key[0].String() + `}`}
	inserted.Move = deleted.Move
	return deleted, inserted
}

const movable = "CREATE TABLE t (id int PRIMARY KEY, v text, big text NOT NULL, own text DEFAULT 'default')"

func TestMoves(t *testing.T) {
	t.Parallel()
	t.Run("WhatTheInsertLacksComesFromTheDeletedRow", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, movable+"; INSERT INTO t VALUES (1, 'a', 'big', 'mine'), (7, 'x', 'y', 'z')")
		deleted, inserted := f.table(t, "t").halves("m", "1", "2", "b", gone{}, gone{})
		f.must(t, deleted)
		f.wantRows(t, "SELECT source_table, source_move, old_key, new_key, row_values FROM tidemark.moved_row",
			`public.t`+"\t"+`m`+"\t"+`{"id":1}`+"\t"+`{"id":2}`+"\t"+`(1,a,big,mine)`)
		f.must(t, inserted)
		f.wantRows(t, "TABLE t ORDER BY id", "2\tb\tbig\tmine", "7\tx\ty\tz")
		f.wantRows(t, "TABLE tidemark.moved_row")
	})
	t.Run("AnInsertWithAllCellsMayComeFirst", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')")
		deleted, inserted := f.table(t, "t").halves("m", "1", "2", "b")
		f.must(t, inserted)
		f.wantRows(t, "SELECT row_values FROM tidemark.moved_row", "\\N")
		f.must(t, deleted)
		f.wantRows(t, "TABLE t", "2\tb")
		f.wantRows(t, "TABLE tidemark.moved_row")
	})
	t.Run("AnInsertWithMissingCellsWaitsForTheDelete", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, movable+"; INSERT INTO t VALUES (1, 'a', 'big', 'mine')")
		tab := f.table(t, "t")
		deleted, inserted := tab.halves("m", "1", "2", "b", gone{}, gone{})
		for range 2 {
			wantFault(t, f.try(t, tab.insert("9", "x", "y", "z"), inserted), fault.Retryable, "TM004")
		}
		f.wantRows(t, "SELECT id FROM t", "1")
		f.wantRows(t, "TABLE tidemark.moved_row")
		f.must(t, deleted)
		f.must(t, inserted)
		f.wantRows(t, "TABLE t", "2\tb\tbig\tmine")
	})
	t.Run("ARowOfNullsIsARow", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY, v text, w text); INSERT INTO t VALUES (1)")
		deleted, inserted := f.table(t, "t").halves("m", "1", "2", gone{}, gone{})
		f.must(t, deleted, inserted)
		f.wantRows(t, "TABLE t", "2\t\\N\t\\N")
	})
	t.Run("AwkwardValuesSurvive", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, `CREATE TYPE pair AS (a int, b text);
			CREATE TABLE t (id int PRIMARY KEY, v text, dropped int, f float8, i interval, m money, b bytea, ts timestamptz,
				a text[], p pair, g int GENERATED ALWAYS AS (id * 2) STORED, n numeric);
			ALTER TABLE t DROP dropped;
			INSERT INTO t (id, v, f, i, m, b, ts, a, p, n) VALUES (1, E'\\ "(,)\n''', '-0', '1 mon 30 days', '-1234.5', '\x00ff',
				'infinity', '{NULL,"NULL",""}', '(,"")', 'NaN')`)
		before := f.Copy(t, "SELECT v, f, i, m, b, ts, a, p, n FROM t")
		row := []any{"2", gone{}, gone{}, gone{}, gone{}, gone{}, gone{}, gone{}, gone{}, gone{}, gone{}}
		deleted, inserted := f.table(t, "t").halves("m", "1", row...)
		f.must(t, deleted)
		f.must(t, inserted)
		if got := f.Copy(t, "SELECT v, f, i, m, b, ts, a, p, n FROM t WHERE id = 2 AND g = 4"); got != before {
			t.Errorf("the moved row is\n%s want\n%s", got, before)
		}
	})
	t.Run("TheNewKeyMayHaveARow", func(t *testing.T) {
		t.Parallel()
		for _, key := range []string{"PRIMARY KEY", "PRIMARY KEY DEFERRABLE INITIALLY DEFERRED"} {
			f := newFlow(t, "CREATE TABLE t (id int "+key+", v text, big text);"+
				"INSERT INTO t VALUES (1, 'a', 'b1'), (2, 'x', 'b2')")
			deleted, inserted := f.table(t, "t").halves("m", "1", "2", "b", gone{})
			f.must(t, deleted, inserted)
			f.wantRows(t, "TABLE t", "2\tb\tb1")
		}
	})
	t.Run("ATableOfKeysNeedsNoEntry", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
		deleted, inserted := f.table(t, "t").halves("m", "1", "2")
		f.must(t, inserted)
		f.must(t, deleted)
		f.wantRows(t, "TABLE t", "2")
		f.wantRows(t, "TABLE tidemark.moved_row")
	})
	t.Run("ATableWithoutKeyNeedsNoEntry", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int, v text); INSERT INTO t VALUES (1, 'a')")
		tab := f.table(t, "t")
		deleted, inserted := tab.remove("1", "a"), tab.insert("2", "a")
		deleted.Move = &change.Move{ID: "m", From: "1", To: "2"}
		inserted.Move = deleted.Move
		f.must(t, inserted)
		f.must(t, deleted)
		f.wantRows(t, "TABLE t", "2\ta")
		f.wantRows(t, "TABLE tidemark.moved_row")
	})
}

// TestMovesRepeated: a source that repeats a stretch of its log repeats both halves of a move, the row long moved.
func TestMovesRepeated(t *testing.T) {
	t.Parallel()
	t.Run("InOrder", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, movable+"; INSERT INTO t VALUES (1, 'a', 'big', 'mine')")
		deleted, inserted := f.table(t, "t").halves("m", "1", "2", "b", gone{}, gone{})
		for range 3 {
			f.must(t, deleted)
			f.must(t, inserted)
			f.wantRows(t, "TABLE t", "2\tb\tbig\tmine")
			f.wantRows(t, "TABLE tidemark.moved_row")
		}
	})
	t.Run("TheInsertFirst", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')")
		deleted, inserted := f.table(t, "t").halves("m", "1", "2", "b")
		for range 3 {
			f.must(t, inserted)
			f.must(t, deleted)
			f.wantRows(t, "TABLE t", "2\tb")
			f.wantRows(t, "TABLE tidemark.moved_row")
		}
	})
	t.Run("EachHalfTwice", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, movable+"; INSERT INTO t VALUES (1, 'a', 'big', 'mine')")
		deleted, inserted := f.table(t, "t").halves("m", "1", "2", "b", gone{}, gone{})
		f.must(t, deleted, deleted)
		f.must(t, inserted)
		f.wantRows(t, "TABLE t", "2\tb\tbig\tmine")
		f.wantRows(t, "TABLE tidemark.moved_row")
	})
	t.Run("ARowThatNeverWasIsRowMissing", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, movable)
		deleted, inserted := f.table(t, "t").halves("m", "1", "2", "b", gone{}, gone{})
		f.must(t, deleted)
		wantFault(t, f.try(t, inserted), fault.Poison, "TM002")
		f.wantRows(t, "TABLE t")
	})
	t.Run("ARowThatNeverWasIsMadeOfAllCells", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY, v text)")
		deleted, inserted := f.table(t, "t").halves("m", "1", "2", "b")
		f.must(t, deleted)
		f.must(t, inserted)
		f.wantRows(t, "TABLE t", "2\tb")
		f.wantRows(t, "TABLE tidemark.moved_row")
	})
}

// TestMovesBetweenEqualKeys: the index holds both keys equal, so both halves meet the same row.
func TestMovesBetweenEqualKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ promise, ddl, from, to string }{
		{
			"Citext", "CREATE SCHEMA x; CREATE EXTENSION citext SCHEMA x; CREATE TABLE t (id x.citext PRIMARY KEY, v text)",
			"ab", "AB",
		},
		{"Numeric", "CREATE TABLE t (id numeric PRIMARY KEY, v text)", "1.0", "1.00"},
		{"MinusZero", "CREATE TABLE t (id float8 PRIMARY KEY, v text)", "0", "-0"},
		{"Deferrable", "CREATE TABLE t (id numeric PRIMARY KEY DEFERRABLE, v text)", "1.0", "1.00"},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, "")
			if !hasExtensions(t, f, test.ddl) {
				return
			}
			f.Exec(t, test.ddl+"; INSERT INTO t VALUES ('"+test.from+"', 'a')")
			tab := f.table(t, "t")
			deleted, inserted := tab.halves("there", test.from, test.to, "b")
			for range 2 {
				f.must(t, inserted)
				f.must(t, deleted)
				f.wantRows(t, "TABLE t", test.to+"\tb")
			}
			deleted, inserted = tab.halves("back", test.to, test.from, gone{})
			wantFault(t, f.try(t, inserted), fault.Retryable, "TM004")
			f.must(t, deleted)
			f.must(t, inserted)
			f.wantRows(t, "TABLE t", test.from+"\tb")
			f.wantRows(t, "TABLE tidemark.moved_row")
		})
	}
}

// TestMovesAtOnce: the halves come in two transactions that do not see each other.
func TestMovesAtOnce(t *testing.T) {
	t.Parallel()
	const wait = `; INSERT INTO t VALUES (1, 'a');
		CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
			$$BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END$$;
		CREATE TRIGGER hold AFTER INSERT ON tidemark.moved_row FOR EACH STATEMENT EXECUTE FUNCTION hold()`
	for _, test := range []struct {
		promise       string
		first, second int
	}{{"TheDeleteFirst", 0, 1}, {"TheInsertFirst", 1, 0}} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY, v text)"+wait)
			var both [2]change.Change
			both[0], both[1] = f.table(t, "t").halves("m", "1", "2", "b")
			f.Exec(t, "SELECT pg_advisory_lock(1)")
			done := make(chan error, len(both))
			for n, half := range []change.Change{both[test.first], both[test.second]} {
				f.commitLater(t, f.begin(t), done, half)
				f.waitForLocks(t, n+1)
			}
			f.Exec(t, "SELECT pg_advisory_unlock(1)")
			if err := errors.Join(<-done, <-done); err != nil {
				t.Fatalf("halves at once: %v", err)
			}
			f.wantRows(t, "TABLE t", "2\tb")
			f.wantRows(t, "TABLE tidemark.moved_row")
		})
	}
}

func (f *flow) commitLater(tb testing.TB, tx apply.Transaction, done chan<- error, changes ...change.Change) {
	tb.Helper()
	go func() { done <- tx.Commit(tb.Context(), workOf(changes...)) }()
}

// waitForLocks returns when n sessions of the database wait for a lock.
func (f *flow) waitForLocks(tb testing.TB, n int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	for waiting := -1; waiting != n; {
		const query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
		if err := f.Conn.QueryRow(ctx, query).Scan(&waiting); err != nil {
			tb.Fatalf("wait for %d sessions that wait for a lock: %v, now %d", n, err, waiting)
		}
	}
}
