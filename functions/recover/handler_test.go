package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
)

const flow, orders = "shop", "orders"

func at(number int32) position.Partition { return position.Partition{Topic: orders, Number: number} }

// function is the handler in a world with a backup and three records behind it.
type function struct {
	*handler
	*recoverytest.World

	database *recoverytest.Database
	change   func(*recovery.Options)
	closed   int
	out      *bytes.Buffer
}

func start(t *testing.T) *function {
	t.Helper()
	f := &function{World: recoverytest.New(t, 1), out: &bytes.Buffer{}, change: func(*recovery.Options) {}}
	f.Flows[flow] = []string{orders}
	f.Log.Create(orders, 2)
	for n := range 7 {
		f.Log.Append(at(int32(n%2)), f.Now(), recoverytest.Put(fmt.Sprint(n), "v"))
		if n == 3 {
			f.Backup(t, f.Stable())
		}
	}
	f.database = f.Database()
	f.handler = &handler{
		log: slog.New(slog.NewJSONHandler(f.out, nil)), now: time.Now, name: "recover",
		open: func(context.Context) (opened, error) {
			o := f.Process(f.database, nil).Options(t)
			f.change(&o)
			return opened{Options: o, Covers: func(recovery.Plan) error { return nil }, Close: func() { f.closed++ }}, nil
		},
	}
	return f
}

func (f *function) invoke(t *testing.T, ctx context.Context, payload string) (reply result) { //nolint:revive // as a test's helper
	t.Helper()
	answered, err := f.Invoke(ctx, []byte(payload))
	if err != nil {
		t.Fatalf("%v\n%s", err, f.out)
	}
	if err := json.Unmarshal(answered, &reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestRecover(t *testing.T) {
	t.Parallel()
	t.Run("WritesNothingUnlessItIsTold", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		for _, payload := range []string{"", "{}", `{"dry_run":true}`, `{"allow_gap":"why"}`} {
			got := f.invoke(t, t.Context(), payload)
			if got.Outcome != planned || got.Plan.Records != 3 || got.Plan.Rows != 4 || len(got.Plan.Replays) != 2 || got.Report != nil {
				t.Errorf("%s: got %+v", payload, got)
			}
		}
		if f.database.Try() != nil || f.closed != 4 || len(recoverytest.Lives(t, f.World)) > 1 {
			t.Errorf("the database has try %v, %d recoveries were closed", f.database.Try(), f.closed)
		}
	})
	t.Run("Recovers", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		got := f.invoke(t, t.Context(), `{"dry_run":false,"jobs":2}`)
		if got.Outcome != recovered || got.Continue || got.Report.State != "live" || got.Report.Replayed[flow].Applied != 3 {
			t.Errorf("got %+v, %+v", got, got.Report)
		}
		recoverytest.Recovered(t, f.World, f.database)
		if again := f.invoke(t, t.Context(), `{"dry_run":false}`); again.Outcome != recovered || !again.Plan.Settled {
			t.Errorf("got %+v", again)
		}
		f = start(t)
		got = f.invoke(t, t.Context(), `{"dry_run":false,"until":["orders/0=3"]}`)
		if got.Report.State != "held" || got.Report.Held != 1 || f.database.State() != apply.StateHeld {
			t.Errorf("got %+v", got.Report)
		}
	})
	t.Run("RefusesByName", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.Log.Trim(at(0), 3)
		got := f.invoke(t, t.Context(), `{"dry_run":false}`)
		if got.Outcome != refused || got.Refusal != refusal.LogTruncated || !strings.Contains(got.Hint, "--allow-gap") || f.database.Try() != nil {
			t.Errorf("got %+v", got)
		}
		if got := f.invoke(t, t.Context(), `{"dry_run":false,"allow_gap":"ticket 7"}`); got.Outcome != recovered || len(got.Plan.Gaps) != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("TellsWhatMayGoOnFromWhatMayNot", func(t *testing.T) {
		t.Parallel()
		for name, class := range map[string]fault.Class{"*main.RetryableError": fault.Retryable, "*main.FailedError": fault.Poison} {
			f := start(t)
			f.change = func(o *recovery.Options) { o.Database = failing{o.Database, fault.New(class, "stopped")} }
			if _, err := f.Invoke(t.Context(), []byte(`{"dry_run":false}`)); fmt.Sprintf("%T", err) != name || !fault.Is(err, class) {
				t.Errorf("got %T %v, want %s", err, err, name)
			}
		}
	})
	t.Run("RefusesAnEventThatIsMisspelt", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		for _, payload := range []string{
			`{"dryrun":false}`, `{"dry_run":"no"}`, `{"until":["yesterday"]}`, `{"until":["orders/0=1","orders/0=2"]}`, `{"from":["x"]}`,
			`{"manifest":"1/1"}`, `{"jobs":17}`, `[]`,
		} {
			if _, err := f.Invoke(t.Context(), []byte(payload)); !fault.Is(err, fault.Misconfigured) {
				t.Errorf("%s: got %v", payload, err)
			}
		}
	})
}

// failing is a database that refuses to settle.
type failing struct {
	recovery.Database

	with error
}

func (d failing) Settle(context.Context, recovery.Settlement) error { return d.with }

// TestGoesOnInSlices: an invocation whose time ends says so, and the same event ends what it began.
func TestGoesOnInSlices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		f.change = func(o *recovery.Options) { o.Database = slow{o.Database} }
		got := f.invoke(t, ctx, `{"dry_run":false}`)
		if got.Outcome != goOn || !got.Continue || got.Report == nil || got.Report.State != "restoring" || got.Seconds > 14.5*60 {
			t.Errorf("got %+v", got)
		}
		run := got.Report.Run
		f.change = func(*recovery.Options) {}
		got = f.invoke(t, t.Context(), `{"dry_run":false}`)
		if got.Outcome != recovered || got.Report.Run != run || got.Plan.Resumed != run {
			t.Errorf("got %+v, want run %s to have gone on", got, run)
		}
		recoverytest.Recovered(t, f.World, f.database)
	})
}

// slow is a database that restores until it is told to end.
type slow struct{ recovery.Database }

func (slow) Restore(ctx context.Context, _ recovery.Base) (recovery.Restored, error) {
	<-ctx.Done()
	return recovery.Restored{}, fault.New(fault.Retryable, "restore: %w", ctx.Err())
}
