package services_test

import (
	"context"
	"errors"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"tidemark/localstack/child/childtest"
	"tidemark/localstack/services"
	"tidemark/shared/fault"
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, options services.PostgresOptions) *services.Postgres {
	t.Helper()
	p, err := services.StartPostgres(t.Context(), options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func show(t *testing.T, conn *pgx.Conn, setting string) string {
	t.Helper()
	var value string
	if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	p := start(t, services.PostgresOptions{Settings: map[string]string{"work_mem": "9MB"}})
	conn := connect(t, p.URL())
	for setting, want := range map[string]string{ //nolint:gosec // names of settings
		"listen_addresses": "127.0.0.1", "TimeZone": "UTC", "lc_monetary": "C", "server_encoding": "UTF8",
		"password_encryption": "scram-sha-256", "wal_level": "logical", "max_connections": "200",
		"fsync": "off", "synchronous_commit": "on", "work_mem": "9MB", "is_superuser": "on",
	} {
		if got := show(t, conn, setting); got != want {
			t.Errorf("%s: got %s, want %s", setting, got, want)
		}
	}

	address, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	if address.Hostname() != "127.0.0.1" {
		t.Errorf("got host %s, want 127.0.0.1", address.Hostname())
	}
	address.User = url.UserPassword("postgres", "guess")
	_, err = pgx.Connect(t.Context(), address.String())
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "28P01" {
		t.Errorf("got %v, want the password refused", err)
	}

	data := show(t, conn, "data_directory")
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	if status, ok := info.Sys().(*syscall.Stat_t); !ok || status.Uid == 0 {
		t.Error("the server's data belongs to root")
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(data)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the server's folder after Stop, want none", err)
	}
	if _, err := pgx.Connect(t.Context(), p.URL()); err == nil {
		t.Error("the server takes connections after Stop")
	}
	if err := p.Restart(t.Context()); err == nil {
		t.Error("a stopped server restarts")
	}
}

func TestPostgresKill(t *testing.T) {
	t.Parallel()
	p := start(t, services.PostgresOptions{Durable: true})
	conn := connect(t, p.URL())
	if got := show(t, conn, "fsync"); got != "on" {
		t.Errorf("got fsync %s of a durable server, want on", got)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 1 AS id"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "BEGIN; INSERT INTO kept VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a session outlives its server")
	}
	for _, from := range []string{"killed", "running"} {
		if err := p.Restart(t.Context()); err != nil {
			t.Fatalf("restart a %s server: %v", from, err)
		}
		var rows int
		if err := connect(t, p.URL()).QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if rows != 1 {
			t.Errorf("got %d rows after the restart of a %s server, want the committed one", rows, from)
		}
	}
}

func TestPostgresNamed(t *testing.T) {
	t.Parallel()
	theirs := start(t, services.PostgresOptions{})
	p, err := services.StartPostgres(t.Context(), services.PostgresOptions{URL: theirs.URL()})
	if err != nil {
		t.Fatal(err)
	}
	if p.URL() != theirs.URL() {
		t.Errorf("got %s, want the address that was named", p.URL())
	}
	if err := p.Kill(); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want a refusal to kill somebody else's server", err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	connect(t, p.URL())
}

func TestPostgresMissing(t *testing.T) {
	t.Parallel()
	_, err := services.StartPostgres(t.Context(), services.PostgresOptions{
		SearchDirs: []string{}, Mirror: "http://127.0.0.1:1", CacheDir: t.TempDir(),
	})
	if !fault.Is(err, fault.Misconfigured) {
		t.Fatalf("got %v, want misconfigured", err)
	}
	for _, way := range []string{"TIDEMARK_TEST_POSTGRES_URL", "install PostgreSQL", "Mirror"} {
		if !strings.Contains(fault.HintOf(err), way) {
			t.Errorf("got the hint %q, want it to name %s", fault.HintOf(err), way)
		}
	}
}

// TestPostgresDiesWithItsProcess kills a process that has a server, which then has nobody to stop it.
func TestPostgresDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	childtest.DiesWithItsProcess(t, func() (address, path string) {
		p := start(t, services.PostgresOptions{})
		return p.URL(), filepath.Dir(show(t, connect(t, p.URL()), "data_directory"))
	}, func(address string) bool {
		conn, err := pgx.Connect(t.Context(), address)
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err != nil
	})
}
