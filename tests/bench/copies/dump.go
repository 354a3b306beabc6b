package copies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"

	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/original"
)

// findDump is the path of the pg_dump beside the server's binaries, empty when there is none.
func findDump(ctx context.Context, d *original.Database) (string, error) {
	var folder string
	err := d.With(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT setting FROM pg_config() WHERE name = 'BINDIR'").Scan(&folder)
	})
	if err != nil {
		return "", fmt.Errorf("ask for the server's binaries: %w", err)
	}
	path, err := exec.LookPath(filepath.Join(folder, "pg_dump"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path, err
}

// dump measures pg_dump with n jobs into a folder, compressed by zlib at its level 1. Its CPU is its own and its children's.
func (o Options) dump(ctx context.Context, d *original.Database, dumper string, n int, r *round) (err error) {
	folder, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	at, err := pgx.ParseConfig(d.URL)
	if err != nil {
		return err
	}
	into := filepath.Join(folder, "dump")
	cmd := exec.CommandContext(ctx, dumper, //nolint:gosec // what the server's own folder has
		"-Fd", "-Z", "1", "-j", strconv.Itoa(n), "-f", into,
		"-h", at.Host, "-p", strconv.Itoa(int(at.Port)), "-U", at.User, "-d", at.Database)
	cmd.Env = append(cmd.Environ(), "PGPASSWORD="+at.Password)
	var said []byte
	taken, err := o.timed(d, func() error {
		said, err = cmd.CombinedOutput()
		return err
	})
	if err != nil {
		return fmt.Errorf("pg_dump: %w: %s", err, said)
	}
	spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	taken.ClientCPU = spent.Seconds() / float64(d.Bytes) * mega
	r.dump = new(meter.Sample)
	*r.dump = taken
	r.dumped, err = original.SizeOf(into)
	return err
}
