// Package recovery owns how a lost target comes back: from the newest manifest that verifies plus the rest of the log, and
// never with success while a phase was skipped.
//
// The phases: choose the manifest; hold the log against its cut; say the plan; take the database and the next life; restore
// the base; replay the rest of the log through the code of live apply; settle. It declares what it needs of the log (Log,
// Tail) and of the database (Database). Whatever stops it, the same command goes on: the database knows the try, the archive
// its life, the ledger how far the replay is. What it refuses it refuses by name (refusal.Error), with what would override it and
// what that would lose. A recovery belongs to one goroutine.
package recovery

import (
	"context"
	"encoding/json"
	"fmt"
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
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/signing"
)

// Options says what is recovered from where to where.
type Options struct {
	Archive *archive.Archive
	Signers []signing.Signer
	// Pack turns the plain bytes of a small document into an object's.
	Pack      func(plain []byte) (packing.Packed, error)
	HighWater history.HighWater // nil: nobody remembers the newest manifest

	Log         Log
	Database    Database
	Checkpoints Checkpoints // of the database
	// Applier makes the applier of a flow, on the database that is being recovered, in the life that it is restored to.
	Applier func(flow string, life position.Incarnation) (Applier, error)

	// Flows are the topics of each flow. Those of the manifest's flows are replayed, also the ones that the manifest knows nothing
	// of yet: they begin at 0, as they would have in live apply.
	Flows map[string][]string

	// WholeRows says whether every record of a flow has every column, so that a compacted topic is enough. Nil: all have.
	WholeRows func(flow string) bool
	// Unwritten are the base's tables that no flow writes: what came to them after the backup is lost. unsure says why there may
	// be more. Nil: nobody knows.
	Unwritten func(body.Body) (tables []string, unsure string)

	Manifest     manifest.RunID   // that one and no other; zero: the newest that may be used
	FromBucket   string           // the place that manifest and base are read from, by its name; empty: any
	From         inspection.Start // where replay begins
	Until        inspection.End   // where it ends; what lies behind is then held
	AllowGap     string           // why records may be missing; empty: they may not
	AllowOlder   string           // why a manifest may be older than what was seen
	RequireFresh bool             // refuse when nobody can say that the manifest is the newest
	// Existing loads into tables that migrations made, Fits says whether the base fits them, and writes nothing.
	Existing bool
	Fits     func(ctx context.Context, b body.Body) (warnings []string, err error)
	// MintInSecondary takes the life in the second bucket when the first does not answer.
	MintInSecondary bool
	// Rehearsal recovers into a scratch database: no life is taken, and the target ends held.
	Rehearsal      bool
	Jobs           int
	Actor, Tool    string
	NewRunID       func() manifest.RunID
	NewIncarnation func() position.Incarnation
	Now            func() time.Time
	Switch         json.RawMessage // goes into the try when it begins
	// OnBegun is called when the try has the database and the life, by every call that goes on with it, before the base comes.
	OnBegun   func(ctx context.Context) error
	OnRestore func(done, of int64) // plain bytes
	OnReplay  func(flow string, counts Replayed)
}

// Report says what a recovery did.
type Report struct {
	Plan Plan `json:"-"`
	Try  Try
	// State is the target's: empty unless the recovery has ended.
	State    apply.State
	Restored Restored
	Replayed map[string]Replayed // by flow
	// Reached is how far the log was read by this call, by flow: behind marks of transactions too, at which no checkpoint stands.
	Reached  map[string]position.Cut `json:"-"`
	Restore  time.Duration
	Replay   time.Duration
	Warnings []string
}

// Run recovers. Called again after whatever stopped it, it goes on with what it has.
//
// Errors: as Prepare's; what stopped the restore, the replay or the end. Nothing else than nil means that the target is live.
func Run(ctx context.Context, o Options) (Report, error) {
	report := Report{Replayed: map[string]Replayed{}, Reached: map[string]position.Cut{}}
	plan, err := Prepare(ctx, o)
	report.Plan, report.Warnings = plan, plan.Warnings
	if err != nil {
		return report, err
	}
	if report.Try, err = o.begin(ctx, plan); err != nil || plan.Settled {
		report.State = plan.State
		return report, err
	}
	report.Warnings = union(slices.Clone(report.Try.Warned), report.Warnings)
	if o.OnBegun != nil {
		if err := o.OnBegun(ctx); err != nil {
			return report, err
		}
	}
	began := o.Now()
	report.Restored, err = o.Database.Restore(ctx, Base{
		Body: plan.Choice.Body, Fetch: o.fetch, Try: report.Try, Jobs: max(o.Jobs, 1), OnProgress: o.OnRestore,
	})
	report.Warnings = union(report.Warnings, report.Restored.Warnings)
	if err != nil {
		return report, fmt.Errorf("restore manifest %s: %w", plan.Choice.Manifest.ID, notEmpty(mismatch(err)))
	}
	report.Restore, began = o.Now().Sub(began), o.Now()
	if err := o.replayFlows(ctx, plan, &report); err != nil {
		return report, err
	}
	report.Replay = o.Now().Sub(began)
	report.State = report.Try.end()
	if err := o.settle(ctx, report); err != nil {
		report.State = ""
		return report, err
	}
	return report, nil
}

// end is the state in which a try leaves its target.
func (t Try) end() apply.State {
	if t.Held != nil || t.Rehearsal {
		return apply.StateHeld
	}
	return apply.StateLive
}

// settle ends a recovery after a last look at its positions and its life.
func (o Options) settle(ctx context.Context, report Report) error {
	stand, err := o.stand(ctx, report.Try.Ends)
	if err != nil {
		return err
	}
	for _, end := range report.Try.Ends {
		at := position.Partition{Topic: end.Topic, Number: end.Partition}
		if reached := report.Reached[end.Flow][at]; max(reached, stand[end.Flow][at]) < end.NextOffset {
			return fault.New(fault.Bug, "flow %s stands at %s in %s, and its replay ends at %s", end.Flow, stand[end.Flow][at], at,
				end.NextOffset)
		}
	}
	if !report.Try.Rehearsal {
		if err := o.lives().Holds(ctx, report.Try.life()); err != nil {
			return err
		}
	}
	return o.Database.Settle(ctx, Settlement{Try: report.Try, State: report.State, Report: report})
}

func (o Options) fetch(ctx context.Context, object manifest.Object) ([]byte, error) {
	read, err := o.source()
	if err != nil {
		return nil, err
	}
	stored, err := read.Fetch(ctx, object, nil)
	if err != nil {
		return nil, err
	}
	return o.Archive.Unpack(stored, object, object.PlainSize)
}

// source is the archive as manifest and base are read from it: whole, or the one place that was asked for. Lives are taken in all
// places whatever is read.
func (o Options) source() (*archive.Archive, error) {
	if o.FromBucket == "" {
		return o.Archive, nil
	}
	one := *o.Archive
	one.Places = slices.DeleteFunc(slices.Clone(one.Places), func(p archive.Place) bool { return p.Name != o.FromBucket })
	if len(one.Places) == 0 {
		return nil, fault.New(fault.Misconfigured, "the archive has no %s bucket", o.FromBucket).
			WithHint("set TIDEMARK_ARCHIVE_SECONDARY, or leave out --from-bucket")
	}
	return &one, nil
}
