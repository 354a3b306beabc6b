package recoverytest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
)

// Database is a database in memory, with the ledger of a target. Safe for concurrent use.
type Database struct {
	Foreign string // what is there that no recovery made

	world *World

	mu        sync.Mutex
	claim     []byte // the try, as it was kept
	state     apply.State
	loaded    map[int]bool // the base's chunks
	restored  bool
	rows      Rows
	positions map[string]position.Cut
	life      position.Incarnation // of the checkpoints
	gaps      []body.Gap
	applied   []Applied
	settled   int
	holder    *Process
}

// Applied is a record in the order in which records came to a database.
type Applied struct {
	Flow      string
	Partition position.Partition
	Offset    position.Offset
	Time      time.Time
	Batch     int // the batches of a database are numbered
}

// Database makes an empty database.
func (w *World) Database() *Database {
	return &Database{world: w, loaded: map[int]bool{}, rows: Rows{}, positions: map[string]position.Cut{}}
}

// Rows are a copy of the rows.
func (d *Database) Rows() Rows {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows.clone()
}

// State is the target's state; empty when nothing made it a target.
func (d *Database) State() apply.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// Try is the try that the database was claimed for.
func (d *Database) Try() *recovery.Try {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.try()
}

func (d *Database) try() *recovery.Try {
	if d.claim == nil {
		return nil
	}
	t := new(recovery.Try)
	if err := json.Unmarshal(d.claim, t); err != nil {
		panic(err)
	}
	return t
}

// Positions are a flow's checkpoints.
func (d *Database) Positions(flow string) position.Cut {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.positions[flow])
}

// Gaps are the ledger's gaps.
func (d *Database) Gaps() []body.Gap {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.gaps)
}

// Applied are the records that came, in their order.
func (d *Database) Applied() []Applied {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.applied)
}

// Settled is how often a settlement took effect.
func (d *Database) Settled() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settled
}

// release ends what a process holds, as the end of its connections does.
func (d *Database) release(p *Process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holder == p {
		d.holder = nil
	}
}

// databaseView is a database as one process sees it.
type databaseView struct {
	*Database

	process *Process
}

var _ recovery.Database = databaseView{}

// do runs one call alone.
func (v databaseView) do(ctx context.Context, method, key string, effect func() error) error {
	return v.process.do(ctx, writertest.Call{Place: "database", Method: method, Key: key}, func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		return effect()
	})
}

// Look is a call.
func (v databaseView) Look(ctx context.Context) (found recovery.Found, err error) {
	err = v.do(ctx, "Look", "", func() error {
		if v.Foreign != "" {
			return fault.New(fault.Misconfigured, "%w: it has %s", recovery.ErrNotEmpty, v.Foreign)
		}
		found = recovery.Found{Try: v.try(), Restored: v.restored, Settled: v.settled > 0, State: v.state}
		return nil
	})
	return found, err
}

// Claim is a call.
func (v databaseView) Claim(ctx context.Context, t recovery.Try) error {
	return v.do(ctx, "Claim", "", func() (err error) {
		by := v.try()
		switch {
		case v.Foreign != "":
			return fault.New(fault.Misconfigured, "%w: it has %s", recovery.ErrNotEmpty, v.Foreign)
		case by != nil && by.RunID != t.RunID:
			return fault.New(fault.Fenced, "%w: recovery %s has it", recovery.ErrNotEmpty, by.RunID)
		}
		v.state = apply.StateRestoring
		v.claim, err = json.Marshal(t)
		return err
	})
}

// Restore loads chunk by chunk, then the ledger: each is a call.
func (v databaseView) Restore(ctx context.Context, b recovery.Base) (done recovery.Restored, err error) {
	if err := v.hold(b.Try); err != nil {
		return done, err
	}
	defer v.release(v.process)
	chunk := 0
	for _, table := range b.Body.Tables {
		for _, c := range table.Chunks {
			rows, err := v.load(ctx, b, chunk, c)
			if err != nil {
				return done, err
			}
			done.Rows, chunk = done.Rows+rows, chunk+1
		}
	}
	return done, v.do(ctx, "Restore", "ledger", func() error {
		if !v.restored {
			v.setOut(b)
		}
		v.restored = true
		return nil
	})
}

// hold keeps another process from restoring at once.
func (v databaseView) hold(t recovery.Try) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch by := v.try(); {
	case by == nil || by.RunID != t.RunID:
		return fault.New(fault.Bug, "restore for run %s, which claimed nothing", t.RunID)
	case v.holder != nil && v.holder != v.process:
		return fault.New(fault.Retryable, "recovery %s is under way in another process", t.RunID)
	}
	v.holder = v.process
	return nil
}

// load loads a chunk once.
func (v databaseView) load(ctx context.Context, b recovery.Base, n int, c body.Chunk) (int64, error) {
	v.mu.Lock()
	loaded := v.loaded[n]
	v.mu.Unlock()
	if loaded {
		return 0, nil
	}
	plain, err := b.Fetch(ctx, c.Object)
	if err != nil {
		return 0, err
	}
	rows := Rows{}
	if err := json.Unmarshal(plain, &rows); err != nil {
		return 0, fault.Wrap(fault.Corrupt, err)
	}
	return c.Rows, v.do(ctx, "Restore", fmt.Sprintf("chunk %d", n), func() error {
		maps.Copy(v.rows, rows)
		v.loaded[n] = true
		return nil
	})
}

// setOut makes the checkpoints: the cut's, and one at 0 for every partition that is replayed and not in the cut.
func (d *Database) setOut(b recovery.Base) {
	for _, cut := range []body.Cut{b.Try.Ends, b.Body.Cut} {
		for _, p := range cut {
			if d.positions[p.Flow] == nil {
				d.positions[p.Flow] = position.Cut{}
			}
			d.positions[p.Flow][position.Partition{Topic: p.Topic, Number: p.Partition}] = 0
		}
	}
	for _, cut := range []body.Cut{b.Body.Cut, b.Try.Starts} {
		for _, p := range cut {
			d.positions[p.Flow][position.Partition{Topic: p.Topic, Number: p.Partition}] = p.NextOffset
		}
	}
	d.gaps, d.life = slices.Clone(b.Body.Gaps), b.Try.Incarnation
}

// Pass is a call.
func (v databaseView) Pass(ctx context.Context, t recovery.Try, gaps []body.Gap) error {
	return v.do(ctx, "Pass", "", func() error {
		if by := v.try(); !v.restored || by.RunID != t.RunID {
			return fault.New(fault.Bug, "pass over gaps in a database without a ledger, or another's")
		}
		for _, g := range gaps {
			v.pass(g)
		}
		return nil
	})
}

// pass keeps a gap, once, and moves the checkpoint behind it.
func (d *Database) pass(g body.Gap) {
	same := func(known body.Gap) bool {
		return known.Flow == g.Flow && known.Topic == g.Topic && known.Partition == g.Partition && known.From == g.From
	}
	if g.How != "" && !slices.ContainsFunc(d.gaps, same) {
		d.gaps = append(d.gaps, g)
	}
	p := position.Partition{Topic: g.Topic, Number: g.Partition}
	d.positions[g.Flow][p] = max(d.positions[g.Flow][p], g.Until)
}

// Positions is a call.
func (v databaseView) Positions(ctx context.Context, flow string) (cut position.Cut, err error) {
	err = v.do(ctx, "Positions", flow, func() error {
		if !v.restored {
			return fault.New(fault.Bug, "the positions of a database without a ledger")
		}
		cut = maps.Clone(v.positions[flow])
		return nil
	})
	return cut, err
}

// Settle is a call.
func (v databaseView) Settle(ctx context.Context, s recovery.Settlement) error {
	return v.do(ctx, "Settle", "", func() error {
		by := v.try()
		switch {
		case by == nil || by.RunID != s.Try.RunID:
			return fault.New(fault.Fenced, "the database is of another recovery than %s", s.Try.RunID)
		case v.settled > 0:
			return nil
		case !v.restored:
			return fault.New(fault.Bug, "the base is not in")
		}
		if _, err := json.Marshal(s.Report); err != nil {
			return fault.Wrap(fault.Bug, err)
		}
		v.state = s.State
		v.settled++
		return nil
	})
}

// applier applies the records of a flow as package apply does: rows and position together, each partition by itself.
type applier struct {
	flow    string
	process *Process
}

// Apply is a call for each partition.
func (a *applier) Apply(ctx context.Context, batch record.Batch) (apply.Outcome, error) {
	outcome := apply.Outcome{Partitions: make([]apply.PartitionOutcome, len(batch))}
	view := databaseView{a.process.database, a.process}
	view.mu.Lock()
	number := 1
	if n := len(view.applied); n > 0 {
		number = view.applied[n-1].Batch + 1
	}
	view.mu.Unlock()
	for i, run := range batch {
		out := &outcome.Partitions[i]
		out.Partition, out.Next = run.Partition, run.Range().From
		proven := *out
		out.Err = view.do(ctx, "Apply", run.Partition.String()+" "+run.Range().String(), func() error {
			return view.apply(a.flow, run, number, &proven)
		})
		if proven.Err = out.Err; !fault.Is(out.Err, fault.UnknownOutcome) && !fault.Is(out.Err, fault.Bug) {
			*out = proven
		}
	}
	return outcome, outcome.Err()
}

// apply applies a run up to the record that cannot be.
func (d *Database) apply(flow string, run record.Run, batch int, out *apply.PartitionOutcome) error {
	p := run.Partition
	next, has := d.positions[flow][p]
	switch try := d.try(); {
	case d.state != apply.StateRestoring:
		return fault.New(fault.Fenced, "the target is %q", d.state)
	case try.Incarnation != d.life:
		return fault.New(fault.Fenced, "the checkpoints are of life %s", d.life)
	case !has:
		return fault.New(fault.Bug, "%s has no checkpoint", p)
	}
	for _, rec := range run.Records {
		if rec.Offset < next {
			out.Skipped, out.Next = out.Skipped+1, rec.Offset.Next()
			continue
		}
		if err := d.world.Log.Hole(p, position.Range{From: next, Until: rec.Offset}); err != nil {
			return err
		}
		if err := d.rows.apply(string(rec.Value.Bytes())); err != nil {
			return err
		}
		next = rec.Offset.Next()
		d.positions[flow][p] = next
		d.applied = append(d.applied, Applied{flow, p, rec.Offset, rec.Time, batch})
		out.Applied, out.Next = out.Applied+1, next
	}
	return nil
}
