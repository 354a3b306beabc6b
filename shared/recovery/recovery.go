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
	"encoding/json"
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
	// Applier makes the applier of a flow, on the database that is being recovered, in the life that it is restored to.
	Applier func(flow string, life position.Incarnation) (Applier, error)

	// Flows are the topics of each flow. Those of the manifest's flows are replayed, also the ones that the manifest knows nothing
	// of yet: they begin at 0, as they would have in live apply.
	Flows map[string][]string

	Manifest     manifest.RunID // that one and no other; zero: the newest that may be used
	From         Start          // where replay begins
	Until        End            // where it ends; what lies behind is then held
	AllowGap     string         // why records may be missing; empty: they may not
	AllowOlder   string         // why a manifest may be older than what was seen
	RequireFresh bool           // refuse when nobody can say that the manifest is the newest
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

// Plan is what a recovery will do.
type Plan struct {
	Choice   history.Choice
	Tallies  []Tally
	Gaps     []body.Gap // that an operator accepted
	Excluded []body.Gap // that operators cut out of the log before
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
	// Reached is how far the log was read by this call, by flow: behind marks of transactions too, at which no checkpoint stands.
	Reached  map[string]position.Cut `json:"-"`
	Restore  time.Duration
	Replay   time.Duration
	Warnings []string
}

// Prepare chooses the manifest, looks at the database and holds the log against the cut. It writes nothing.
//
// Errors: a RefusalError by name, the archive's, the log's and the database's own.
func Prepare(ctx context.Context, o Options) (Plan, error) {
	var plan Plan
	found, err := o.look(ctx)
	if err != nil {
		return plan, err
	}
	plan.Resumed, plan.Settled = found.Try, found.Settled
	if err := o.owns(found.Try); err != nil {
		return plan, err
	}
	if plan.Settled {
		plan.Choice, plan.Warnings = o.past(ctx, found.Try)
		return plan, nil
	}
	choice, h, err := o.choose(ctx, found.Try)
	if plan.Choice = choice; err != nil {
		return plan, err
	}
	if found.Try == nil {
		if plan.Warnings, err = o.freshness(plan.Choice); err != nil {
			return plan, err
		}
	}
	if err := o.fit(ctx, &plan); err != nil {
		return plan, err
	}
	err = o.tally(ctx, h, &plan, found)
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
	case o.Existing && !earlier.Existing:
		return refuse(fault.Misconfigured, &RefusalError{
			Name: TargetNotEmpty, What: "the database belongs to a recovery that makes its own tables", Override: "leave out --schema existing",
			Loses: "nothing",
		})
	case o.Rehearsal != earlier.Rehearsal:
		return refuse(fault.Misconfigured, &RefusalError{
			Name: TargetNotEmpty, What: fmt.Sprintf("the database belongs to %s", earlier.kind()), Override: "name an empty database",
			Loses: "nothing",
		})
	case o.asked() != "" && o.asked() != earlier.Asked:
		return refuse(fault.Misconfigured, &RefusalError{
			Name: TargetNotEmpty, What: fmt.Sprintf("the database belongs to a recovery that was asked to replay %q, not %q",
				earlier.Asked, o.asked()), Override: "the same --from and --until, none, or an empty database", Loses: "nothing",
		})
	case !o.Manifest.IsZero() && o.Manifest != earlier.Base.Run:
		return refuse(fault.Misconfigured, &RefusalError{
			Name: TargetNotEmpty, What: fmt.Sprintf("the database belongs to a recovery from manifest %s, not of run %s", earlier.Base,
				o.Manifest), Override: "name that manifest or an empty database", Loses: "nothing",
		})
	}
	return nil
}

// kind says what a try is.
func (t Try) kind() string {
	if t.Rehearsal {
		return "a rehearsal, which never goes live"
	}
	return "a recovery"
}

// tally holds the log against the cut, or against where the earlier try ends.
func (o Options) tally(ctx context.Context, h *history.History, plan *Plan, found Found) error {
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
	in := &inspection{options: o, body: plan.Choice.Body, now: o.Now(), try: found.Try}
	if found.Restored {
		var err error
		if in.stand, err = o.stand(ctx, found.Try.Ends); err != nil {
			return err
		}
	}
	if err := o.exclude(ctx, h, in); err != nil {
		return err
	}
	plan.Excluded = in.excluded
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
	report := Report{Replayed: map[string]Replayed{}, Reached: map[string]position.Cut{}}
	plan, err := Prepare(ctx, o)
	report.Plan, report.Warnings = plan, plan.Warnings
	if err != nil {
		return report, err
	}
	if report.Try, err = o.begin(ctx, plan); err != nil || plan.Settled {
		return report, err
	}
	if o.OnBegun != nil {
		if err := o.OnBegun(ctx); err != nil {
			return report, err
		}
	}
	began := o.Now()
	report.Restored, err = o.Database.Restore(ctx, Base{
		Body: plan.Choice.Body, Fetch: o.fetch, Try: report.Try, Jobs: max(o.Jobs, 1), OnProgress: o.OnRestore,
	})
	report.Warnings = append(report.Warnings, report.Restored.Warnings...)
	if err != nil {
		return report, fmt.Errorf("restore manifest %s: %w", plan.Choice.Manifest.ID, notEmpty(mismatch(err)))
	}
	report.Restore, began = o.Now().Sub(began), o.Now()
	if err := o.replayFlows(ctx, plan, &report); err != nil {
		return report, err
	}
	report.Replay = o.Now().Sub(began)
	return report, o.settle(ctx, report)
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
	state := apply.StateLive
	if report.Try.Held != nil || report.Try.Rehearsal {
		state = apply.StateHeld
	}
	if !report.Try.Rehearsal {
		if err := o.holds(ctx, report.Try); err != nil {
			return err
		}
	}
	return o.Database.Settle(ctx, Settlement{Try: report.Try, State: state, Report: report})
}

// begin takes the database and the life, or finds that an earlier call has.
func (o Options) begin(ctx context.Context, plan Plan) (Try, error) {
	if plan.Resumed != nil {
		t := *plan.Resumed
		if plan.Settled {
			return t, nil
		}
		t.Accepted = plan.Gaps
		if t.Rehearsal {
			return t, nil
		}
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
		Statement: m.Digest, Ends: plan.ends(), Starts: plan.starts(), Held: plan.held(), Accepted: plan.Gaps, Asked: o.asked(),
		Began: o.Now().UTC(), Actor: o.Actor, Rehearsal: o.Rehearsal, Switch: o.Switch, Existing: o.Existing,
	}
	if err := o.Database.Claim(ctx, t); err != nil {
		return t, notEmpty(err)
	}
	if o.Rehearsal {
		return t, nil
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

// starts are the partitions whose replay begins below the cut.
func (p Plan) starts() body.Cut {
	var starts body.Cut
	for _, t := range p.Tallies {
		if t.Rewound {
			starts = append(starts, body.Partition{
				Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, NextOffset: t.From,
			})
		}
	}
	return starts
}

// held is what lies behind the ends that were asked for; nil: none were.
func (p Plan) held() (held []Held) {
	for _, t := range p.Tallies {
		if t.Held != nil {
			h := *t.Held
			h.From = max(t.Until, t.From)
			h.Until = max(h.Until, h.From)
			held = append(held, h)
		}
	}
	return held
}

func (o Options) fetch(ctx context.Context, object manifest.Object) ([]byte, error) {
	stored, err := o.Archive.Fetch(ctx, object, nil)
	if err != nil {
		return nil, err
	}
	return o.Archive.Unpack(stored, object, object.PlainSize)
}
