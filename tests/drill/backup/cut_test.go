//go:build drill

package backup_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/backup"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
	"tidemark/shared/record"
	"tidemark/tests/internal/drilling"
)

const (
	cutBackups    = 50
	cutPartitions = 4
	cutAppliers   = 2
	mostStamped   = 3 // records of one partition in a delivery: what is wanted is commits
)

const stampedTable = `CREATE TABLE stamped (flow text NOT NULL, partition int NOT NULL, "offset" bigint NOT NULL, note text,
	PRIMARY KEY (flow, partition, "offset"));`

// TestCutIsTheState takes backups while appliers commit at full speed rows that carry their own position. Whatever state a
// backup catches, its rows of a partition are those from 0 up to its cut: none at or above it, below it none missing.
func TestCutIsTheState(t *testing.T) {
	t.Parallel()
	v := newVault(t, stampedTable, 1)
	scratch := postgrestest.Empty(t)
	scratch.Exec(t, `CREATE UNLOGGED TABLE stamped (flow text, partition int, "offset" bigint, note text)`)
	var commits atomic.Int64
	f := feed(t, v.db, &commits)
	defer f.stop(t)
	a, met, inside := v.archive(t), 0, int64(0)
	var last body.Cut
	for n := range cutBackups {
		o := v.inProcess(t, 1+n%2, snapshot.Options{})
		watched := &watchedSource{Source: o.Source, commits: &commits}
		o.Source = watched
		f.gate.Unlock()
		made := backUp(t, o)
		f.gate.Lock() // what is verified meanwhile would only grow
		choice := newest(t, a)
		if choice.Manifest.ID != made.ID {
			t.Fatalf("backup %d: got manifest %s, want the one that was made, %s", n, choice.Manifest.ID, made.ID)
		}
		stampedAreBelow(t, a, scratch, choice.Body)
		if t.Failed() {
			t.Fatalf("at backup %d of %d", n+1, cutBackups)
		}
		if inside += watched.during; watched.during > 0 {
			met++
		}
		last = choice.Body.Cut
	}
	t.Logf("%d backups, %d deliveries committed within the snapshots of %d of them, %d in all; the last cut: %s",
		cutBackups, inside, met, commits.Load(), cutText(last))
	if met < cutBackups*9/10 {
		t.Errorf("within %d of %d snapshots somebody committed: the drill has shown little", met, cutBackups)
	}
}

func cutText(cut body.Cut) (text string) {
	for _, p := range cut {
		text += fmt.Sprintf("%d=%s ", p.Partition, p.NextOffset)
	}
	return text
}

// watchedSource counts what is committed while a snapshot is open.
type watchedSource struct {
	backup.Source

	commits *atomic.Int64
	during  int64
}

// Snapshot shows one state. See backup.Source.
func (s *watchedSource) Snapshot(ctx context.Context) (backup.Snapshot, error) {
	shown, err := s.Source.Snapshot(ctx)
	return &watchedSnapshot{shown, s, s.commits.Load()}, err
}

type watchedSnapshot struct {
	backup.Snapshot

	source *watchedSource
	before int64
}

// Close ends the snapshot. See backup.Snapshot.
func (s *watchedSnapshot) Close(ctx context.Context) error {
	s.source.during = s.source.commits.Load() - s.before
	return s.Snapshot.Close(ctx)
}

// feeder is appliers that commit as fast as they can, each on partitions of its own, while nobody holds the gate.
type feeder struct {
	gate    sync.RWMutex
	over    atomic.Bool
	commits *atomic.Int64
	group   *errgroup.Group
}

// feed starts them behind a gate that is held.
func feed(t *testing.T, db *postgrestest.Database, commits *atomic.Int64) *feeder {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	f := &feeder{commits: commits, group: group}
	f.gate.Lock()
	for n := range int32(cutAppliers) {
		applier := drilling.NewApplier(t, db, flowName, topicOf("stamped"))
		group.Go(func() error { return f.apply(ctx, applier, n) })
	}
	return f
}

// stop ends them. The gate is held.
func (f *feeder) stop(t *testing.T) {
	t.Helper()
	f.over.Store(true)
	f.gate.Unlock()
	if err := f.group.Wait(); err != nil {
		t.Errorf("an applier: %v", err)
	}
}

func (f *feeder) apply(ctx context.Context, applier *apply.Applier, n int32) error {
	next, random := position.Cut{}, rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // sizes of batches
	for !f.over.Load() {
		var batch record.Batch
		for p := n; p < cutPartitions; p += cutAppliers {
			batch = append(batch, stampedRun(p, next, 1+random.IntN(mostStamped)))
		}
		f.gate.RLock()
		_, err := applier.Apply(ctx, batch)
		f.gate.RUnlock()
		if err != nil {
			return err
		}
		f.commits.Add(1)
	}
	return nil
}

// stampedRun is the next records of a partition: new rows that say where they come from.
func stampedRun(number int32, next position.Cut, records int) record.Run {
	run := record.Run{Partition: position.Partition{Topic: topicOf("stamped"), Number: number}}
	from := next[run.Partition]
	until := from + position.Offset(records)
	for at := from; at < until; at++ {
		row := map[string]any{"flow": flowName, "partition": number, "offset": at, "note": fmt.Sprintf("row %d of %d", at, number)}
		key := map[string]any{"flow": flowName, "partition": number, "offset": at}
		run.Records = append(run.Records, event("stamped", "c", at, key, nil, row))
	}
	next[run.Partition] = until
	return run
}

// stampedPartition is what a partition's rows say of their positions.
type stampedPartition struct {
	Partition          int32
	Rows, Distinct     int64
	Lowest, Highest    position.Offset
	OfAnother, Without int64 // rows of another flow, rows whose note is not theirs
}

// stampedAreBelow loads the rows of a manifest and holds their positions against its cut.
func stampedAreBelow(t *testing.T, a *archive.Archive, scratch *postgrestest.Database, b body.Body) {
	t.Helper()
	scratch.Exec(t, "TRUNCATE stamped")
	load(t, a, scratch, tableOf(t, b, "public", "stamped"))
	rows, err := scratch.Conn.Query(t.Context(), `SELECT partition, count(*), count(DISTINCT "offset"), min("offset"), max("offset"),
		count(*) FILTER (WHERE flow <> $1), count(*) FILTER (WHERE note IS DISTINCT FROM 'row ' || "offset" || ' of ' || partition)
		FROM stamped GROUP BY partition ORDER BY partition`, flowName)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[stampedPartition])
	if err != nil {
		t.Fatal(err)
	}
	var want []stampedPartition
	for _, p := range b.Cut {
		if p.NextOffset > 0 {
			want = append(want, stampedPartition{
				Partition: p.Partition, Rows: int64(p.NextOffset), Distinct: int64(p.NextOffset), Highest: p.NextOffset - 1,
			})
		}
	}
	if !slices.Equal(want, found) {
		t.Errorf("the rows of the backup do not go up to its cut:\n got %+v\nwant %+v", found, want)
	}
}
