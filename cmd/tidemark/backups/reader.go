package backups

import (
	"context"
	"io"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/backup"
)

// KeyAt finds the key of a row. See backup.Reader.
func (r databaseReader) KeyAt(ctx context.Context, t backup.Table, part backup.Range, n int64) ([]string, error) {
	key, err := r.Reader.KeyAt(ctx, t, part, n)
	return key, exit.FromDatabase(err)
}

// Count counts rows. See backup.Reader.
func (r databaseReader) Count(ctx context.Context, t backup.Table) (int64, error) {
	rows, err := r.Reader.Count(ctx, t)
	return rows, exit.FromDatabase(err)
}

// errorKeeper remembers that a writer failed.
type errorKeeper struct {
	io.Writer

	err error
}

// Write hands on.
func (k *errorKeeper) Write(data []byte) (int, error) {
	n, err := k.Writer.Write(data)
	if err != nil {
		k.err = err
	}
	return n, err
}
