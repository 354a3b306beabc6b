package recoveries

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/apply"
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
	// Decide gives what writes decisions to the archive. It is asked when something is left out.
	Decide func(context.Context) (decision.Options, error)
}

// Run resumes a flow and tells what that means. What is left out is written to the archive first: a later recovery would bring
// it back.
func (r Resumption) Run(ctx context.Context, out io.Writer) error {
	held, life, err := r.Operator.Held(ctx, r.Target, r.Flow)
	if err != nil {
		return err
	}
	if r.Skip != "" {
		if err := r.decide(ctx, life, held); err != nil {
			return err
		}
	}
	resumed, err := r.Operator.ResumeFlow(ctx, r.Target, r.Flow, held, r.Skip)
	if err != nil {
		return err
	}
	return r.tell(out, resumed)
}

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
	if len(decisions) == 0 {
		return nil
	}
	options, err := r.Decide(ctx)
	if err != nil {
		return fmt.Errorf("nothing was done: %w", err)
	}
	if _, err := decision.Write(ctx, options, life.Lineage, decisions); err != nil {
		return fmt.Errorf("nothing was done in the target: %w", err)
	}
	return nil
}

func (r Resumption) tell(out io.Writer, resumed ledger.Resumed) error {
	var page bytes.Buffer
	for _, h := range resumed.Held {
		switch {
		case h.Range.IsEmpty():
			fmt.Fprintf(&page, "%s goes on at %s: nothing was held back\n", h.Partition, h.Range.From)
		case r.Skip != "":
			fmt.Fprintf(&page, "%s goes on at %s: %s is left out for good\n", h.Partition, h.Range.Until, h.Range)
		default:
			fmt.Fprintf(&page, "%s goes on at %s: %s is applied as it comes\n", h.Partition, h.Range.From, h.Range)
		}
	}
	if resumed.State == apply.StateLive {
		fmt.Fprintln(&page, "the target is live")
	} else {
		fmt.Fprintf(&page, "the target stays held: resume %s too\n", report.OneLine(strings.Join(resumed.Left, ", ")))
	}
	_, err := out.Write(page.Bytes())
	return err
}
