//go:build drill

package drill_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/localstack/runtimeapi"
	"tidemark/localstack/services"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/tests/internal/harness"
)

// crashable is a target on a server of its own.
type crashable struct {
	*world

	server *services.Postgres
}

func newCrashable(t *testing.T) *crashable {
	t.Helper()
	server, err := services.StartPostgres(t.Context(), services.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	c := &crashable{server: server}
	db := &postgrestest.Database{URL: server.URL(), Conn: connect(t, server.URL())}
	t.Cleanup(func() { _ = db.Conn.Close(context.WithoutCancel(t.Context())) })
	db.Migrate(t)
	if _, _, err := ledger.NewOperator(db.Conn, postgrestest.Schema, "drill").Init(t.Context(), postgrestest.TargetID); err != nil {
		t.Fatal(err)
	}
	db.Exec(t, ddl)
	c.world = worldIn(t, db)
	return c
}

// connect opens a session of the drill's own, which waits for no standby. The caller closes it.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatalf("connect past the proxy: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "SET synchronous_commit = local"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// revive starts the server again.
func (c *crashable) revive(t *testing.T) {
	t.Helper()
	if err := c.server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = c.db.Conn.Close(t.Context()) // its server is gone
	c.db.Conn = connect(t, c.db.URL)
}

// crash is an act that kills the server's processes.
func (c *crashable) crash(t *testing.T, then harness.Verdict) func(harness.Point) harness.Verdict {
	t.Helper()
	return func(harness.Point) harness.Verdict {
		if err := c.server.Kill(); err != nil {
			t.Errorf("kill the server: %v", err)
		}
		return then
	}
}

// crashRacing is an act that kills the server while the effect is on its way.
func (c *crashable) crashRacing(t *testing.T, killing *sync.WaitGroup) func(harness.Point) harness.Verdict {
	t.Helper()
	return func(harness.Point) harness.Verdict {
		killing.Go(func() { c.crash(t, harness.Pass)(harness.Point{}) })
		return harness.Pass
	}
}

// TestServer crashes and restarts the server under a process that lives on. The parts share one server, one after the
// other.
//
//nolint:tparallel // its parts share a server that they crash
func TestServer(t *testing.T) {
	t.Parallel()
	c := newCrashable(t)
	var racing sync.WaitGroup
	t.Run("CrashedBeforeCommit", func(t *testing.T) {
		c.crashAtCommit(t, harness.Trigger{Act: c.crash(t, harness.Pass)}, untouched)
	})
	t.Run("CrashedAfterCommit", func(t *testing.T) {
		c.crashAtCommit(t, harness.Trigger{After: true, Act: c.crash(t, harness.Cut)}, applied)
	})
	t.Run("CrashedWhileCommitting", func(t *testing.T) {
		c.crashAtCommit(t, harness.Trigger{Act: c.crashRacing(t, &racing)}, uncertain)
		racing.Wait()
	})
	t.Run("CrashedWhileWaitingForAStandby", c.crashedWhileWaiting)
	t.Run("CommitOutlivesItsInvocation", c.commitOutlivesItsInvocation)
	t.Run("RestartedBetweenDeliveries", c.restartedBetweenDeliveries)
}

// crashAtCommit delivers into a server that crashes at the COMMIT, starts it again and delivers until all is applied.
func (c *crashable) crashAtCommit(t *testing.T, trigger harness.Trigger, want verdict) {
	t.Helper()
	c.reset(t)
	l := c.newLambda(t, lambdaOptions{})
	l.settle(t, c.batch(nil, c.first), 1)
	batch := c.batch(c.first, c.end())
	trigger.Text = commit
	crashed := l.proxy.Arm(trigger)
	reply, err := l.Invoke(t.Context(), event(t, batch))
	receive(t, "the crash", crashed)
	c.revive(t)
	d := l.judge(t, batch, reply, err)
	switch want {
	case untouched:
		c.ends(t, c.first)
	case applied, replied:
		c.ends(t, c.end())
	case uncertain:
	}
	if d.done && want != uncertain {
		t.Error("it was called applied while the server was down")
	}
	l.settle(t, batch, 1)
	c.ends(t, c.end())
}

// withoutStandby makes every COMMIT wait for a standby that does not exist. The result ends that.
func (c *crashable) withoutStandby(t *testing.T) (release func()) {
	t.Helper()
	reload := "SELECT pg_reload_conf()"
	set := func(sql string) {
		if _, err := c.db.Conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	set("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	set(reload)
	await(t, "a server that waits for standbys", func() bool {
		return c.ask(t, "SELECT setting FROM pg_settings WHERE name = 'synchronous_standby_names'") == "nobody"
	})
	return func() {
		set("ALTER SYSTEM RESET synchronous_standby_names")
		set(reload)
	}
}

func (c *crashable) awaitStandbyWait(t *testing.T) {
	t.Helper()
	await(t, "a COMMIT that waits for a standby", func() bool {
		return c.ask(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
	})
}

// A COMMIT that waits for a standby is durable here and unanswered. A crash in this moment keeps it.
func (c *crashable) crashedWhileWaiting(t *testing.T) {
	c.reset(t)
	l := c.newLambda(t, lambdaOptions{})
	l.settle(t, c.batch(nil, c.first), 1)
	batch := c.batch(c.first, c.end())
	release := c.withoutStandby(t)
	end := l.start(t, batch)
	c.awaitStandbyWait(t)
	if _, err := c.db.Conn.Exec(t.Context(), "ALTER SYSTEM RESET synchronous_standby_names"); err != nil {
		t.Fatal(err) // without a reload: it counts from the restart on
	}
	if err := c.server.Kill(); err != nil {
		t.Fatal(err)
	}
	lost := receive(t, "the end of the invocation", end)
	c.revive(t)
	release()
	if d := l.judge(t, batch, lost.reply, lost.err); d.done {
		t.Error("it was called applied while the server was down")
	}
	c.ends(t, c.end())
	l.settle(t, batch, 1)
	c.ends(t, c.end())
}

// The invocation's time ends while its COMMIT waits. Nobody cancels it (a cancelled wait succeeds without the standby),
// the next delivery finds the lock taken, and when the standby has answered the records are there once.
func (c *crashable) commitOutlivesItsInvocation(t *testing.T) {
	c.reset(t)
	l := c.newLambda(t, lambdaOptions{timeout: shortTimeout})
	l.settle(t, c.batch(nil, c.first), 1)
	end, truncated := c.end(), basket.partition(0)
	end[truncated] = c.first[truncated] // its lock would keep the drill from reading
	batch := c.batch(c.first, end)
	release := c.withoutStandby(t)
	began := l.start(t, batch)
	c.awaitStandbyWait(t)
	d := l.done(t, batch, began)
	if d.done || !errors.Is(d.err, runtimeapi.ErrTimedOut) && failure(d.err).Type == "" {
		t.Errorf("done %v, %v; want a time-out or an error", d.done, d.err)
	}
	c.ends(t, c.first)
	if d := l.deliver(t, batch); d.done {
		t.Error("the partition was applied while the COMMIT waited")
	}
	release()
	await(t, "the COMMIT", func() bool { return c.verify(t)[orders.partition(0)] == end[orders.partition(0)] })
	l.settle(t, batch, 1)
	c.ends(t, end)
}

// A warm process finds its connection dead and makes another: no delivery fails.
func (c *crashable) restartedBetweenDeliveries(t *testing.T) {
	c.reset(t)
	l := c.newLambda(t, lambdaOptions{})
	l.settle(t, c.batch(nil, c.first), 1)
	c.revive(t)
	l.settle(t, c.batch(c.first, c.end()), 1)
	c.ends(t, c.end())
	if got := l.Counts().ColdStarts; got != 1 {
		t.Errorf("%d cold starts, want the one process", got)
	}
}
