package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/record"
)

// TestWaits is about records that wait for another one. Most of the time the other comes soon; when it does not,
// nothing but the log says so, because the event source delivers for ever.
func TestWaits(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE TABLE parent (id text PRIMARY KEY);" +
		"CREATE TABLE child (id text PRIMARY KEY, parent text REFERENCES parent); INSERT INTO parent VALUES ('" + mark + "there');"
	const flow = "flow: children\nformat: plain\ntopics: [child]\nlog: dense\nplain: {table: public.child}\n"
	child := func(offset position.Offset, parent string, age time.Duration) record.Record {
		r := rec(offset, `{"id":"`+mark+offset.String()+`"}`, `{"parent":"`+mark+parent+`"}`)
		r.Time = r.Time.Add(-age)
		return r
	}
	levels := func(t *testing.T, f *function, want ...map[string]any) {
		t.Helper()
		if diff := cmp.Diff(want, f.lines(t, "batch stopped", "level", "class", "next_offset")); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	}
	stopped := func(level string, next float64) map[string]any {
		return map[string]any{"level": level, "class": "retryable", "next_offset": next}
	}
	t.Run("AnOldOneOfABacklogIsAWarning", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl), flow)
		f.fails(t, fault.Retryable, event(t, run("child", 0, child(0, "absent", 30*24*time.Hour))), "23503")
		levels(t, f, stopped("WARN", 0))
	})
	t.Run("ItBecomesAnErrorWithTime", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl), flow)
		waiting := event(t, run("child", 0, child(0, "absent", 0)))
		f.fails(t, fault.Retryable, waiting)
		f.now = func() time.Time { return time.Now().Add(4 * time.Minute) }
		f.fails(t, fault.Retryable, waiting)
		f.now = func() time.Time { return time.Now().Add(6 * time.Minute) }
		f.fails(t, fault.Retryable, waiting)
		levels(t, f, stopped("WARN", 0), stopped("WARN", 0), stopped("ERROR", 0))
	})
	t.Run("AnotherOneBehindItBeginsAnew", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, ddl)
		f := start(t, db, flow)
		waiting := event(t, run("child", 0, child(0, "later", 0), child(1, "absent", 0)))
		f.fails(t, fault.Retryable, waiting)
		db.Exec(t, "INSERT INTO parent VALUES ('"+mark+"later')")
		f.now = func() time.Time { return time.Now().Add(6 * time.Minute) }
		f.replies(t, `{"batchItemFailures":[{"itemIdentifier":{"partition":"child-0","offset":1}}]}`, waiting)
		levels(t, f, stopped("WARN", 0), stopped("WARN", 1))
	})
	// What waits for the database waits for no record: the alarm on failed invocations tells of it.
	t.Run("AnOldOneThatWaitsForTheDatabaseIsAWarning", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl), flow)
		f.target.Close(t.Context())
		f.fails(t, fault.Retryable, event(t, run("child", 0, child(0, "there", time.Hour))))
		levels(t, f, stopped("WARN", 0))
	})
}
