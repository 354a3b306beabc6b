// Package backuptest gives tests of backups a database in memory, beside the archive of package writertest.
//
// It owns tables that a test can look through, of a key and a value, read as a server reads them: in the order of the key's
// type, or by pages; a record of runs under the rules of backup.Runs; processes whose every call has a number, so that each
// can be broken; and the reading back of what a manifest holds. It refuses real databases and real time.
package backuptest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
)

// World is a database and its archive of two buckets, under one clock.
type World struct {
	*writertest.World

	Database *Database

	mu      sync.Mutex
	packers []*packing.Packer // made once: they are large
}

// New makes an empty world.
func New(t *testing.T) *World {
	t.Helper()
	w := &World{World: writertest.New(t)}
	w.Database = newDatabase(w)
	return w
}

// Options are those of a backup with which nothing goes wrong.
func (w *World) Options(t *testing.T) backup.Options {
	t.Helper()
	return w.Process(nil).Options(t)
}

func (w *World) packer(n int) (*packing.Packer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.packers) < n {
		packer, err := packing.NewPacker(packing.Options{})
		if err != nil {
			return nil, err
		}
		w.packers = append(w.packers, packer)
	}
	return w.packers[n-1], nil
}

// Newest is the body of the newest manifest that can be used, and the rows in its chunks. It fails the test when they are
// not what the body says: another number of rows, a row twice, or one that is in another chunk than its key says.
func Newest(t *testing.T, a *archive.Archive) (body.Body, map[string]Rows) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	h, err := history.Read(ctx, a)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	choice, err := h.Choose(ctx, history.Request{})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	state := map[string]Rows{}
	for _, table := range choice.Body.Tables {
		rows, err := read(ctx, a, table)
		if err != nil {
			t.Fatalf("table %s: %s", table.Name, fault.Line(err))
		}
		state[table.Name.Name] = rows
	}
	return choice.Body, state
}

// read gives the rows of a table's chunks.
func read(ctx context.Context, a *archive.Archive, t body.Table) (Rows, error) {
	rows := Rows{}
	order := Table{Text: t.Columns[0].Type == "text"}
	if len(t.Collations) > 0 {
		order.Collation = t.Collations[0]
	}
	for i, c := range t.Chunks {
		stored, err := a.Fetch(ctx, c.Object, nil)
		if err != nil {
			return nil, err
		}
		plain, err := a.Unpack(stored, c.Object, c.Object.PlainSize)
		if err != nil {
			return nil, err
		}
		keys, err := decode(t, plain, rows)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i, err)
		}
		order.Rows = Rows{}
		for _, key := range keys {
			order.Rows[key] = nil
		}
		in, err := order.sorted(len(t.Key) > 0, backup.Range{From: c.From, Until: c.Until})
		if err != nil || !slices.Equal(in, keys) || int64(len(keys)) != c.Rows {
			return nil, fault.New(fault.Bug, "chunk %d [%s,%s) of %d rows has the rows %d, %v", i, c.From, c.Until, c.Rows, keys, err)
		}
	}
	return rows, nil
}
