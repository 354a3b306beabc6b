//go:build drill

package backup_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// start starts a backup by the command.
func (v *vault) start(t *testing.T, arguments ...string) *process {
	t.Helper()
	p := &process{over: make(chan struct{})}
	//nolint:gosec // the binary under test
	p.cmd = exec.Command(tidemark, append([]string{"backup", "--json"}, arguments...)...) //nolint:noctx // it is killed by hand
	for name, value := range v.env {
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

// made is what a backup says.
type made struct {
	Manifest, Run string
	Copies        int
	Rows          int64
	Warnings      []string
}

// made reads what the process says when it has made a backup.
func (p *process) made(t *testing.T) (m made) {
	t.Helper()
	if err := json.Unmarshal(p.output.Bytes(), &m); err != nil {
		t.Fatalf("%v: %s", err, &p.output)
	}
	return m
}

// run makes a backup by the command, which must end with a code.
func (v *vault) run(t *testing.T, code int, arguments ...string) *process {
	t.Helper()
	p := v.start(t, arguments...)
	if got := p.wait(t); got != code {
		t.Fatalf("tidemark backup %s: exit code %d, want %d: %s%s", strings.Join(arguments, " "), got, code, &p.output, &p.errors)
	}
	return p
}

// alone waits until the database has noticed that nobody is there but the test's session and those named.
func (v *vault) alone(t *testing.T, but ...uint32) {
	t.Helper()
	question := "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	for _, pid := range but {
		question += fmt.Sprintf(" AND pid <> %d", pid)
	}
	await(t, "the end of every other session", func() bool { return v.db.Copy(t, question) == "0\n" })
}
