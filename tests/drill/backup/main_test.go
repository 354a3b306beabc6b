//go:build drill

// Package backup holds the promise that a backup is one state of the target and of its log, or it is not there: the real
// command as a process and the same core within, a real PostgreSQL beside appliers that commit as fast as they can, and an
// archive in folders.
//
// What a manifest holds is loaded again, by COPY, and held against a model at the manifest's cut. The command is broken at
// each statement by number, and killed at moments of its writing; whatever happens, no listed manifest is incomplete or
// unverifiable, nothing that one refers to goes, and the next run succeeds. A fault that was never reached fails.
package backup_test

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

// tidemark is the command's binary, built once a run.
var tidemark string

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

type runner struct{ *testing.M }

// atOnce is how many drills run at once, unless -parallel says: more than there are cores, because some wait.
const atOnce = "4"

// Run builds the command, runs the drills and stops the shared server.
func (r runner) Run() int {
	err := flag.Set("test.parallel", atOnce) // the command line is read later
	dir := ""
	if err == nil {
		dir, err = os.MkdirTemp("", "tidemark-drill-")
	}
	if err == nil {
		tidemark, err = build(filepath.Join(dir, "tidemark"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the command:", err)
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
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", to, "./cmd/tidemark")
	cmd.Dir = capture.Root()
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return to, nil
}
