package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/refusal"
)

// Plan is what a recovery will do.
type Plan struct {
	Choice   history.Choice
	Tallies  []inspection.Tally
	Gaps     []body.Gap        // that an operator accepted
	Excluded []body.Gap        // that operators cut out of the log before
	LeftOut  []inspection.Held // of Gaps, what the log may have still
	Present  []body.Gap        // that the log has let go of and the base has
	// Unwritten are the tables that no flow writes: they are restored to the cut, and their later changes are lost.
	Unwritten []string
	// Unsure is why there may be more of them; empty: there are not.
	Unsure   string
	Warnings []string
	Resumed  *Try        // an earlier try that goes on
	Settled  bool        // that try has ended already
	State    apply.State // of the target, when it has
	Restored bool        // its base is in
}

// Records is about how many records are to be replayed.
func (p Plan) Records() (n int64) {
	for _, t := range p.Tallies {
		n += t.Records()
	}
	return n
}

// What two cores that are shared with the server did at least: plain bytes restored with their keys, and records replayed, a
// second (docs/performance.md). Estimates are to be wrong by less than a factor of three on such machines.
const (
	restoreRate = 40 << 20
	replayRate  = 50_000
)

// Estimate is about how long it takes.
func (p Plan) Estimate() time.Duration {
	var bytes int64
	for _, t := range p.Choice.Body.Tables {
		for _, chunk := range t.Chunks {
			bytes += chunk.Object.PlainSize
		}
	}
	if p.Restored {
		bytes = 0
	}
	return time.Duration((float64(bytes)/restoreRate + float64(p.Records())/replayRate) * float64(time.Second))
}

// Prepare chooses the manifest, looks at the database and holds the log against the cut. It writes nothing.
//
// Errors: a refusal.Error by name, the archive's, the log's and the database's own.
func Prepare(ctx context.Context, o Options) (Plan, error) {
	var plan Plan
	found, err := o.look(ctx)
	if err != nil {
		return plan, err
	}
	plan.Resumed, plan.Settled, plan.Restored, plan.State = found.Try, found.Settled, found.Restored, found.State
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
	if o.Unwritten != nil {
		plan.Unwritten, plan.Unsure = o.Unwritten(plan.Choice.Body)
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
	return refusal.Of(class, &refusal.Error{
		Name: refusal.TargetNotEmpty, What: err.Error(), Err: err, Override: "name an empty database", Loses: "nothing",
	})
}

// owns refuses to go on with a try that is of another target, or of another manifest than is asked for.
func (o Options) owns(earlier *Try) error {
	switch {
	case earlier == nil:
		return nil
	case earlier.TargetID != o.Archive.Target:
		return refusal.Of(fault.Misconfigured, &refusal.Error{
			Name: refusal.IdentityMismatch, What: fmt.Sprintf("the database belongs to a recovery of target %s, the archive is of %s",
				earlier.TargetID, o.Archive.Target),
		})
	case o.Existing && !earlier.Existing:
		return refusal.Of(fault.Misconfigured, &refusal.Error{
			Name: refusal.TargetNotEmpty, What: "the database belongs to a recovery that makes its own tables", Override: "leave out --schema existing",
			Loses: "nothing",
		})
	case o.Rehearsal != earlier.Rehearsal:
		return refusal.Of(fault.Misconfigured, &refusal.Error{
			Name: refusal.TargetNotEmpty, What: fmt.Sprintf("the database belongs to %s", earlier.kind()), Override: "name an empty database",
			Loses: "nothing",
		})
	case o.inspect().Asked() != "" && o.inspect().Asked() != earlier.Asked:
		return refusal.Of(fault.Misconfigured, &refusal.Error{
			Name: refusal.TargetNotEmpty, What: fmt.Sprintf("the database belongs to a recovery that was asked to replay %q, not %q",
				earlier.Asked, o.inspect().Asked()), Override: "the same --from and --until, none, or an empty database", Loses: "nothing",
		})
	case !o.Manifest.IsZero() && o.Manifest != earlier.Base.Run:
		return refusal.Of(fault.Misconfigured, &refusal.Error{
			Name: refusal.TargetNotEmpty, What: fmt.Sprintf("the database belongs to a recovery from manifest %s, not of run %s", earlier.Base,
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
			return refusal.Of(fault.Misconfigured, &refusal.Error{
				Name: refusal.IdentityMismatch, What: fmt.Sprintf("the log is cluster %s, the manifest was made from %s", id, made),
			})
		}
	}
	subject, err := o.subject(ctx, found, plan.Choice.Body)
	if err != nil {
		return err
	}
	look := o.inspect()
	excluded, warnings, err := look.Exclusions(ctx, h, subject.Body)
	if err != nil {
		return named(err)
	}
	subject.Excluded, plan.Excluded = excluded, excluded
	seen, err := look.Inspect(ctx, subject)
	plan.Warnings = slices.Concat(plan.Warnings, warnings, seen.Warnings)
	if err != nil {
		return err
	}
	if err := seen.Refused(); err != nil {
		return err
	}
	if found.Try != nil {
		plan.Gaps = append(plan.Gaps, found.Try.Accepted...)
	}
	plan.Tallies, plan.Gaps, plan.Present = seen.Tallies, append(plan.Gaps, seen.Gaps...), seen.Present
	plan.LeftOut = seen.LeftOut
	for _, t := range plan.Tallies {
		if t.Unstable != 0 && found.Try == nil {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("transactions are open in %s: [%d,%d) is left to the live function",
				t.Partition, t.Until, t.Unstable))
		}
	}
	return nil
}

// inspect is how the log is looked at.
func (o Options) inspect() inspection.Options {
	return inspection.Options{
		Log: o.Log, Flows: o.Flows, WholeRows: o.WholeRows, From: o.From, Until: o.Until, AllowGap: o.AllowGap, Actor: o.Actor,
	}
}

// subject is what the log is held against.
func (o Options) subject(ctx context.Context, found Found, b body.Body) (s inspection.Subject, err error) {
	s = inspection.Subject{Body: b, Now: o.Now()}
	if found.Try == nil {
		return s, nil
	}
	s.Earlier = found.Try.earlier()
	if found.Restored {
		s.Stand, err = o.stand(ctx, found.Try.Ends)
	}
	return s, err
}

// stand is where the database's checkpoints stand, by flow.
func (o Options) stand(ctx context.Context, ends body.Cut) (map[string]position.Cut, error) {
	stand := map[string]position.Cut{}
	for _, p := range ends {
		if stand[p.Flow] != nil {
			continue
		}
		at, err := o.Checkpoints.Positions(ctx, p.Flow)
		if err != nil {
			return nil, err
		}
		stand[p.Flow] = at
	}
	return stand, nil
}
