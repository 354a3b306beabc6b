//go:build drill

package backup_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tidemark/tests/internal/binary"
)

// process is the command as a process.
type process struct{ *binary.Process }

// start starts a backup by the command.
func (v *vault) start(t *testing.T, arguments ...string) *process {
	t.Helper()
	return &process{binary.Start(t, tidemark, v.env, append([]string{"backup", "--json"}, arguments...)...)}
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
	if err := json.Unmarshal(p.Output.Bytes(), &m); err != nil {
		t.Fatalf("%v: %s", err, &p.Output)
	}
	return m
}

// run makes a backup by the command, which must end with a code.
func (v *vault) run(t *testing.T, code int, arguments ...string) *process {
	t.Helper()
	p := v.start(t, arguments...)
	if got := p.Wait(t, patience); got != code {
		t.Fatalf("tidemark backup %s: exit code %d, want %d: %s%s", strings.Join(arguments, " "), got, code, &p.Output, &p.Errors)
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
