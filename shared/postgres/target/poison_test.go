package target_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// three is a batch of three partitions with five records each.
func three() record.Batch {
	var batch record.Batch
	for n := range int32(3) {
		batch = append(batch, applytest.Items(applytest.P(n), span(0, 5), "a"))
	}
	return batch
}

func cut(next ...position.Offset) position.Cut {
	c := position.Cut{}
	for n, o := range next {
		c[applytest.P(int32(n))] = o
	}
	return c
}

// TestPoison is about a record that can never pass (A15): what precedes it commits, other partitions go on, and its own
// stops there.
func TestPoison(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*record.Record){
		"AViolatedCheck":      func(r *record.Record) { r.Value = applytest.Item("bad", applytest.Refused) },
		"AnUndecodableRecord": func(r *record.Record) { r.Value = applytest.Unreadable() },
		"AMalformedRecord": func(r *record.Record) {
			r.Malformed = fault.New(fault.Poison, "its headers are no headers")
		},
		"ANullInTheKey":         func(r *record.Record) { r.Value = applytest.Put("item", "body", "no id") },
		"AnInvalidText":         func(r *record.Record) { r.Value = applytest.Put("number", "id", "payload") },
		"AnOverflow":            func(r *record.Record) { r.Value = applytest.Put("number", "id", "99999999999") },
		"AMissingNotNullColumn": func(r *record.Record) { r.Value = applytest.Put("number", "id", "1") },
		"AnExceptionOfATrigger": func(r *record.Record) { r.Value = applytest.Item("raise", "P0001") },
	} {
		t.Run(name+"StopsItsPartitionAlone", func(t *testing.T) {
			t.Parallel()
			s := open(t, "CREATE TABLE number (id int PRIMARY KEY, must text NOT NULL);"+raisingDDL, target.Options{})
			batch := three()
			spoil(&batch[1].Records[2])
			b := s.bench(apply.Options{})
			outcome, err := b.Deliver(batch...)
			want := applytest.Want{Class: fault.Poison, Applied: 12, Next: cut(5, 2, 5)}
			b.Check(want, outcome, err)
			mustBe(t, err, fault.Poison, "orders/1 [2,3)")
			if strings.Contains(fault.Line(err), "payload") {
				t.Errorf("the error shows a value: %q", fault.Line(err))
			}
			good := []record.Run{batch[0], {Records: batch[1].Records[:2]}, batch[2]}
			b.MustStand(cut(5, 2, 5), applytest.RowsOf(good...))
			mustName(t, batch, outcome, 2, 3, 4)
			b.MustDeliver(applytest.Want{Class: fault.Poison, Skipped: 12, Next: cut(5, 2, 5)}, batch...)
		})
	}
	t.Run("EveryPlaceOfTheRecordIsFound", func(t *testing.T) {
		t.Parallel()
		b := open(t, "", target.Options{}).bench(apply.Options{})
		want, good := position.Cut{}, []record.Run(nil)
		for place := range 7 {
			run := applytest.Items(applytest.P(int32(place)), span(0, 7), "a")
			run.Records[place].Value = applytest.Item("bad", applytest.Refused)
			next := position.Cut{run.Partition: position.Offset(place)}
			b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: place, Next: next}, run)
			good = append(good, record.Run{Records: run.Records[:place]})
			if place > 0 {
				maps.Copy(want, next)
			}
		}
		b.MustStand(want, applytest.RowsOf(good...))
	})
	for _, state := range []string{"ZZ001", "XX000", "55000", "21000"} {
		t.Run("AnUnknownRefusalStopsAndIsNotPoison/"+state, func(t *testing.T) {
			t.Parallel()
			b := open(t, raisingDDL, target.Options{}).bench(apply.Options{})
			run := items(0, 3, "a")
			run.Records[1].Value = applytest.Item("raise", state)
			outcome, err := b.Deliver(run)
			if err == nil || fault.ClassOf(err) != fault.Unclassified || outcome.Next()[applytest.P(0)] != 1 {
				t.Errorf("got %v and error %v (%s), want an unclassified stop at 1", outcome, err, fault.ClassOf(err))
			}
			run.Records = run.Records[:1]
			b.MustStand(at0(1), applytest.RowsOf(run))
		})
	}
}

// mustName holds the reply to the event source: it names the offsets of partition 1 and nothing else.
func mustName(t *testing.T, batch record.Batch, outcome apply.Outcome, offsets ...position.Offset) {
	t.Helper()
	got, err := kafkaevent.ParseReply(kafkaevent.Reply(batch, outcome.Next()))
	if err != nil {
		t.Fatalf("parse the reply: %v", err)
	}
	var want []kafkaevent.Failure
	for _, o := range offsets {
		want = append(want, kafkaevent.Failure{Partition: applytest.P(1), Offset: o})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

// TestForeignKey: with a topic per table a child may be ahead of its parent (A15).
func TestForeignKey(t *testing.T) {
	t.Parallel()
	parents := position.Partition{Topic: "parents"} // behind orders in lock order
	const ddl = "CREATE TABLE parent (id text PRIMARY KEY);" +
		"CREATE TABLE child (id text PRIMARY KEY, parent text REFERENCES parent"
	batch := record.Batch{
		{Partition: applytest.P(0), Records: []record.Record{
			applytest.At(0, applytest.Put("child", "id", "a", "parent", "1")),
			applytest.At(1, applytest.Put("child", "id", "b", "parent", "2")),
			applytest.At(2, applytest.Put("child", "id", "c", "parent", "1")),
		}},
		{Partition: parents, Records: []record.Record{applytest.At(1, applytest.Put("parent", "id", "2"))}},
	}
	begin := func(t *testing.T, deferred string) (*subject, *applytest.Bench) {
		t.Helper()
		s := open(t, ddl+deferred+")", target.Options{})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 1, Next: position.Cut{parents: 1}},
			record.Run{Partition: parents, Records: []record.Record{applytest.At(0, applytest.Put("parent", "id", "1"))}})
		return s, b
	}
	ended := func(t *testing.T, s *subject) {
		t.Helper()
		const all = "a\t1\nb\t2\nc\t1\n"
		if got := s.db.Copy(t, "SELECT * FROM child ORDER BY id"); got != all {
			t.Errorf("children: got %q, want %q", got, all)
		}
	}
	t.Run("AChildBeforeItsParentComesAgain", func(t *testing.T) {
		t.Parallel()
		s, b := begin(t, "")
		want := applytest.Want{Class: fault.Retryable, Applied: 1, Next: position.Cut{applytest.P(0): 1}}
		mustBe(t, b.MustFail(want, batch[0]), fault.Retryable, "orders/0 [1,2)", "23503")
		b.MustDeliver(applytest.Want{Applied: 3, Skipped: 1, Next: position.Cut{applytest.P(0): 3, parents: 2}}, batch...)
		ended(t, s)
	})
	t.Run("ASplitBetweenChildAndParentComesAgain", func(t *testing.T) {
		t.Parallel()
		s, _ := begin(t, "")
		b := s.bench(apply.Options{MaxRows: 3})
		want := applytest.Want{Class: fault.Retryable, Applied: 2, Next: position.Cut{applytest.P(0): 1, parents: 2}}
		mustBe(t, b.MustFail(want, batch...), fault.Retryable, "orders/0 [1,2)", "23503")
		b.MustDeliver(applytest.Want{Applied: 2, Skipped: 2, Next: position.Cut{applytest.P(0): 3, parents: 2}}, batch...)
		ended(t, s)
	})
	t.Run("AChildAndItsParentInOneTransactionPass", func(t *testing.T) {
		t.Parallel()
		s, b := begin(t, "")
		b.MustDeliver(applytest.Want{Applied: 4, Next: position.Cut{applytest.P(0): 3, parents: 2}}, batch...)
		ended(t, s)
	})
	t.Run("ADeferredKeyIsJudgedAtCommit", func(t *testing.T) {
		t.Parallel()
		s, b := begin(t, " DEFERRABLE INITIALLY DEFERRED")
		want := applytest.Want{Class: fault.Retryable, Applied: 1, Next: position.Cut{applytest.P(0): 1}}
		mustBe(t, b.MustFail(want, batch[0]), fault.Retryable, "orders/0 [1,2)", "23503")
		b.MustDeliver(applytest.Want{Applied: 3, Skipped: 1, Next: position.Cut{applytest.P(0): 3, parents: 2}}, batch...)
		ended(t, s)
	})
}

// TestSchemaChange is about tables that change while an environment lives: what does not fit is Misconfigured for its own
// partition, and the next call sees the table as it is by then.
func TestSchemaChange(t *testing.T) {
	t.Parallel()
	put := func(cells ...string) record.Data { return applytest.Put("wide", cells...) }
	for _, c := range []struct {
		name, before, change, mend string
		first, then                record.Data // put before and after the change
	}{
		{
			"ATableThatIsMissing", "", "", "CREATE TABLE wide (id text PRIMARY KEY, extra text)",
			applytest.Item("x", "y"), put("id", "1", "extra", "2"),
		}, {
			"AColumnThatIsMissing", "CREATE TABLE wide (id text PRIMARY KEY)", "", "ALTER TABLE wide ADD COLUMN extra text",
			put("id", "1"), put("id", "1", "extra", "2"),
		}, {
			"ATableThatWasDropped", "CREATE TABLE wide (id text PRIMARY KEY, extra text)", "DROP TABLE wide",
			"CREATE TABLE wide (id text PRIMARY KEY, extra text)", put("id", "1"), put("id", "1", "extra", "2"),
		}, {
			"AColumnThatWasDropped", "CREATE TABLE wide (id text PRIMARY KEY, extra text)", "ALTER TABLE wide DROP COLUMN extra",
			"ALTER TABLE wide ADD COLUMN extra text", put("id", "1"), put("id", "1", "extra", "2"),
		}, {
			"AColumnThatBecameAnotherType", "CREATE TABLE wide (id text PRIMARY KEY, extra text)",
			"ALTER TABLE wide ALTER COLUMN extra TYPE int USING 0", "", put("id", "1", "extra", "text"), put("id", "1", "extra", "2"),
		},
	} {
		t.Run(c.name+"StopsItsPartitionUntilItFits", func(t *testing.T) {
			t.Parallel()
			s := open(t, c.before, target.Options{})
			b := s.bench(apply.Options{})
			b.MustDeliver(applytest.Want{Applied: 1, Next: at0(1)},
				record.Run{Partition: applytest.P(0), Records: []record.Record{applytest.At(0, c.first)}})
			s.db.Exec(t, c.change)
			batch := []record.Run{
				{Partition: applytest.P(0), Records: []record.Record{
					applytest.At(1, applytest.Item("good", "a")), applytest.At(2, c.then), applytest.At(3, applytest.Item("last", "a")),
				}},
				applytest.Items(applytest.P(1), span(0, 3), "a"),
			}
			err := b.MustFail(applytest.Want{Class: fault.Misconfigured, Applied: 4, Next: cut(2, 3)}, batch...)
			mustBe(t, err, fault.Misconfigured, "orders/0 [2,3)")
			s.db.Exec(t, c.mend)
			b.MustDeliver(applytest.Want{Applied: 2, Skipped: 4, Next: cut(4, 3)}, batch...)
			if got := s.db.Copy(t, "SELECT id, extra FROM wide WHERE extra = '2' OR extra IS NULL"); got != "1\t2\n" {
				t.Errorf("the row after the change: got %q", got)
			}
		})
	}
}

// TestSplit: each split commits its own position, in a transaction of its own.
func TestSplit(t *testing.T) {
	t.Parallel()
	s := open(t, "", target.Options{})
	b := s.bench(apply.Options{MaxRows: 3})
	b.MustDeliver(applytest.Want{Applied: 10, Next: cut(5, 5)},
		applytest.Items(applytest.P(0), span(0, 5), "a"), applytest.Items(applytest.P(1), span(0, 5), "a"))
	want := "orders/0/0 orders/0/1 orders/0/2\norders/0/3 orders/0/4 orders/1/0\norders/1/1 orders/1/2 orders/1/3\norders/1/4\n"
	got := s.db.Copy(t, "SELECT string_agg(id, ' ' ORDER BY id) FROM item GROUP BY xmin::text ORDER BY 1")
	if got != want {
		t.Errorf("rows by transaction: got\n%s\nwant\n%s", got, want)
	}
	// The third of these transactions is refused: what the first two committed stands, by position.
	bad := applytest.Items(applytest.P(0), span(5, 12), "b")
	bad.Records[6].Value = applytest.Item("bad", applytest.Refused)
	b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 6, Next: at0(11)}, bad)
	if next := b.Checkpoints(); !cmp.Equal(next, cut(11, 5)) {
		t.Errorf("checkpoints %v, want 11 and 5", next)
	}
}

func TestRollback_KeepsTheConnection(t *testing.T) {
	t.Parallel()
	s := open(t, "", target.Options{})
	b := s.bench(apply.Options{})
	bad := items(0, 4, "a")
	bad.Records[3].Value = applytest.Item("bad", applytest.Refused)
	b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 3, Next: at0(3)}, bad)
	pids := fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> %d",
		s.db.Conn.PgConn().PID())
	if got := s.db.Copy(t, pids); got != "1\n" {
		t.Errorf("%s sessions after refusals, want 1", strings.TrimSpace(got))
	}
}
