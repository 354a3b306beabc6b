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
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/tests/internal/capture"
)

// bootstrap is the function's binary, built once a run.
var bootstrap string

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

type runner struct{ *testing.M }

// atOnce is how many drills run at once, unless -parallel says: more than there are cores, because some wait for time to
// end.
const atOnce = "4"

// Run builds the function, runs the drills and stops the shared server.
func (r runner) Run() int {
	err := flag.Set("test.parallel", atOnce) // the command line is read later
	dir := ""
	if err == nil {
		dir, err = os.MkdirTemp("", "tidemark-drill-")
	}
	if err == nil {
		bootstrap, err = build(filepath.Join(dir, "apply", "bootstrap"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the function:", err)
		return 1
	}
	code := servicestest.Run(r.M)
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

const buildDeadline = 5 * time.Minute

func build(to string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildDeadline)
	defer cancel()
	//nolint:gosec // a path of this test's own
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", "lambda.norpc", "-o", to, "./functions/apply")
	cmd.Dir = capture.Root()
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return to, nil
}
