// Package recovery owns how a lost target comes back: from the newest manifest that verifies plus the rest of the log, and
// never with success while a phase was skipped.
//
// The phases: choose the manifest; hold the log against its cut; say the plan; take the database and the next life; restore
// the base; replay the rest of the log through the code of live apply; settle. It declares what it needs of the log (Log,
// Tail) and of the database (Database). Whatever stops it, the same command goes on: the database knows the try, the archive
// its life, the ledger how far the replay is. What it refuses it refuses by name (RefusalError), with what would override it and
// what that would lose. A recovery belongs to one goroutine.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/signing"
)

// Options says what is recovered from where to where.
type Options struct {
	Archive *archive.Archive
	Signers []signing.Signer
	// Pack turns the plain bytes of a small document into an object's.
	Pack      func(plain []byte) (packing.Packed, error)
	HighWater history.HighWater // nil: nobody remembers the newest manifest

	Log      Log
	Database Database
	// Applier makes the applier of a flow, on the database that is being recovered.
	Applier func(flow string) (Applier, error)

	Manifest       manifest.RunID // that one and no other; zero: the newest that may be used
	AllowGap       string         // why records may be missing; empty: they may not
	AllowOlder     string         // why a manifest may be older than what was seen
	RequireFresh   bool           // refuse when nobody can say that the manifest is the newest
	Jobs           int
	Actor, Tool    string
	NewRunID       func() manifest.RunID
	NewIncarnation func() position.Incarnation
	Now            func() time.Time
	OnRestore      func(done, of int64) // plain bytes
	OnReplay       func(flow string, counts Replayed)
}

// Plan is what a recovery will do.
type Plan struct {
	Choice   history.Choice
	Tallies  []Tally
	Gaps     []body.Gap // that an operator accepted
	Warnings []string
	Resumed  *Try // an earlier try that goes on
	Settled  bool // that try has ended already
}

// Records is about how many records are to be replayed.
func (p Plan) Records() (n int64) {
	for _, t := range p.Tallies {
		n += t.Records()
	}
	return n
}

// Report says what a recovery did.
type Report struct {
	Plan     Plan `json:"-"`
	Try      Try
	Restored Restored
	Replayed map[string]Replayed // by flow
	Restore  time.Duration
	Replay   time.Duration
	Warnings []string
}

// Prepare chooses the manifest, looks at the database and holds the log against the cut. It writes nothing.
//
// Errors: a RefusalError by name, the archive's, the log's and the database's own.
func Prepare(ctx context.Context, o Options) (Plan, error) {
	var plan Plan
	found, err := o.Database.Look(ctx)
	if errors.Is(err, ErrNotEmpty) {
		return plan, refuse(fault.Misconfigured, &RefusalError{
			Name: TargetNotEmpty, What: err.Error(), Err: err, Override: "an empty database", Loses: "nothing",
		})
	}
	if err != nil {
		return plan, err
	}
	plan.Resumed, plan.Settled = found.Try, found.Settled
	if plan.Choice, err = o.choose(ctx, found.Try); err != nil {
		return plan, err
	}
	plan.Warnings = o.freshness(plan.Choice)
	if o.RequireFresh && !plan.Choice.FreshnessProven {
		return plan, refuse(fault.Misconfigured, &RefusalError{
			Name: FreshnessUnproven, What: "nobody remembers which manifest is the newest", Override: "--allow-older REASON",
			Loses: "what was backed up after this manifest, if anything was",
		})
	}
	if plan.Settled {
		return plan, nil
	}
	return plan, o.tally(ctx, &plan)
}

// choose takes the manifest of the earlier try, or the newest.
func (o Options) choose(ctx context.Context, earlier *Try) (history.Choice, error) {
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return history.Choice{}, lineageForked(err)
	}
	request := history.Request{Run: o.Manifest, AllowOlder: o.AllowOlder != ""}
	if earlier != nil {
		request = history.Request{Run: earlier.Base.Run, AllowOlder: true} // it was judged when the try began
	} else if o.HighWater != nil {
		if request.Mark, err = o.HighWater.Load(ctx); err != nil {
			return history.Choice{}, err
		}
	}
	choice, err := h.Choose(ctx, request)
	if err != nil {
		return choice, named(err)
	}
	if earlier != nil && choice.Manifest.Digest != earlier.Statement {
		return choice, refuse(fault.Corrupt, &RefusalError{
			Name: Corrupt, What: fmt.Sprintf("manifest %s is not the one that the earlier try began with", choice.Manifest.ID),
		})
	}
	return choice, nil
}

// named gives an error of the choice its name.
func named(err error) error {
	r := &RefusalError{What: err.Error(), Err: err}
	switch {
	case errors.Is(err, history.ErrNoBackup):
		r.Name = NoBackup
	case errors.Is(err, history.ErrOlderThanSeen):
		r.Name, r.Override, r.Loses = OlderThanSeen, "--allow-older REASON", "what only the newer manifest has and the log no longer"
	case errors.Is(err, signing.ErrUntrusted):
		r.Name = Untrusted
	case fault.Is(err, fault.Corrupt):
		r.Name = Corrupt
	default:
		return err
	}
	class := fault.ClassOf(err)
	refusal := refuse(class, r)
	if hint := fault.HintOf(err); hint != "" && r.Override == "" {
		return fault.New(class, "%w", r).WithHint("%s", hint)
	}
	return refusal
}

func (o Options) freshness(c history.Choice) (warnings []string) {
	for _, passed := range c.Passed {
		warnings = append(warnings, fmt.Sprintf("manifest %s was passed over: %v", passed.ID, passed.Reason))
	}
	if !c.FreshnessProven {
		warnings = append(warnings, FreshnessUnproven+": nobody outside the buckets remembers which manifest is the newest")
	}
	return warnings
}

// tally holds the log against the cut, or against where the earlier try ends.
func (o Options) tally(ctx context.Context, plan *Plan) error {
	b := plan.Choice.Body
	if b.Snapshot.ClusterID != "" {
		id, err := o.Log.ClusterID(ctx)
		if err != nil {
			return err
		}
		if id != b.Snapshot.ClusterID {
			return refuse(fault.Misconfigured, &RefusalError{
				Name: IdentityMismatch, What: fmt.Sprintf("the log is cluster %s, the manifest was made from %s", id, b.Snapshot.ClusterID),
			})
		}
	}
	in := &inspection{log: o.Log, cut: b.Cut, now: o.Now(), allowGap: o.AllowGap}
	tallies, err := in.inspect(ctx)
	plan.Warnings = append(plan.Warnings, in.warnings...)
	if err != nil {
		return err
	}
	plan.Tallies, plan.Gaps = tallies, in.gaps
	if plan.Resumed != nil {
		plan.Gaps = plan.Resumed.Accepted
		ends := map[string]position.Cut{}
		for i, t := range plan.Tallies { // where it ends was fixed when it began
			if ends[t.Flow] == nil {
				ends[t.Flow] = plan.Resumed.Ends.Offsets(t.Flow)
			}
			plan.Tallies[i].Until = ends[t.Flow][t.Partition]
		}
	}
	return nil
}

// Run recovers. Called again after whatever stopped it, it goes on with what it has.
func Run(ctx context.Context, o Options) (Report, error) {
	report := Report{Replayed: map[string]Replayed{}}
	plan, err := Prepare(ctx, o)
	report.Plan, report.Warnings = plan, plan.Warnings
	if err != nil {
		return report, err
	}
	if report.Try, err = o.begin(ctx, plan); err != nil || plan.Settled {
		return report, err
	}
	began := o.Now()
	report.Restored, err = o.Database.Restore(ctx, Base{
		Body: plan.Choice.Body, Fetch: o.fetch, Try: report.Try, Jobs: max(o.Jobs, 1), OnProgress: o.OnRestore,
	})
	report.Warnings = append(report.Warnings, report.Restored.Warnings...)
	if err != nil {
		return report, fmt.Errorf("restore manifest %s: %w", plan.Choice.Manifest.ID, err)
	}
	report.Restore, began = o.Now().Sub(began), o.Now()
	if err := o.replayFlows(ctx, plan, &report); err != nil {
		return report, err
	}
	report.Replay = o.Now().Sub(began)
	return report, o.Database.Settle(ctx, Settlement{Try: report.Try, State: apply.StateLive, Report: report})
}

// begin takes the database and the life, or finds that an earlier call has.
func (o Options) begin(ctx context.Context, plan Plan) (Try, error) {
	if plan.Resumed != nil {
		if plan.Settled {
			return *plan.Resumed, nil
		}
		return *plan.Resumed, o.mint(ctx, *plan.Resumed)
	}
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return Try{}, lineageForked(err)
	}
	latest, err := h.Latest(ctx)
	if err != nil {
		return Try{}, err
	}
	m := plan.Choice.Manifest
	t := Try{
		RunID: o.NewRunID(), TargetID: o.Archive.Target, Lineage: latest + 1, Incarnation: o.NewIncarnation(), Base: m.ID,
		Statement: m.Digest, Ends: plan.ends(), Accepted: plan.Gaps, Began: o.Now().UTC(), Actor: o.Actor,
	}
	if err := o.Database.Claim(ctx, t); err != nil {
		return t, err
	}
	return t, o.mint(ctx, t)
}

// ends is the cut up to which the log is replayed: what parent and child have in common.
func (p Plan) ends() body.Cut {
	generation := map[string]int64{}
	key := func(flow, topic string, number int32) string { return fmt.Sprintf("%s %s/%d", flow, topic, number) }
	for _, c := range p.Choice.Body.Cut {
		generation[key(c.Flow, c.Topic, c.Partition)] = c.Generation
	}
	ends := body.Cut{}
	for _, t := range p.Tallies {
		ends = append(ends, body.Partition{
			Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, NextOffset: max(t.Until, t.From),
			Generation: generation[key(t.Flow, t.Partition.Topic, t.Partition.Number)],
		})
	}
	ends.Sort()
	return ends
}

func (o Options) fetch(ctx context.Context, object manifest.Object) ([]byte, error) {
	stored, err := o.Archive.Fetch(ctx, object, nil)
	if err != nil {
		return nil, err
	}
	return o.Archive.Unpack(stored, object, object.PlainSize)
}

// replayFlows replays each flow from where its checkpoints stand.
func (o Options) replayFlows(ctx context.Context, plan Plan, report *Report) error {
	flows := map[string]position.Cut{}
	for _, p := range report.Try.Ends {
		flows[p.Flow] = report.Try.Ends.Offsets(p.Flow)
	}
	for _, flow := range slices.Sorted(maps.Keys(flows)) {
		counts, err := o.replayFlow(ctx, flow, flows[flow])
		report.Replayed[flow] = counts
		if err != nil {
			return fmt.Errorf("replay flow %s: %w", flow, o.vanished(ctx, plan, err))
		}
	}
	return nil
}

// vanished asks the log again when it lost in flight what was to be read next, so that the refusal has its name.
func (o Options) vanished(ctx context.Context, plan Plan, err error) error {
	if !errors.Is(err, ErrOutOfRange) {
		return err
	}
	var cut body.Cut
	for _, t := range plan.Tallies {
		at, failed := o.Database.Positions(ctx, t.Flow)
		if failed != nil {
			return errors.Join(err, failed)
		}
		cut = append(cut, body.Partition{
			Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, NextOffset: max(at[t.Partition], t.From),
		})
	}
	in := &inspection{log: o.Log, cut: cut, now: o.Now()}
	if _, refused := in.inspect(ctx); refused != nil {
		return refused
	}
	return err
}

func (o Options) replayFlow(ctx context.Context, flow string, ends position.Cut) (counts Replayed, err error) {
	from, err := o.Database.Positions(ctx, flow)
	if err != nil {
		return counts, err
	}
	applier, err := o.Applier(flow)
	if err != nil {
		return counts, err
	}
	open := position.Cut{}
	for p, end := range ends {
		if from[p] < end {
			open[p] = from[p]
		}
	}
	if len(open) == 0 {
		return counts, nil
	}
	tail, err := o.Log.Open(ctx, open)
	if err != nil {
		return counts, err
	}
	defer tail.Close()
	r := &replay{
		tail: tail, applier: applier, ends: ends, reached: maps.Clone(from), queues: map[position.Partition][]record.Record{},
		counts: &counts, report: func(c Replayed) {
			if o.OnReplay != nil {
				o.OnReplay(flow, c)
			}
		},
	}
	return counts, r.run(ctx)
}
