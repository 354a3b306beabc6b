package harness_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/tests/internal/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

type runner struct{ *testing.M }

func (r runner) Run() int { return servicestest.Run(r.M) }

// bundle is a proxy before a database of its own, and a session that goes past the proxy.
type bundle struct {
	proxy *harness.Proxy
	url   string // through the proxy
	plain *pgx.Conn
}

func newBundle(t *testing.T) *bundle {
	t.Helper()
	address := servicestest.Database(t)
	plain, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close(context.WithoutCancel(t.Context())) })
	if _, err := plain.Exec(t.Context(), "CREATE TABLE t (n int)"); err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := harness.Listen(t.Context(), parsed.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	parsed.Host = proxy.Address()
	return &bundle{proxy: proxy, url: parsed.String(), plain: plain}
}

// connect opens a session through the proxy.
func (b *bundle) connect(t *testing.T) (*pgconn.PgConn, error) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), b.url)
	if err == nil {
		t.Cleanup(func() { _ = conn.Conn().Close() })
	}
	return conn, err
}

func (b *bundle) mustConnect(t *testing.T) *pgconn.PgConn {
	t.Helper()
	conn, err := b.connect(t)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// insert runs one transaction of two inserts in one round trip.
func insert(t *testing.T, conn *pgconn.PgConn) error {
	t.Helper()
	batch := &pgconn.Batch{}
	for _, sql := range []string{
		"BEGIN", "INSERT INTO t VALUES (1)", `WITH x AS (DELETE FROM ONLY "t" WHERE n = 7) INSERT INTO public.t SELECT 2`, "COMMIT",
	} {
		batch.ExecParams(sql, nil, nil, nil, nil)
	}
	return conn.ExecBatch(t.Context(), batch).Close()
}

func (b *bundle) count(t *testing.T) int {
	t.Helper()
	var n int
	// A share lock waits for sessions that have not noticed their end.
	if _, err := b.plain.Exec(t.Context(), "BEGIN; LOCK TABLE t IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	if err := b.plain.QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := b.plain.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	return n
}

func texts(effects []harness.Effect) []string {
	out := make([]string, 0, len(effects))
	for _, e := range effects {
		out = append(out, e.Text)
	}
	return out
}

var wanted = []string{"connect", "begin", "insert t", "delete t, insert public.t", "commit"}

func TestProxy(t *testing.T) {
	t.Parallel()
	t.Run("NumbersEffects", numbersEffects)
	t.Run("CutsBeforeTheEffect", cutsBeforeTheEffect)
	t.Run("DropsTheReplyAfterTheEffect", dropsTheReplyAfterTheEffect)
	t.Run("ActsWhereTheServerPassesOver", actsWhereTheServerPassesOver)
	t.Run("GoesOnAfterAnAct", goesOnAfterAnAct)
	t.Run("LeavesAnOrphan", leavesAnOrphan)
	t.Run("RefusesConnections", refusesConnections)
	t.Run("CountsCancelRequests", countsCancelRequests)
}

func numbersEffects(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.proxy.Watch()
	conn := b.mustConnect(t)
	if err := insert(t, conn); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "show transaction_read_only").ReadAll(); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"SELECT c.oid, EXISTS (SELECT FROM t WHERE (n) = 1) FROM pg_catalog.pg_class AS c WHERE relname = 'secret'",
		"WITH x AS (SELECT n FROM t) SELECT count(*) FROM ONLY t", "SELECT pg_catalog.set_config('search_path', 'x', true)",
	} {
		if _, err := conn.ExecParams(t.Context(), sql, nil, nil, nil, nil).Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := slices.Concat(wanted, []string{
		"show transaction_read_only", "select pg_catalog.pg_class", "select t", "select pg_catalog.set_config",
	})
	if diff := cmp.Diff(want, texts(b.proxy.Effects())); diff != "" {
		t.Error(diff)
	}
	if at, fired := b.proxy.Fired(); fired {
		t.Errorf("fired at %s without a trigger", at)
	}
	if got := b.count(t); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
}

// transaction makes changes and commits them.
type transaction func(*testing.T, *pgconn.PgConn) error

// sweep runs connect and transaction, whose effects are wanted, against each number, and says how many rows were there
// afterwards.
func (b *bundle) sweep(t *testing.T, wanted []string, run transaction, form func(int) harness.Trigger) []int {
	t.Helper()
	rows := make([]int, len(wanted))
	for k := range wanted {
		if _, err := b.plain.Exec(t.Context(), "TRUNCATE t"); err != nil {
			t.Fatal(err)
		}
		b.proxy.Arm(form(k + 1))
		conn, err := b.connect(t)
		if err == nil {
			err = run(t, conn)
		}
		if err == nil {
			t.Errorf("%s: the client noticed nothing", wanted[k])
		}
		if at, fired := b.proxy.Fired(); !fired || at.Number != k+1 || at.Text != wanted[k] {
			t.Errorf("fired %v at %s, want %d %s", fired, at, k+1, wanted[k])
		}
		rows[k] = b.count(t)
	}
	return rows
}

func cutsBeforeTheEffect(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]int{0, 0, 0, 0, 0}, newBundle(t).sweep(t, wanted, insert, harness.ErrorBefore)); diff != "" {
		t.Error(diff)
	}
}

func dropsTheReplyAfterTheEffect(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]int{0, 0, 0, 0, 2}, newBundle(t).sweep(t, wanted, insert, harness.ReplyDropped)); diff != "" {
		t.Error(diff)
	}
}

// An error makes the server pass over the rest of a pipeline; a trigger there must neither wait for ever nor be lost.
func actsWhereTheServerPassesOver(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	conn := b.mustConnect(t)
	b.proxy.Arm(harness.Trigger{Text: "commit", After: true, Act: pass})
	batch := &pgconn.Batch{}
	for _, sql := range []string{"BEGIN", "SELECT nonsense", "COMMIT"} {
		batch.ExecParams(sql, nil, nil, nil, nil)
	}
	err := conn.ExecBatch(t.Context(), batch).Close()
	if server, ok := errors.AsType[*pgconn.PgError](err); !ok || server.Code != "42703" {
		t.Errorf("got %v, want the server's own error", err)
	}
	if _, fired := b.proxy.Fired(); !fired {
		t.Error("the trigger did not fire")
	}
}

func pass(harness.Point) harness.Verdict { return harness.Pass }

func goesOnAfterAnAct(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		b := newBundle(t)
		fired := b.proxy.Arm(harness.Trigger{Text: "insert t", After: after, Act: pass})
		conn := b.mustConnect(t)
		if err := insert(t, conn); err != nil {
			t.Errorf("after %v: %v", after, err)
		}
		want := harness.Point{Effect: harness.Effect{Number: 3, Text: "insert t"}, ServerPID: conn.PID()}
		if diff := cmp.Diff(want, <-fired); diff != "" {
			t.Errorf("after %v: %s", after, diff)
		}
		if got := b.count(t); got != 2 {
			t.Errorf("after %v: %d rows, want 2", after, got)
		}
	}
}

func leavesAnOrphan(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	fired := b.proxy.Arm(harness.Trigger{Text: "commit", Act: func(harness.Point) harness.Verdict { return harness.Orphan }})
	if err := insert(t, b.mustConnect(t)); err == nil {
		t.Error("the client noticed nothing")
	}
	var state string
	err := b.plain.QueryRow(t.Context(), "SELECT state FROM pg_stat_activity WHERE pid = $1", int64((<-fired).ServerPID)).Scan(&state)
	if err != nil {
		t.Errorf("the server's session is gone: %v", err)
	}
}

func refusesConnections(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.proxy.RefuseNext(2)
	for range 2 {
		if _, err := b.connect(t); err == nil {
			t.Error("a connection was made")
		}
	}
	if err := insert(t, b.mustConnect(t)); err != nil {
		t.Error(err)
	}
}

func countsCancelRequests(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	conn := b.mustConnect(t)
	if got := b.proxy.Cancels(); got != 0 {
		t.Errorf("%d cancel requests, want 0", got)
	}
	if err := conn.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.proxy.Cancels(); got != 1 {
		t.Errorf("%d cancel requests, want 1", got)
	}
}
