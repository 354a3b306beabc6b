//go:build drill

// Package drill holds the promise that a fault at any effect, of any form, neither loses nor doubles a record: the real
// function as a process, a real PostgreSQL, and between them a proxy that breaks the connection, kills the process, or
// stops it, at each statement by number.
//
// After every step the rows are held against a model at the positions that the ledger gives, so rows without their
// position, positions without their rows and rows that came twice all show. A fault that was never reached fails.
package drill_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"tidemark/tests/internal/binary"
	"tidemark/tests/internal/drilling"
)

// bootstrap is the function's binary, built once a run.
var bootstrap string

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

type runner struct{ *testing.M }

// Run builds the function, runs the drills and stops the shared server.
func (r runner) Run() int {
	return drilling.Main(r.M, func(ctx context.Context, dir string) error {
		bootstrap = filepath.Join(dir, "apply", "bootstrap")
		return binary.Build(ctx, bootstrap, "./functions/apply")
	})
}
