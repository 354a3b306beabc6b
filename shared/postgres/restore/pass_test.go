package restore_test

import (
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

func gapOf(partition int32, from, until position.Offset, how string) body.Gap {
	return body.Gap{
		Flow: "shop", Topic: "orders", Partition: partition, From: from, Until: until, How: how, Actor: "ann", Reason: "ticket 7",
		At: time.Date(2026, 7, 1, 11, 0, 0, 0, time.UTC),
	}
}

const (
	standsQuery = "SELECT partition, next_offset, incarnation FROM tidemark.checkpoint WHERE flow = 'shop' ORDER BY 1"
	gapsQuery   = "SELECT partition, from_offset, until_offset, how, who, why, at AT TIME ZONE 'UTC' FROM tidemark.gap ORDER BY 1, 2"
)

// TestPass: gaps and checkpoints move together, once, never back, and only while the try has the database.
func TestPass(t *testing.T) {
	t.Parallel()
	db, d, base := restoredShop(t, nil)
	gaps := []body.Gap{gapOf(0, 100, 110, "accepted"), gapOf(2, 90, 95, "accepted"), gapOf(7, 0, 4, "excluded")}
	for range 2 {
		if err := d.Pass(t.Context(), base.Try, gaps); err != nil {
			t.Fatal(fault.Line(err))
		}
		wantRows(t, db, standsQuery, "0\t110\t"+newLife+"\n1\t101\t"+newLife+"\n2\t102\t"+newLife+"\n7\t4\t"+newLife+"\n")
		wantRows(t, db, gapsQuery, "0\t100\t110\taccepted\tann\tticket 7\t2026-07-01 11:00:00\n"+
			"2\t90\t95\taccepted\tann\tticket 7\t2026-07-01 11:00:00\n7\t0\t4\texcluded\tann\tticket 7\t2026-07-01 11:00:00\n")
	}
	other := base.Try
	other.RunID = otherRun
	refusedAs(t, d.Pass(t.Context(), other, gaps), fault.Fenced, runID)
	if err := d.Settle(t.Context(), recovery.Settlement{Try: base.Try, State: apply.StateLive}); err != nil {
		t.Fatal(fault.Line(err))
	}
	if err := d.Pass(t.Context(), base.Try, []body.Gap{gapOf(1, 101, 200, "accepted")}); err != nil {
		t.Fatalf("after the end: %v", err)
	}
	wantRows(t, db, "SELECT next_offset FROM tidemark.checkpoint WHERE flow = 'shop' AND partition = 1", "101\n")
}

// TestRestoreRewinds: replay that was asked to begin below the cut finds its checkpoint there, once, and what the base remembers
// of the records between is forgotten.
func TestRestoreRewinds(t *testing.T) {
	t.Parallel()
	db, d, base := restoredShop(t, func(try *recovery.Try) {
		try.Starts = body.Cut{{Flow: "shop", Topic: "orders", Partition: 1, NextOffset: 40}}
	})
	want := "0\t100\t" + newLife + "\n1\t40\t" + newLife + "\n2\t102\t" + newLife + "\n"
	wantRows(t, db, standsQuery, want)
	wantRows(t, db, "SELECT identity FROM tidemark.applied_identity ORDER BY 1", "kept\nother\n")
	db.Exec(t, "UPDATE tidemark.checkpoint SET next_offset = 60 WHERE partition = 1")
	restored(t, d, base) // the same call again: replay has begun
	wantRows(t, db, "SELECT next_offset FROM tidemark.checkpoint WHERE flow = 'shop' AND partition = 1", "60\n")
}

// TestSettleHolds what lies behind the end that was asked for, in the transaction that ends the recovery.
func TestSettleHolds(t *testing.T) {
	t.Parallel()
	held := []inspection.Held{
		{Flow: "shop", Topic: "orders", TopicID: newLife, Partition: 1, From: 101, Until: 120}, {Flow: "shop", Topic: "orders", From: 100, Until: 100},
	}
	db, d, base := restoredShop(t, func(try *recovery.Try) { try.Held = held })
	db.Migrate(t)
	for range 2 {
		if err := d.Settle(t.Context(), recovery.Settlement{Try: base.Try, State: apply.StateHeld}); err != nil {
			t.Fatal(fault.Line(err))
		}
	}
	wantRows(t, db, "SELECT flow, topic, topic_id, partition, from_offset, until_offset FROM tidemark.held ORDER BY partition",
		"shop\torders\t\\N\t0\t100\t100\nshop\torders\t"+newLife+"\t1\t101\t120\n")
	wantRows(t, db, "SELECT state FROM tidemark.target", "held\n")
}

// restoredShop is a database with a base whose flow shop stands at 100, 101 and 102 in three partitions, claimed by a try that
// change may change.
func restoredShop(t *testing.T, change func(*recovery.Try)) (*postgrestest.Database, *restore.Database, recovery.Base) {
	t.Helper()
	original := postgrestest.Live(t, "CREATE TABLE t (a integer PRIMARY KEY); INSERT INTO t VALUES (1)")
	fillLedger(t, original)
	original.Exec(t, `DELETE FROM tidemark.gap; DELETE FROM tidemark.applied_identity;
		INSERT INTO tidemark.applied_identity (flow, identity, topic, partition, "offset", record_time)
		VALUES ('shop', 'kept', 'orders', 1, 39, now()), ('shop', 'gone', 'orders', 1, 40, now()), ('shop', 'other', 'orders', 0, 50, now())`)
	base, _ := baseOf(t, original, 10)
	if change != nil {
		change(&base.Try)
	}
	db, d := target(t, restore.Options{})
	if err := d.Claim(t.Context(), base.Try); err != nil {
		t.Fatal(fault.Line(err))
	}
	restored(t, d, base)
	return db, d, base
}

func wantRows(t *testing.T, db *postgrestest.Database, query, want string) {
	t.Helper()
	if got := db.Copy(t, query); got != want {
		t.Errorf("%s: got %q, want %q", query, got, want)
	}
}
