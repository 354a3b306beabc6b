// Package servicestest gives tests the services they need: a database of their own on one PostgreSQL server that the
// whole test process shares.
//
// It refuses to skip: a service that is missing fails the test. The server is the one named by TIDEMARK_TEST_POSTGRES_URL
// or a throw-away one, started by the first test that asks and ended with the process, however the process ends. Tests
// that kill or restart a server start their own with services.StartPostgres. Safe for parallel tests.
package servicestest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/localstack/services"
)

// URLVariable names the environment variable with the address of a server to use instead of a throw-away one.
const URLVariable = "TIDEMARK_TEST_POSTGRES_URL"

// shared is the server of this test process.
type shared struct {
	mu       sync.Mutex
	postgres *services.Postgres
	err      error
}

//nolint:gochecknoglobals // one server a test process: packages' tests share it without passing it around
var server shared

const databaseDeadline = time.Minute

// Database makes an empty database for this test alone and returns its address with a superuser. The database is dropped
// when the test ends, with sessions that are still in it.
func Database(tb testing.TB) string {
	tb.Helper()
	postgres, err := server.start(tb.Context())
	if err != nil {
		tb.Fatalf("a test needs PostgreSQL: %v", err)
	}
	name := "tidemark_test_" + strings.ToLower(rand.Text())
	execute(tb.Context(), tb, postgres.URL(), "CREATE DATABASE "+name+" TEMPLATE template0")
	tb.Cleanup(func() {
		execute(context.WithoutCancel(tb.Context()), tb, postgres.URL(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	address, err := url.Parse(postgres.URL())
	if err != nil {
		tb.Fatalf("parse the server's address: %v", err)
	}
	address.Path = "/" + name
	return address.String()
}

// Run runs a package's tests and then stops the server. Call it from TestMain to have the server gone before the process
// is; without it the server goes a moment later.
func Run(m *testing.M) int {
	code := m.Run()
	if err := server.stop(); err != nil {
		_, _ = os.Stderr.WriteString("stop the shared PostgreSQL: " + err.Error() + "\n")
		return max(code, 1)
	}
	return code
}

// start starts the server once. A failure is kept, so that a hundred tests do not wait for it a hundred times.
func (s *shared) start(ctx context.Context) (*services.Postgres, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.postgres == nil && s.err == nil {
		options := services.PostgresOptions{URL: os.Getenv(URLVariable)} //nolint:forbidigo // the one setting of tests
		s.postgres, s.err = services.StartPostgres(context.WithoutCancel(ctx), options)
	}
	return s.postgres, s.err
}

func (s *shared) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.postgres == nil {
		return nil
	}
	return s.postgres.Stop()
}

func execute(ctx context.Context, tb testing.TB, address, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(ctx, databaseDeadline)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		tb.Fatalf("connect to the server of tests: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }() // the statement's own error is the one that counts
	if _, err := conn.Exec(ctx, statement); err != nil {
		tb.Errorf("%s: %v", statement, err)
	}
}
