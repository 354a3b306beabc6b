//go:build drill

package recovery_test

import (
	"bytes"
	"context"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// process is the command as a process.
type process struct {
	cmd            *exec.Cmd
	output, errors bytes.Buffer
	over           chan struct{} // closed when it is gone
}

// start starts the command with variables over the world's.
func (w *world) start(t *testing.T, variables map[string]string, arguments ...string) *process {
	t.Helper()
	p := &process{over: make(chan struct{})}
	p.cmd = exec.Command(tidemark, arguments...) //nolint:gosec,noctx // the binary under test; it is killed by hand
	env := maps.Clone(w.env)
	maps.Copy(env, variables)
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.errors
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait() // how it ended is its state
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process by SIGKILL and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it fails only when there is none
	<-p.over
}

// wait gives the exit code, -1 for one that was killed.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-p.over:
	case <-limit.C:
		p.kill()
		t.Fatalf("the command hangs: %s", &p.errors)
	}
	return p.cmd.ProcessState.ExitCode()
}

// run runs the command to its end, which must have a code.
func (w *world) run(t *testing.T, code int, variables map[string]string, arguments ...string) *process {
	t.Helper()
	p := w.start(t, variables, arguments...)
	if got := p.wait(t); got != code {
		t.Fatalf("tidemark %s: exit code %d, want %d: %s%s", strings.Join(arguments, " "), got, code, &p.output, &p.errors)
	}
	return p
}

const patience = time.Minute

// await asks until the answer is yes.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}
