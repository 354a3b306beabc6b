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
	"flag"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"tidemark/tests/internal/binary"
	"tidemark/tests/internal/drilling"
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

// Run builds the command, runs the drills and stops the shared server.
func (r runner) Run() int {
	return drilling.Main(r.M, func(ctx context.Context, dir string) error {
		tidemark = filepath.Join(dir, "tidemark")
		return binary.Build(ctx, tidemark, binary.Command)
	})
}
