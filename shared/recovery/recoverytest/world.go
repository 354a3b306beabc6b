// Package recoverytest gives tests of recoveries a log and databases in memory, beside the archive of package writertest.
//
// It owns a log that can lose, hide and hold back what it has, and still knows all that ever was in it; databases whose
// applier keeps rows and positions together and refuses to pass over a record that could be read; processes whose every
// call, of buckets, log and database, has a number, so that each can be broken; and the model: what the rows are at a cut.
// It refuses real servers and real time.
package recoverytest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"tidemark/shared/archive/history"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery/recoverytest/memorylog"
)

// World is a log, an archive of two buckets and any number of databases, under one clock.
type World struct {
	*writertest.World

	Log *memorylog.Log
	// Flows are the topics of each flow.
	Flows map[string][]string
	// HighWater is what backups raise; nil: nothing.
	HighWater history.HighWater
	// Epochless says that backups know no leader epochs.
	Epochless bool

	mu    sync.Mutex
	lives int
}

// New makes an empty world. Readers of its log get their pieces as the seed has it.
func New(t *testing.T, seed uint64) *World {
	t.Helper()
	return &World{World: writertest.New(t), Log: memorylog.New(seed), Flows: map[string][]string{}}
}

// Fork is an empty world that shares with this one what is dear to make.
func (w *World) Fork(seed uint64) *World {
	return &World{World: w.World.Fork(), Log: memorylog.New(seed), Flows: map[string][]string{}}
}

func (w *World) nextLife() position.Incarnation {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives++
	return position.Incarnation(fmt.Sprintf("22222222-0000-4000-8000-%012d", w.lives))
}

// Cut is where flows stand.
type Cut map[string]position.Cut

// Stable is the cut that a live target has when it has applied all that is stable.
func (w *World) Stable() Cut {
	cut := Cut{}
	for flow, topics := range w.Flows {
		cut[flow] = position.Cut{}
		for _, topic := range topics {
			for _, p := range w.Log.Partitions(topic) {
				cut[flow][p] = w.Log.Stable(p)
			}
		}
	}
	return cut
}

// State is the rows of a target that has applied what lies below a cut, without what lies in gaps: the model. Each partition
// goes as far as it can, in turn, as long as any goes on.
func (w *World) State(at Cut, gaps ...body.Gap) Rows {
	rows := Rows{}
	var queues [][]record.Record
	for _, flow := range slices.Sorted(maps.Keys(at)) {
		for _, p := range at[flow].Partitions() {
			all := w.Log.Committed(p, position.Range{Until: at[flow][p]})
			queues = append(queues, slices.DeleteFunc(all, func(e record.Record) bool { return lies(gaps, flow, p, e.Offset) }))
		}
	}
	for moved := true; moved; {
		moved = false
		for i, queue := range queues {
			for len(queue) > 0 && rows.apply(string(queue[0].Value.Bytes())) == nil {
				queue, moved = queue[1:], true
			}
			queues[i] = queue
		}
	}
	return rows
}

// lies says whether an offset is in a gap.
func lies(gaps []body.Gap, flow string, p position.Partition, offset position.Offset) bool {
	return slices.ContainsFunc(gaps, func(g body.Gap) bool {
		return g.Flow == flow && g.Topic == p.Topic && g.Partition == p.Number &&
			(position.Range{From: g.From, Until: g.Until}).Contains(offset)
	})
}

// Backup backs up the first life of the target as it was at a cut.
func (w *World) Backup(t *testing.T, at Cut) writer.Committed {
	t.Helper()
	return w.BackupLife(t, 1, writertest.Life(1), at)
}

// BackupLife backs up a life of the target.
func (w *World) BackupLife(t *testing.T, lineage position.Lineage, life position.Incarnation, at Cut) writer.Committed {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := w.backup(ctx, w.writer(t), notice.Run{Lineage: lineage, Life: life, Attempt: 1, Actor: "test", Tool: "test"}, at)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return c
}

// TryBackup is a backup of a life that may be refused.
func (w *World) TryBackup(t *testing.T, lineage position.Lineage, life position.Incarnation) error {
	t.Helper()
	_, err := w.backup(context.WithoutCancel(t.Context()), w.writer(t),
		notice.Run{Lineage: lineage, Life: life, Attempt: 1, Actor: "test", Tool: "test"}, w.Stable())
	return err
}

func (w *World) writer(t *testing.T) writer.Options {
	t.Helper()
	o := w.Options(t, w.Archive(t))
	o.HighWater = w.HighWater
	return o
}

func (w *World) backup(ctx context.Context, o writer.Options, n notice.Run, at Cut) (c writer.Committed, err error) {
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return c, err
	}
	seq, _, err := h.Newest(ctx, n.Lineage)
	if err != nil {
		return c, err
	}
	n.RunID, n.Seq = w.NextRun(), seq+1
	run, err := writer.Begin(ctx, o, n)
	if err != nil {
		return c, err
	}
	table := body.Table{
		Name: body.Name{Schema: "public", Name: "rows"}, Columns: []body.Column{{Name: "id", Type: "text", OID: 25}}, Key: []string{},
		Chunks: []body.Chunk{},
	}
	rows := w.State(at)
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(rows)), max(1, (len(rows)+1)/2)) {
		part := Rows{}
		for _, key := range keys {
			part[key] = rows[key]
		}
		plain, err := json.Marshal(part)
		if err != nil {
			return c, err
		}
		packed, err := o.Pack(plain)
		if err != nil {
			return c, err
		}
		object, err := run.Store(ctx, packed)
		if err != nil {
			return c, err
		}
		table.Chunks = append(table.Chunks, body.Chunk{Rows: int64(len(keys)), Object: object})
		table.Rows += int64(len(keys))
	}
	b := w.Body(0, table)
	b.Snapshot.ClusterID, b.Cut = w.Log.Cluster, w.describe(at)
	return run.Commit(ctx, b)
}

// describe is a cut as a manifest has it.
func (w *World) describe(at Cut) body.Cut {
	cut := body.Cut{}
	for flow, positions := range at {
		for p, next := range positions {
			id, epoch, last := w.Log.Describe(p, next)
			described := body.Partition{
				Flow: flow, Topic: p.Topic, Partition: p.Number, NextOffset: next, TopicID: id, LeaderEpoch: epoch,
			}
			if w.Epochless {
				described.LeaderEpoch = nil
			}
			if !last.IsZero() {
				described.RecordTime = new(document.Moment(last))
			}
			cut = append(cut, described)
		}
	}
	cut.Sort()
	return cut
}
