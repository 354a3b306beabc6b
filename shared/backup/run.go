package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/shared/archive/history"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer"
	"tidemark/shared/backup/chunk"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// Options says what is backed up, where to, and how.
type Options struct {
	Runs      Runs
	Source    Source
	Writer    writer.Options
	NewPacker func() (*packing.Packer, error) // one for each job
	Jobs      int                             // readers side by side; 0: 1
	Scheduled time.Time                       // the time that the run stands for; zero: it was not scheduled
	Actor     string
	Tool      string
	// AllowUncaptured names what may be left out although a restore will not bring it back.
	AllowUncaptured []string
	Deadline        time.Time     // of this process; zero: none
	Reserve         time.Duration // before the deadline no chunk is begun; 0: 90 s
	Now             func() time.Time
	// Describe asks the log's brokers about a cut: topics' ids, where partitions begin and end, and which cluster it is. Nil: nobody
	// asks, and a recovery tells a topic that was made anew by its records' times alone.
	Describe   func(ctx context.Context, cut body.Cut) (described body.Cut, cluster string, err error)
	OnProgress func(Progress) // called from several goroutines, one at a time

	wanted int // the size of a chunk; tests make small ones
}

func (o Options) withDefaults() Options {
	o.Jobs = max(o.Jobs, 1)
	if o.Reserve == 0 {
		o.Reserve = reserve
	}
	if o.wanted == 0 {
		o.wanted = chunk.Wanted
	}
	return o
}

// Result says what a backup made.
type Result struct {
	writer.Committed

	Progress Progress
	Rows     int64
	Tables   int
}

// Run makes one backup.
//
// Errors: ErrRunning, ErrDone, ErrPrefixShared, ErrUncaptured, ErrOutOfTime; fault.Fenced for a target that is not live or was
// recovered elsewhere; the database's and the store's own. After any of them nothing is listed that is not whole, and the next
// run finds what was stored.
func Run(ctx context.Context, o Options) (result Result, err error) {
	o = o.withDefaults()
	claim, err := o.Runs.Begin(ctx, Request{
		Target: o.Writer.Archive.Target, Scheduled: o.Scheduled, Newest: o.newest, Actor: o.Actor,
	})
	if err != nil {
		return result, err
	}
	defer func() {
		err = result.close("the claim on the target", claim.Close(context.WithoutCancel(ctx)), err)
	}()
	claimed := claim.Run()
	run, err := writer.Begin(ctx, o.Writer, notice.Run{
		Lineage: claimed.Lineage, RunID: claimed.RunID, Seq: claimed.Seq, Life: claimed.Incarnation, Scheduled: o.Scheduled,
		Attempt: claimed.Attempt, Actor: o.Actor, Tool: o.Tool,
	})
	if err = unsigned(err); err != nil {
		return result, errors.Join(err, o.giveUp(ctx, claim, nil, err))
	}
	if err = o.write(ctx, run, claimed, &result); err != nil {
		return result, errors.Join(err, o.giveUp(ctx, claim, run, err))
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	if err := claim.Finish(ctx, writer.Done, result.Digest); err != nil {
		result.Warnings = append(result.Warnings, fmt.Sprintf("the backup is there, and the target's record does not say so: %v", err))
	}
	return result, nil
}

// patience is how long a run that is over waits for those who must hear of it.
const patience = 10 * time.Second

// close takes what closing something gave. After a success it is no more than a warning: nothing was lost.
func (r *Result) close(what string, closed, err error) error {
	if err == nil && closed != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("close %s: %v", what, closed))
		return nil
	}
	return errors.Join(err, closed)
}

// unsigned gives what went wrong before the statement the class that it then has: whatever may have landed, nobody refers to
// it, so that the run's outcome is known.
func unsigned(err error) error {
	if fault.Is(err, fault.UnknownOutcome) {
		return fault.Wrap(fault.Retryable, err)
	}
	return err
}

// newest is what the archive lists of a life.
func (o Options) newest(ctx context.Context, lineage position.Lineage) (int64, manifest.RunID, error) {
	h, err := history.Read(ctx, o.Writer.Archive)
	if err != nil {
		return 0, "", err
	}
	return h.Newest(ctx, lineage)
}

// giveUp says how a run ended that made no manifest. A statement that may have landed leaves the run without an end: the next
// attempt finds out.
func (o Options) giveUp(ctx context.Context, claim Claim, run *writer.Run, because error) error {
	if fault.Is(because, fault.UnknownOutcome) {
		return nil
	}
	outcome := writer.Failed
	if errors.Is(because, ErrOutOfTime) {
		outcome = writer.Continuation
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	var ended error
	if run != nil {
		ended = run.End(ctx, notice.End{Outcome: outcome, Warnings: []string{because.Error()}})
	}
	ended = errors.Join(ended, claim.Finish(ctx, outcome, ""))
	if errors.Is(because, writer.ErrSuperseded) {
		ended = errors.Join(ended, claim.Fence(ctx, because.Error()))
	}
	return ended
}

// write reads a snapshot into the archive and commits it. The snapshot is closed before: the server keeps dead rows for it.
func (o Options) write(ctx context.Context, run *writer.Run, claimed Claimed, result *Result) error {
	snapshot, err := o.Source.Snapshot(ctx)
	if err != nil {
		return unsigned(err)
	}
	read, err := o.read(ctx, run, claimed, result, snapshot)
	if err = result.close("the snapshot", snapshot.Close(context.WithoutCancel(ctx)), err); err != nil {
		return unsigned(err)
	}
	committed, err := run.Commit(ctx, read)
	if err != nil {
		return err
	}
	committed.Warnings = slices.Concat(read.Warnings, result.Warnings, committed.Warnings)
	result.Committed = committed
	return nil
}

// read reads a snapshot into the archive.
func (o Options) read(ctx context.Context, run *writer.Run, claimed Claimed, result *Result, snapshot Snapshot) (body.Body, error) {
	content := snapshot.Content()
	if err := o.check(content, claimed); err != nil {
		return body.Body{}, err
	}
	before, warnings, err := before(ctx, run.Found())
	if err != nil {
		return body.Body{}, err
	}
	if o.Describe != nil {
		cut, cluster, err := o.Describe(ctx, content.Cut)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("the brokers were not asked about the cut: %v", err))
		} else {
			content.Cut, content.Database.ClusterID = cut, cluster
		}
	}
	reading := newReading(o, run, snapshot, before)
	tables, err := reading.read(ctx)
	result.Progress, result.Rows, result.Tables = reading.progress, reading.progress.Rows, len(tables)
	return body.Body{
		Snapshot: content.Database, Cut: content.Cut, Gaps: content.Gaps, Definitions: content.Definitions, Tables: tables,
		Sequences: content.Sequences, Uncaptured: content.Uncaptured, Warnings: append(warnings, collapsed(tables, before)...),
	}, err
}

func newReading(o Options, run *writer.Run, snapshot Snapshot, before body.Body) *reading {
	r := &reading{
		options: o, run: run, snapshot: snapshot, tables: slices.Clone(snapshot.Content().Tables),
		before: map[body.Name]*body.Table{}, known: map[manifest.Digest]manifest.Object{}, chunks: map[[2]int][]*body.Chunk{},
	}
	for i, t := range before.Tables {
		r.before[t.Name] = &before.Tables[i]
	}
	for _, object := range before.Objects() {
		r.known[object.Plain] = object
	}
	return r
}

// check refuses a state that must not be backed up.
func (o Options) check(c Content, claimed Claimed) error {
	switch {
	case c.Life.TargetID != o.Writer.Archive.Target:
		return fault.New(fault.Misconfigured, "the database is target %s, not %s", c.Life.TargetID, o.Writer.Archive.Target)
	case c.Life.State != "live":
		return fault.New(fault.Fenced, "the target is %s: only a live one is backed up", c.Life.State)
	case c.Life.Lineage != claimed.Lineage || c.Life.Incarnation != claimed.Incarnation:
		return fault.New(fault.Fenced, "the target began life %s while life %s was to be backed up", c.Life.Lineage, claimed.Lineage)
	}
	var refused []string
	for _, name := range c.Uncaptured {
		if !slices.Contains(o.AllowUncaptured, name) {
			refused = append(refused, name)
		}
	}
	if len(refused) > 0 {
		return fault.New(fault.Misconfigured, "a restore would not bring back: %s: %w", strings.Join(refused, "; "), ErrUncaptured).
			WithHint("remove it, or say of each that it may be missing: --allow-uncaptured NAME")
	}
	return nil
}

// before is the newest body that verifies, for its chunks and their bounds. Which of its objects are still there is not asked
// here: each is looked at before it is used again. Without a body everything is stored anew: not because a store stutters.
func before(ctx context.Context, found *history.History) (body.Body, []string, error) {
	var reasons []error
	for _, e := range found.Entries {
		b, err := bodyOf(ctx, found, e)
		switch {
		case err == nil:
			return b, []string{}, nil
		case fault.Is(err, fault.Retryable), ctx.Err() != nil:
			return body.Body{}, nil, fmt.Errorf("read the manifest before: %w", err)
		}
		reasons = append(reasons, err)
	}
	if len(reasons) == 0 {
		return body.Body{}, []string{}, nil
	}
	warning := fmt.Sprintf("no earlier manifest could be used, so everything was stored anew: %v", reasons[0])
	return body.Body{}, []string{warning}, nil
}

func bodyOf(ctx context.Context, found *history.History, e history.Entry) (body.Body, error) {
	m, err := found.Open(ctx, e)
	if err != nil {
		return body.Body{}, err
	}
	return found.Body(ctx, m)
}

// collapsed warns of tables that had rows and have none.
func collapsed(tables []body.Table, before body.Body) (warnings []string) {
	had := map[body.Name]int64{}
	for _, t := range before.Tables {
		had[t.Name] = t.Rows
	}
	for _, t := range tables {
		if t.Rows == 0 && had[t.Name] > 0 {
			warnings = append(warnings, fmt.Sprintf("table %s has no rows, it had %d in the manifest before", t.Name, had[t.Name]))
		}
	}
	return warnings
}
