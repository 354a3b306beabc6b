package recoveries

import (
	"context"
	"fmt"
	"io"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/archive/decision"
	"tidemark/shared/archive/notice"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
)

// Resumption ends that a flow is held.
type Resumption struct {
	Operator *ledger.Operator
	Target   position.TargetID
	Flow     string
	Skip     string // why what is held is left out; empty: it is replayed
	// Decide gives what reads and writes the archive's decisions.
	Decide func(context.Context) (decision.Options, error)
}

// Run resumes a flow and tells what that means. What is left out is written to the archive first: a later recovery would bring
// it back.
func (r Resumption) Run(ctx context.Context, out io.Writer) error {
	held, life, err := r.Operator.Held(ctx, r.Target, r.Flow)
	if err != nil {
		return err
	}
	if err := r.decide(ctx, life, held); err != nil {
		return err
	}
	resumed, err := r.Operator.ResumeFlow(ctx, r.Target, r.Flow, held, r.Skip)
	if err != nil {
		return err
	}
	return r.tell(out, resumed)
}

// decide asks the archive whether this life is the latest still and whether what is held may be applied, or writes to it what is
// left out.
func (r Resumption) decide(ctx context.Context, life ledger.Life, held []ledger.Held) error {
	var decisions []notice.Decision
	for _, h := range held {
		if !h.Range.IsEmpty() {
			decisions = append(decisions, notice.Decision{
				Act: decision.Exclude, Flow: r.Flow, Topic: h.Partition.Topic, TopicID: h.TopicID, Partition: h.Partition.Number,
				From: h.Range.From, Until: h.Range.Until, At: h.Range.From, Reason: r.Skip,
			})
		}
	}
	options, err := r.Decide(ctx)
	if err != nil {
		return fmt.Errorf("nothing was done: %w", err)
	}
	if r.Skip == "" {
		err = decision.Replayable(ctx, options, life.Lineage, decisions)
	} else {
		_, err = decision.Write(ctx, options, life.Lineage, decisions)
	}
	if err != nil {
		return exit.Archive(fmt.Errorf("nothing was done in the target: %w", err))
	}
	return nil
}
