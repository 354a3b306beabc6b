package backuptest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// Database is a target in memory, with its own record of its backups. Tests change its fields between backups, or within a
// plan; safe for concurrent use are the processes' calls alone.
type Database struct {
	Life       backup.Life
	Tables     map[string]*Table // of the schema public
	Next       position.Offset   // of the cut's one partition
	Uncaptured []string
	Runs       []Run // the oldest first

	world  *World
	mu     sync.Mutex
	holder *Process // whose claim it is
}

// Run is what the target's record says of a run.
type Run struct {
	backup.Claimed

	Scheduled time.Time
	Outcome   string // empty while nobody has said how it ended
	Statement manifest.Digest
}

func newDatabase(w *World) *Database {
	return &Database{
		Life:   backup.Life{TargetID: writertest.Target, Lineage: 1, Incarnation: writertest.Life(1), State: "live"},
		Tables: map[string]*Table{}, world: w,
	}
}

// State is a copy of all rows.
func (d *Database) State() map[string]Rows {
	state := map[string]Rows{}
	for name, t := range d.Tables {
		state[name] = maps.Clone(t.Rows)
	}
	return state
}

// begin claims a run, by the rules of Runs.
func (d *Database) begin(ctx context.Context, p *Process, r backup.Request) (backup.Claimed, error) {
	d.mu.Lock()
	taken, life := d.holder != nil, d.Life
	if !taken {
		d.holder = p
	}
	d.mu.Unlock()
	if taken {
		return backup.Claimed{}, fault.Wrap(fault.Retryable, backup.ErrRunning)
	}
	run, err := d.next(ctx, life, r)
	if err != nil {
		d.release(p)
		return backup.Claimed{}, err
	}
	d.Runs = append(d.Runs, run)
	return run.Claimed, nil
}

// fence makes a target that lives a life change nothing any more.
func (d *Database) fence(life position.Incarnation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Life.Incarnation == life && d.Life.State == "live" {
		d.Life.State = "fenced"
	}
}

// next is the run that a claim makes.
func (d *Database) next(ctx context.Context, life backup.Life, r backup.Request) (Run, error) {
	run := Run{Scheduled: r.Scheduled, Claimed: backup.Claimed{
		RunID: d.world.NextRun(), Lineage: life.Lineage, Incarnation: life.Incarnation, Attempt: 1,
	}}
	if life.State != "live" {
		return run, fault.New(fault.Fenced, "the target is %s", life.State)
	}
	listed, newest, err := r.Newest(ctx, life.Lineage)
	if err != nil {
		return run, err
	}
	if at := slices.IndexFunc(d.Runs, func(known Run) bool { return known.RunID == newest }); at >= 0 {
		d.Runs[at].Outcome = "done" // it died before it could say so
	} else if listed > 0 {
		return run, fault.Wrap(fault.Fenced, backup.ErrPrefixShared)
	}
	run.Seq = listed + 1
	for _, known := range d.Runs {
		run.Seq = max(run.Seq, known.Seq+1)
		if r.Scheduled.IsZero() || !known.Scheduled.Equal(r.Scheduled) {
			continue
		}
		if known.Outcome == "done" {
			return run, &backup.DoneError{Run: known.Claimed, Statement: known.Statement}
		}
		run.Attempt = known.Attempt + 1
	}
	return run, nil
}

func (d *Database) finish(run manifest.RunID, outcome string, statement manifest.Digest) error {
	at := slices.IndexFunc(d.Runs, func(known Run) bool { return known.RunID == run })
	if at < 0 {
		return fault.New(fault.Bug, "run %s was never begun", run)
	}
	d.Runs[at].Outcome, d.Runs[at].Statement = outcome, statement
	return nil
}

// release ends what a process holds, as the end of its connection does.
func (d *Database) release(p *Process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holder == p {
		d.holder = nil
	}
}

// snapshot is one state of the database.
type snapshot struct {
	process *Process
	content backup.Content
	tables  map[body.Name]*Table
}

func (d *Database) snapshot(p *Process) *snapshot {
	told := d.world.Body(d.Next)
	s := &snapshot{process: p, tables: map[body.Name]*Table{}, content: backup.Content{
		Life: d.Life, Database: told.Snapshot, Cut: told.Cut, Gaps: told.Gaps, Definitions: told.Definitions,
		Sequences: told.Sequences, Uncaptured: slices.Clone(d.Uncaptured),
	}}
	for _, name := range slices.Sorted(maps.Keys(d.Tables)) {
		full := body.Name{Schema: "public", Name: name}
		s.tables[full] = d.Tables[name].clone()
		s.content.Tables = append(s.content.Tables, s.tables[full].describe(full))
	}
	return s
}

// Content gives what there is beside rows.
func (s *snapshot) Content() backup.Content { return s.content }

// Reader opens a view.
func (s *snapshot) Reader(ctx context.Context) (backup.Reader, error) {
	err := s.process.database(ctx, "Reader", "", func() error { return nil })
	if err != nil {
		return nil, err
	}
	s.process.opened(1)
	return &reader{s, true}, nil
}

// Close ends the snapshot.
func (s *snapshot) Close(ctx context.Context) error {
	s.process.opened(-1)
	return s.process.database(ctx, "Snapshot.Close", "", func() error { return nil })
}

// reader is one view of a snapshot.
type reader struct {
	*snapshot

	open bool
}

// call is a call of the reader about a table, or about one part of it.
func (r *reader) call(ctx context.Context, method string, t backup.Table, rng backup.Range, effect func(*Table, []int64) error) error {
	key := fmt.Sprintf("%s [%s,%s) pages [%d,%d)", t.Name, strings.Join(rng.From, ","), strings.Join(rng.Until, ","), rng.FirstPage,
		rng.UntilPage)
	return r.process.database(ctx, method, key, func() error {
		table, known := r.tables[t.Name]
		if !known || !r.open {
			return fault.New(fault.Bug, "%s of %s, which is not there or after the end", method, t.Name)
		}
		keys, err := table.sorted(len(t.Key) > 0, rng)
		if err != nil {
			return err
		}
		return effect(table, keys)
	})
}

// Split proposes bounds.
func (r *reader) Split(ctx context.Context, t backup.Table, parts int) (bounds [][]string, err error) {
	err = r.call(ctx, "Split", t, backup.Range{}, func(_ *Table, keys []int64) error {
		for i := 1; i < parts && len(keys) >= parts; i++ {
			bounds = append(bounds, []string{text(keys[i*len(keys)/parts])})
		}
		return nil
	})
	return bounds, err
}

// Copy writes rows.
func (r *reader) Copy(ctx context.Context, t backup.Table, rng backup.Range, to io.Writer) (rows int64, err error) {
	err = r.call(ctx, "Copy", t, rng, func(table *Table, keys []int64) error {
		if _, err := to.Write([]byte(CopyHeader)); err != nil {
			return err
		}
		for _, key := range keys {
			if err := ctx.Err(); err != nil {
				return fault.Wrap(fault.Retryable, err)
			}
			if _, err := to.Write(table.encode(nil, key, table.Rows[key])); err != nil {
				return err
			}
		}
		rows = int64(len(keys)) + table.SentLie
		_, err := to.Write([]byte(CopyTrailer))
		return err
	})
	return rows, err
}

// KeyAt finds a row.
func (r *reader) KeyAt(ctx context.Context, t backup.Table, rng backup.Range, n int64) (key []string, err error) {
	err = r.call(ctx, "KeyAt", t, rng, func(_ *Table, keys []int64) error {
		if n < 0 || n >= int64(len(keys)) {
			return fault.New(fault.Bug, "row %d of %d", n, len(keys))
		}
		key = []string{text(keys[n])}
		return nil
	})
	return key, err
}

// Count counts.
func (r *reader) Count(ctx context.Context, t backup.Table) (rows int64, err error) {
	err = r.call(ctx, "Count", t, backup.Range{}, func(table *Table, keys []int64) error {
		rows = int64(len(keys)) + table.CountLie
		return nil
	})
	return rows, err
}

// Close ends the view.
func (r *reader) Close(ctx context.Context) error {
	if r.open {
		r.open = false
		r.process.opened(-1)
	}
	return r.process.database(ctx, "Reader.Close", "", func() error { return nil })
}
