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
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"tidemark/tests/internal/binary"
	"tidemark/tests/internal/drilling"
)

// tidemark is the command's binary, built once a run.
var tidemark string

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

type runner struct{ *testing.M }

// Run builds the command, runs the drills and stops the shared server.
func (r runner) Run() int {
	return drilling.Main(r.M, func(ctx context.Context, dir string) error {
		tidemark = filepath.Join(dir, "tidemark")
		return binary.Build(ctx, tidemark, binary.Command)
	})
}
