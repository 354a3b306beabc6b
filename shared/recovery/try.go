package recovery

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"tidemark/shared/archive/decision"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/life"
)

// Try is one recovery, from its claim to its end. The same command finds it again and goes on with it.
type Try struct {
	RunID       manifest.RunID       `json:"run_id"`
	TargetID    position.TargetID    `json:"target_id"`
	Lineage     position.Lineage     `json:"lineage,string"`
	Incarnation position.Incarnation `json:"incarnation"`
	Base        layout.ID            `json:"base"`
	Statement   manifest.Digest      `json:"statement"` // of the base
	Ends        body.Cut             `json:"ends"`      // up to where it replays, fixed once
	// Starts are the partitions whose replay begins below the base's cut, and where.
	Starts   body.Cut   `json:"starts,omitempty"`
	Accepted []body.Gap `json:"accepted"` // what an operator said may be missing; what Look gives is as of the claim
	// Held is what lies behind a point in time or offsets that were asked for: nobody applies it before an operator says how.
	// Nil: nothing was asked for, and the target goes live.
	Held []inspection.Held `json:"held,omitempty"`
	// LeftOut is what the operator passed over by where the replay was asked to begin: no later recovery brings it back.
	LeftOut []inspection.Held `json:"left_out,omitempty"`
	// Warned is what was said when it began, with the operator's reasons: a call that goes on does not find it again.
	Warned []string  `json:"warned,omitempty"`
	Asked  string    `json:"asked,omitempty"` // how the command named the start and the end of the replay
	Began  time.Time `json:"began"`
	Actor  string    `json:"actor"`
	// Existing says that the base is loaded into tables that were there.
	Existing bool `json:"existing,omitempty"`
	// Switch is what the caller must not forget about functions that it stops: it is kept before the first one is.
	Switch json.RawMessage `json:"switch,omitempty"`
	// Rehearsal says that no life was taken and nothing will ever be live.
	Rehearsal bool `json:"rehearsal,omitempty"`
}

// earlier is what the try has fixed.
func (t Try) earlier() *inspection.Earlier {
	return &inspection.Earlier{Ends: t.Ends, Starts: t.Starts, Accepted: t.Accepted}
}

// life is the life that the try takes.
func (t Try) life() life.Life {
	return life.Life{
		RunID: t.RunID, TargetID: t.TargetID, Lineage: t.Lineage, Incarnation: t.Incarnation, Base: t.Base, Statement: t.Statement,
		Ends: t.shared(), Began: t.Began,
	}
}

// shared is the cut up to which the life has its parent's history: its ends, or where it first left something out.
func (t Try) shared() body.Cut {
	shared := slices.Clone(t.Ends)
	for i, end := range shared {
		for _, out := range t.LeftOut {
			if out.Flow == end.Flow && out.Topic == end.Topic && out.Partition == end.Partition {
				shared[i].NextOffset = min(end.NextOffset, out.From)
			}
		}
	}
	return shared
}

// decide writes to the archive what the try leaves out of a log that may have it still (part D). Called again it changes nothing.
func (o Options) decide(ctx context.Context, t Try) error {
	var decisions []notice.Decision
	for _, out := range t.LeftOut {
		d := notice.Decision{
			Act: decision.Exclude, Flow: out.Flow, Topic: out.Topic, TopicID: out.TopicID, Partition: out.Partition, From: out.From,
			Until: out.Until, At: out.From,
		}
		for _, g := range t.Accepted {
			if g.Flow == out.Flow && g.Topic == out.Topic && g.Partition == out.Partition && g.From == out.From {
				d.Reason = g.Reason
			}
		}
		decisions = append(decisions, d)
	}
	if len(decisions) == 0 {
		return nil
	}
	_, err := decision.Write(ctx, decision.Options{Archive: o.Archive, Actor: t.Actor, Now: o.Now, Signers: o.Signers}, t.Lineage, decisions)
	return err
}

// lives is how lives are taken.
func (o Options) lives() life.Options {
	return life.Options{
		Archive: o.Archive, Signers: o.Signers, Pack: o.Pack, Now: o.Now, Tool: o.Tool, InSecondary: o.MintInSecondary,
	}
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
		if err := o.lives().Take(ctx, t.life()); err != nil {
			return t, err
		}
		if err := o.lives().Holds(ctx, t.life()); err != nil {
			return t, err
		}
		return t, o.decide(ctx, t)
	}
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return Try{}, life.Forked(err)
	}
	latest, err := h.Latest(ctx)
	if err != nil {
		return Try{}, err
	}
	m := plan.Choice.Manifest
	t := Try{
		RunID: o.NewRunID(), TargetID: o.Archive.Target, Lineage: latest + 1, Incarnation: o.NewIncarnation(), Base: m.ID,
		Statement: m.Digest, Ends: inspection.Ends(plan.Tallies, plan.Choice.Body.Cut),
		Starts: inspection.Starts(plan.Tallies), Held: inspection.Holds(plan.Tallies), Accepted: plan.Gaps, LeftOut: plan.LeftOut, Warned: plan.Warnings, Asked: o.inspect().Asked(),
		Began: o.Now().UTC(), Actor: o.Actor, Rehearsal: o.Rehearsal, Switch: o.Switch, Existing: o.Existing,
	}
	if err := o.Database.Claim(ctx, t); err != nil {
		return t, notEmpty(err)
	}
	if o.Rehearsal {
		return t, nil
	}
	if err := o.lives().Take(ctx, t.life()); err != nil {
		return t, err
	}
	return t, o.decide(ctx, t)
}
