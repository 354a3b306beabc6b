//go:build drill

// Package recovery holds the promise that a lost target comes back by one command, whatever stops that command on its way: the
// real command as a process, a real PostgreSQL, a real Kafka broker and an archive in folders.
//
// What the command asks of the database and of the broker is numbered on the wire. At each number something goes wrong, in one
// of three forms; then the same command is given again and must end with the rows, sequences, positions and the one life of a
// recovery that nothing disturbed. A fault that was never reached fails. A run gives each number that is unlike others one form, and the
// forms change from run to run; -every-effect gives each number every form.
package recovery_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/fault"
	"tidemark/tests/internal/capture"
)

// What the drills of this process share, made before the first of them.
var (
	tidemark    string // the command's binary
	everyEffect bool
	turn        int // of the forms; below 0: any
)

func TestMain(m *testing.M) {
	flag.BoolVar(&everyEffect, "every-effect", false, "break every effect, in every form; takes most of an hour")
	flag.IntVar(&turn, "turn", -1, "0, 1 or 2: with which form the first effect begins; below 0: with any")
	goleak.VerifyTestMain(runner{m})
}

type runner struct{ *testing.M }

// atOnce is how many drills run at once, unless -parallel says: more than there are cores, because some wait.
const atOnce = "4"

const shareDeadline = 5 * time.Minute

// Run makes what the drills share, runs them and takes it down again.
func (r runner) Run() int {
	err := flag.Set("test.parallel", atOnce) // the command line is read later
	dir := ""
	if err == nil {
		dir, err = os.MkdirTemp("", "tidemark-drill-")
	}
	if err == nil {
		err = build(filepath.Join(dir, "tidemark"))
	}
	code := 1
	if err == nil {
		code = servicestest.Run(r.M)
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "recovery drills:", fault.Line(err))
		return max(code, 1)
	}
	return code
}

func build(to string) error {
	ctx, cancel := context.WithTimeout(context.Background(), shareDeadline)
	defer cancel()
	//nolint:gosec // a path of this test's own
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", to, "./cmd/tidemark")
	cmd.Dir = capture.Root()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, output)
	}
	tidemark = to
	return nil
}
