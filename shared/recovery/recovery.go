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
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
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
	if err != nil {
		return plan, notEmpty(err)
	}
	plan.Resumed, plan.Settled = found.Try, found.Settled
	if err := o.owns(found.Try); err != nil {
		return plan, err
	}
	if plan.Settled {
		plan.Choice, plan.Warnings = o.past(ctx, found.Try)
		return plan, nil
	}
	if plan.Choice, err = o.choose(ctx, found.Try); err != nil {
		return plan, err
	}
	if found.Try == nil {
		if plan.Warnings, err = o.freshness(plan.Choice); err != nil {
			return plan, err
		}
	}
	err = o.tally(ctx, &plan, found)
	return plan, err
}

// notEmpty names a database's refusal.
func notEmpty(err error) error {
	if !errors.Is(err, ErrNotEmpty) {
		return err
	}
	class := fault.Misconfigured
	if fault.Is(err, fault.Fenced) {
		class = fault.Fenced // another recovery was first
	}
	return refuse(class, &RefusalError{
		Name: TargetNotEmpty, What: err.Error(), Err: err, Override: "name an empty database", Loses: "nothing",
	})
}

// owns refuses to go on with a try that is of another target, or of another manifest than is asked for.
func (o Options) owns(earlier *Try) error {
	switch {
	case earlier == nil:
		return nil
	case earlier.TargetID != o.Archive.Target:
		return refuse(fault.Misconfigured, &RefusalError{
			Name: IdentityMismatch, What: fmt.Sprintf("the database belongs to a recovery of target %s, the archive is of %s",
				earlier.TargetID, o.Archive.Target),
		})
	case !o.Manifest.IsZero() && o.Manifest != earlier.Base.Run:
		return refuse(fault.Misconfigured, &RefusalError{
			Name: TargetNotEmpty, What: fmt.Sprintf("the database belongs to a recovery from manifest %s, not of run %s", earlier.Base,
				o.Manifest), Override: "name that manifest or an empty database", Loses: "nothing",
		})
	}
	return nil
}

// tally holds the log against the cut, or against where the earlier try ends.
func (o Options) tally(ctx context.Context, plan *Plan, found Found) error {
	if made := plan.Choice.Body.Snapshot.ClusterID; made != "" {
		id, err := o.Log.ClusterID(ctx)
		if err != nil {
			return err
		}
		if id != made {
			return refuse(fault.Misconfigured, &RefusalError{
				Name: IdentityMismatch, What: fmt.Sprintf("the log is cluster %s, the manifest was made from %s", id, made),
			})
		}
	}
	in := &inspection{
		log: o.Log, body: plan.Choice.Body, now: o.Now(), actor: o.Actor, allowGap: o.AllowGap, try: found.Try,
	}
	if found.Restored {
		var err error
		if in.stand, err = o.stand(ctx, found.Try.Ends); err != nil {
			return err
		}
	}
	tallies, err := in.inspect(ctx)
	plan.Warnings = append(plan.Warnings, in.warnings...)
	if err != nil {
		return err
	}
	if found.Try != nil {
		plan.Gaps = append(plan.Gaps, found.Try.Accepted...)
	}
	plan.Tallies, plan.Gaps = tallies, append(plan.Gaps, in.gaps...)
	for _, t := range tallies {
		if t.Unstable != 0 && found.Try == nil {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("transactions are open in %s: [%d,%d) is left to the live function",
				t.Partition, t.Until, t.Unstable))
		}
	}
	return nil
}

// stand is where the database's checkpoints stand, by flow.
func (o Options) stand(ctx context.Context, ends body.Cut) (map[string]position.Cut, error) {
	stand := map[string]position.Cut{}
	for _, p := range ends {
		if stand[p.Flow] != nil {
			continue
		}
		at, err := o.Database.Positions(ctx, p.Flow)
		if err != nil {
			return nil, err
		}
		stand[p.Flow] = at
	}
	return stand, nil
}

// Run recovers. Called again after whatever stopped it, it goes on with what it has.
//
// Errors: as Prepare's; what stopped the restore, the replay or the end. Nothing else than nil means that the target is live.
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
		return report, fmt.Errorf("restore manifest %s: %w", plan.Choice.Manifest.ID, notEmpty(err))
	}
	report.Restore, began = o.Now().Sub(began), o.Now()
	if err := o.replayFlows(ctx, plan, &report); err != nil {
		return report, err
	}
	report.Replay = o.Now().Sub(began)
	if err := o.holds(ctx, report.Try); err != nil {
		return report, err
	}
	return report, o.Database.Settle(ctx, Settlement{Try: report.Try, State: apply.StateLive, Report: report})
}

// begin takes the database and the life, or finds that an earlier call has.
func (o Options) begin(ctx context.Context, plan Plan) (Try, error) {
	if plan.Resumed != nil {
		t := *plan.Resumed
		if plan.Settled {
			return t, nil
		}
		t.Accepted = plan.Gaps
		if err := o.mint(ctx, t); err != nil {
			return t, err
		}
		return t, o.holds(ctx, t)
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
		return t, notEmpty(err)
	}
	return t, o.mint(ctx, t)
}

// holds refuses to go on with a life that is not the latest any more: a recovery into another database began after this one
// and found its life taken, so it took the next.
func (o Options) holds(ctx context.Context, t Try) error {
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return lineageForked(err)
	}
	latest, err := h.Latest(ctx)
	if err != nil {
		return err
	}
	life, known := h.Life(t.Lineage)
	switch {
	case t.Lineage.Before(latest):
		return refuse(fault.Fenced, &RefusalError{
			Name: HeldByAnother, What: fmt.Sprintf("life %s was taken after life %s, which this recovery has", latest, t.Lineage),
			Override: "drop this database", Loses: "nothing: the other recovery goes on",
		})
	case !known && h.Reached() != nil:
		return h.Reached() // its record may be there
	}
	return heldUnless(known && life.RunID == t.RunID, t, life.RunID)
}

// ends is the cut up to which the log is replayed: what parent and child have in common.
func (p Plan) ends() body.Cut {
	known := map[place]body.Partition{}
	for _, c := range p.Choice.Body.Cut {
		known[placeOf(c)] = c
	}
	ends := body.Cut{}
	for _, t := range p.Tallies {
		end := body.Partition{
			Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, NextOffset: max(t.Until, t.From),
		}
		end.Generation = known[placeOf(end)].Generation
		ends = append(ends, end)
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
