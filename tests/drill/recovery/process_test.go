//go:build drill

package recovery_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"tidemark/localstack/child/childtest"
	"tidemark/tests/internal/binary"
)

// process is the command as a process.
type process = binary.Process

// start starts the command with variables over the world's.
func (w *world) start(t *testing.T, variables map[string]string, arguments ...string) *process {
	t.Helper()
	env := maps.Clone(w.env)
	maps.Copy(env, variables)
	return binary.Start(t, tidemark, env, arguments...)
}

// run runs the command to its end, which must have a code.
func (w *world) run(t *testing.T, code int, variables map[string]string, arguments ...string) *process {
	t.Helper()
	p := w.start(t, variables, arguments...)
	if got := p.Wait(t, patience); got != code {
		t.Fatalf("tidemark %s: exit code %d, want %d: %s%s", strings.Join(arguments, " "), got, code, &p.Output, &p.Errors)
	}
	return p
}

const patience = time.Minute

// await asks until the answer is yes.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	childtest.Within(t, patience, what, is)
}
