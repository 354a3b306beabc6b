// Package rehearsal owns whether a lost target would come back: a full recovery into a scratch database, measured and compared.
//
// Its phases: count what the archive holds, without a database; restore the base, and compare its tables with the archive's;
// replay the log; count what came of it; compare that with a live target, when there is one. Both are compared at one cut: the
// live target is counted first, in one snapshot, and the replay ends where that snapshot stands.
//
// It composes recovery and verify and shares nothing with what it compares. It takes no life, and nothing in the buckets
// changes: a report is its caller's to write. It refuses to say verified when a phase was left out or anything differs, to hide
// a difference that may be right, and to begin in a database that holds an earlier try, which could not be measured. A rehearsal
// belongs to one goroutine.
package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/verify"
	"tidemark/shared/verify/census"
)

// Options says what is rehearsed and what it is compared with.
type Options struct {
	// Recovery is the recovery into the scratch database. That it is a rehearsal is said here; with a live target, so are the
	// manifest, once it is chosen, and the end of the replay.
	Recovery recovery.Options
	Scratch  Tables
	Live     Tables // nil: there is none to compare with, and the replay goes on to the end of the log
	// Check counts what the archive holds of a plan's manifest: all of it, at level hash.
	Check   func(ctx context.Context, plan recovery.Plan) (verify.Outcome, error)
	OnPhase func(Phase) // is called when a phase is done
}

// Tables is a database whose tables are counted. Tables of the ledger are not, nor those that are not there.
type Tables interface {
	Read(ctx context.Context, tables []body.Table) (State, error)
}

// State is what one snapshot of a database shows.
type State struct {
	Tables census.Tables
	Cut    body.Cut  // where the ledger's checkpoints stand
	Taken  time.Time // by the database's clock
}

// Prepare says what the recovery of a rehearsal without a live target will do. It writes nothing.
//
// Errors: as recovery.Prepare's; a refusal.Error when the scratch database holds an earlier try.
func Prepare(ctx context.Context, o Options) (recovery.Plan, error) {
	o.Recovery.Rehearsal = true
	plan, err := recovery.Prepare(ctx, o.Recovery)
	if err == nil && plan.Resumed != nil {
		err = refusal.Of(fault.Misconfigured, &refusal.Error{
			Name: refusal.TargetNotEmpty, What: fmt.Sprintf("the scratch database holds the try of run %s", plan.Resumed.RunID),
			Override: "drop it and name an empty one, or name none, and one is made", Loses: "nothing",
		})
	}
	return plan, err
}

// Run rehearses, and gives all that was found, also when there is an error: what stopped it is in the outcome too, and decides
// its verdict. That something differs is no error.
//
// Errors: fault.Misconfigured for an end that is named beside a live target; the recovery's, the archive's and the databases'.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if o.OnPhase == nil {
		o.OnPhase = func(Phase) {}
	}
	o.Recovery.Rehearsal = true
	r := &run{Options: o, now: o.Recovery.Now}
	r.outcome.Begun, r.outcome.Compares = r.now(), o.Live != nil
	r.outcome.Stopped = r.rehearse(ctx)
	r.outcome.Ended = r.now()
	return r.outcome, r.outcome.Stopped
}

// run is a rehearsal under way.
type run struct {
	Options

	now     func() time.Time
	live    State
	base    census.Tables // the scratch database's before the replay
	outcome Outcome
}

func (r *run) rehearse(ctx context.Context) error {
	if r.Live != nil {
		if err := r.countLive(ctx); err != nil {
			return err
		}
	}
	plan, err := Prepare(ctx, r.Options)
	r.outcome.Plan = plan
	r.outcome.Warnings = union(r.outcome.Warnings, plan.Warnings)
	if err != nil {
		return err
	}
	if err := r.countArchive(ctx); err != nil {
		return err
	}
	if err := r.recover(ctx); err != nil {
		return err
	}
	after, err := r.Scratch.Read(ctx, plan.Choice.Body.Tables)
	if err != nil {
		return fmt.Errorf("count the scratch database: %w", err)
	}
	r.outcome.Tables, r.outcome.Cut = after.Tables, after.Cut
	r.did(Count)
	if r.Live != nil {
		r.compareLive(after)
		r.did(Compare)
	}
	return nil
}

func (r *run) did(phase Phase) {
	r.outcome.Phases = append(r.outcome.Phases, phase)
	r.OnPhase(phase)
}

// countArchive counts the archive's rows, which is not the recovery's to measure.
func (r *run) countArchive(ctx context.Context) (err error) {
	if r.outcome.Archive, err = r.Check(ctx, r.outcome.Plan); err != nil {
		return err
	}
	o := r.outcome.Archive
	if o.Level != verify.Hash || o.Share != verify.All {
		return fault.New(fault.Bug, "the archive was checked at level %s, %s of it", o.Level, o.Share)
	}
	if err := o.Err(); err != nil {
		return err
	}
	r.did(Archive)
	return nil
}

// recover recovers, and measures that without what is counted meanwhile.
func (r *run) recover(ctx context.Context) error {
	s := &observed{Database: r.Recovery.Database, now: r.now, restored: r.compareBase}
	o := r.Recovery
	o.Database, o.Log = s, watched{o.Log, s}
	began := r.now()
	report, err := recovery.Run(ctx, o)
	r.outcome.Took = r.now().Sub(began) - s.counting
	r.outcome.Recovered, r.outcome.Restore, r.outcome.Replay = report, s.took, report.Replay
	r.outcome.Warnings = union(r.outcome.Warnings, report.Warnings)
	r.outcome.Point = newest(s.point, r.outcome.Plan.Choice.Body.Cut)
	if err != nil {
		return err
	}
	if report.Plan.Settled || !slices.Contains(r.outcome.Phases, Base) {
		return fault.New(fault.Bug, "the recovery ended, and it restored nothing")
	}
	r.did(Replay)
	return nil
}

// newest is the time of the newest record: of those that were replayed, or of the base's.
func newest(replayed time.Time, base body.Cut) time.Time {
	for _, p := range base {
		if p.RecordTime != nil && p.RecordTime.After(replayed) {
			replayed = *p.RecordTime
		}
	}
	return replayed
}

func union(all, more []string) []string {
	for _, text := range more {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
