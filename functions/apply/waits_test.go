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
	for name, c := range map[string]struct {
		age   time.Duration
		level string
	}{
		"AFreshOneIsAWarning":               {0, "WARN"},
		"OneOfFourMinutesIsAWarning":        {4 * time.Minute, "WARN"},
		"OneThatWaitsForLongIsAnError":      {6 * time.Minute, "ERROR"},
		"OneThatWaitsForAMonthIsAnErrorToo": {30 * 24 * time.Hour, "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, postgrestest.Live(t, ddl), flow)
			f.fails(t, fault.Retryable, event(t, run("child", 0, child(0, "absent", c.age))), "23503")
			levels(t, f, stopped(c.level, 0))
		})
	}
	t.Run("ItBecomesAnErrorWithTime", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl), flow)
		waiting := event(t, run("child", 0, child(0, "absent", 0)))
		f.fails(t, fault.Retryable, waiting)
		f.now = func() time.Time { return time.Now().Add(6 * time.Minute) }
		f.fails(t, fault.Retryable, waiting)
		levels(t, f, stopped("WARN", 0), stopped("ERROR", 0))
	})
	// The age is that of the record that waits, and not of those before it that passed.
	t.Run("AFreshOneBehindAnOldOneIsAWarning", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl), flow)
		f.replies(t, `{"batchItemFailures":[{"itemIdentifier":{"partition":"child-0","offset":1}}]}`,
			event(t, run("child", 0, child(0, "there", time.Hour), child(1, "absent", 0))))
		levels(t, f, stopped("WARN", 1))
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
