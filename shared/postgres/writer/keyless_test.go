package writer_test

import (
	"testing"

	"tidemark/shared/fault"
)

func TestKeyless(t *testing.T) {
	t.Parallel()
	t.Run("RowsMayRepeat", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (a int, b text)")
		tab := f.table(t, "t")
		f.must(t, tab.insert("1", nil), tab.insert("1", nil), tab.insert("1", nil))
		f.must(t, tab.remove("1", nil))
		f.wantRows(t, "TABLE t", "1\t\\N", "1\t\\N")
		f.must(t, tab.replace(cells("1", nil), "2", "x"))
		f.wantRows(t, "TABLE t ORDER BY 1", "1\t\\N", "2\tx")
		f.must(t, tab.replace(cells("2", "x"), "3", gone{}))
		f.wantRows(t, "TABLE t ORDER BY 1", "1\t\\N", "3\tx")
	})
	t.Run("NullIsEqualToNullAlone", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TYPE pair AS (x int, y int); CREATE TABLE t (a int, b text, p pair, j json)")
		tab := f.table(t, "t")
		f.must(t, tab.insert(nil, "", "(,)", "null"))
		for _, old := range [][]any{
			{"0", "", "(,)", "null"}, {nil, nil, "(,)", "null"}, {nil, "", nil, "null"}, {nil, "", "(,)", nil},
		} {
			wantFault(t, f.try(t, tab.remove(old...)), fault.Poison, "TM002")
		}
		f.must(t, tab.remove(nil, "", "(,)", "null"))
		f.wantRows(t, "TABLE t")
		f.must(t, tab.insert(nil, nil, nil, nil), tab.remove(nil, nil, nil, nil))
		f.wantRows(t, "TABLE t")
	})
	t.Run("TypesWithoutEqualityAreComparedByTheirText", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE DOMAIN doc AS json; CREATE TABLE t (j json, x xml, p point, ds doc[], id int)")
		tab := f.table(t, "t")
		f.must(t, tab.insert(`{"a":1}`, "<a/>", "(1,2)", `{"{}"}`, "1"),
			tab.insert(`{"a": 1}`, "<a/>", "(1,2)", `{"{}"}`, "2"),
			tab.insert(`{"a":1}`, "<a></a>", "(1,2)", `{"{}"}`, "3"), tab.insert(`{"a":1}`, "<a/>", "(1,3)", `{"{}"}`, "4"))
		f.must(t, tab.remove(`{"a":1}`, "<a/>", "(1,2)", `{"{}"}`, gone{}),
			tab.replace(cells(`{"a":1}`, "<a/>", "(1,3)", `{"{}"}`, "4"),
				`{"a":1}`, "<a/>", "(1,4)", "{}", gone{}))
		f.wantRows(t, "SELECT id, p, ds FROM t ORDER BY id", "2\t(1,2)\t{\"{}\"}", "3\t(1,2)\t{\"{}\"}", "4\t(1,4)\t{}")
	})
	t.Run("OfEqualRowsTheOneThatLooksTheSameGoes", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (n numeric, f float8, i interval, a numeric[], id int)")
		tab := f.table(t, "t")
		rows := [][]any{
			{"1.0", "0", "1 mon", "{1}", "1"},
			{"1.00", "0", "1 mon", "{1}", "2"},
			{"1.0", "-0", "1 mon", "{1}", "3"},
			{"1.0", "0", "30 days", "{1}", "4"},
			{"1.0", "0", "1 mon", "{1.0}", "5"},
		}
		for _, row := range rows {
			f.must(t, tab.insert(row...))
		}
		for _, row := range rows[1:] {
			f.must(t, tab.remove(row[0], row[1], row[2], row[3], gone{}))
		}
		f.wantRows(t, "SELECT id FROM t", "1")
		f.must(t, tab.remove("1", "-0.0", "30 days", "{1.000}", gone{}))
		f.wantRows(t, "SELECT id FROM t")
	})
	t.Run("MissingCellsAreLeftOutOfTheMatch", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (a int, b text, own text DEFAULT 'own')")
		tab := f.table(t, "t")
		f.must(t, tab.insert("1", "x", gone{}), tab.insert("2", "y", gone{}), tab.remove("2", gone{}, gone{}))
		f.wantRows(t, "TABLE t", "1\tx\town")
		f.must(t, tab.replace(cells("1", "x", gone{}), "3", gone{}, gone{}))
		f.wantRows(t, "TABLE t", "3\tx\town")
	})
	t.Run("ARowBeforeWithoutAnyCellIdentifiesNothing", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (a int, g int GENERATED ALWAYS AS (1) STORED)")
		tab := f.table(t, "t")
		f.must(t, tab.insert("1", gone{}))
		wantFault(t, f.try(t, tab.remove(gone{}, gone{})), fault.Poison, "")
		wantFault(t, f.try(t, tab.remove(gone{}, "1")), fault.Poison, "")
		wantFault(t, f.try(t, tab.replace(cells(gone{}, gone{}), "2", gone{})), fault.Poison, "")
		f.wantRows(t, "SELECT a FROM t", "1")
	})
	t.Run("WhatMatchesNothingIsRowMissing", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (a int, b text)")
		tab := f.table(t, "t")
		wantFault(t, f.try(t, tab.insert("1", "x"), tab.remove("2", "x")), fault.Poison, "TM002")
		wantFault(t, f.try(t, tab.insert("1", "x"), tab.replace(cells("2", "x"), "3", "x")), fault.Poison, "TM002")
		wantFault(t, f.try(t, tab.insert("1", "x"), tab.replace(cells("2", "x"), gone{}, gone{})), fault.Poison, "TM002")
		f.wantRows(t, "TABLE t")
	})
	t.Run("APartitionedTableLosesOneRow", func(t *testing.T) {
		t.Parallel()
		// Rows of different partitions have the same ctid.
		f := newFlow(t, `CREATE TABLE t (a int, b text) PARTITION BY LIST (a);
			CREATE TABLE one PARTITION OF t FOR VALUES IN (1); CREATE TABLE two PARTITION OF t FOR VALUES IN (2);
			CREATE TABLE rest PARTITION OF t DEFAULT PARTITION BY LIST (a); CREATE TABLE deep PARTITION OF rest DEFAULT`)
		tab := f.table(t, "t")
		f.must(t, tab.insert("1", "x"), tab.insert("2", "x"), tab.insert("3", "x"), tab.insert("3", "x"))
		f.must(t, tab.remove("2", "x"), tab.replace(cells("3", "x"), "1", "moved"))
		f.wantRows(t, "TABLE t ORDER BY 1, 2", "1\tmoved", "1\tx", "3\tx")
	})
}
