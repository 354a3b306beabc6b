// Package binary owns how tests build the project's binaries and run them as processes: what a person or a runtime has, not a
// call in the test's own process.
//
// It refuses to leave a process behind a test. A Process belongs to one test.
package binary

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tidemark/tests/internal/capture"
)

// Command is the package of the operator's command. The others are functions.
const Command = "./cmd/tidemark"

// Build builds packages of this module: one to a path, or several into a folder whose name ends in a slash.
//
// Errors: what the compiler says.
func Build(ctx context.Context, to string, packages ...string) error {
	arguments := []string{"build", "-buildvcs=false"}
	if packages[0] != Command {
		arguments = append(arguments, "-tags", "lambda.norpc")
	}
	//nolint:gosec // packages of this module, and a path of the test's own
	cmd := exec.CommandContext(ctx, "go", append(append(arguments, "-o", to), packages...)...)
	cmd.Dir = capture.Root()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(packages, " "), err, output)
	}
	return nil
}

// Process is a binary that runs. Its output is whole when it is over.
type Process struct {
	Output, Errors bytes.Buffer
	Over           chan struct{} // closed when it is gone

	cmd *exec.Cmd
}

// Start starts a binary with these variables and no others. The test's end kills it.
func Start(t *testing.T, path string, env map[string]string, arguments ...string) *Process {
	t.Helper()
	p := &Process{Over: make(chan struct{})}
	p.cmd = exec.Command(path, arguments...) //nolint:gosec,noctx // the binary under test; it is killed by hand
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.Output, &p.Errors
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.Over)
		_ = p.cmd.Wait() // how it ended is its state
	}()
	t.Cleanup(p.Kill)
	return p
}

// Kill ends the process by SIGKILL and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it fails only when there is none
	<-p.Over
}

// Wait gives the exit code, -1 for one that was killed. It fails the test when the process outlives the limit.
func (p *Process) Wait(t *testing.T, limit time.Duration) int {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.Over:
	case <-timer.C:
		p.Kill()
		t.Fatalf("the command hangs: %s", &p.Errors)
	}
	return p.cmd.ProcessState.ExitCode()
}
