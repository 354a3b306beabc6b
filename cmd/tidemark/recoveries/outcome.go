package recoveries

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/apply"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// Outcome is what a recovery did.
type Outcome struct {
	recovery.Report

	Took time.Duration
	Next []string // what became of functions, or what is to be done about them
}

// Show prints it, for a screen or for programs.
func (o Outcome) Show(out io.Writer, asJSON bool) error {
	if asJSON {
		return report.WriteJSON(out, o.form())
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, "the target %s is %s in life %s, from manifest %s\n", o.Try.TargetID, o.State, o.Try.Lineage, o.Try.Base)
	if o.Plan.Settled {
		fmt.Fprintf(&page, "nothing was done: run %s had recovered it already\n", o.Try.RunID)
	} else {
		fmt.Fprintf(&page, "%s restored, %s, in %s\n", report.Count(o.Restored.Rows, "row"), report.Size(o.Restored.Bytes),
			o.Restore.Round(time.Millisecond))
		for _, flow := range slices.Sorted(maps.Keys(o.Replayed)) {
			c := o.Replayed[flow]
			fmt.Fprintf(&page, "flow %s: %s applied, %d present, %d absorbed\n", report.OneLine(flow), report.Count(c.Applied, "record"),
				c.Present, c.Absorbed)
		}
		fmt.Fprintf(&page, "replayed in %s, all in %s\n", o.Replay.Round(time.Millisecond), o.Took.Round(time.Millisecond))
	}
	for _, h := range o.held() {
		fmt.Fprintf(&page, "held: flow %s, %s/%d [%s,%s); tidemark flow resume --replay, or --skip REASON\n", report.OneLine(h.Flow),
			report.OneLine(h.Topic), h.Partition, h.From, h.Until)
	}
	for _, line := range o.Next {
		fmt.Fprintln(&page, report.OneLine(line))
	}
	for _, warning := range o.Warnings {
		fmt.Fprintf(&page, "warning: %s\n", report.OneLine(warning))
	}
	_, err := out.Write(page.Bytes())
	return err
}

// held is what waits for an operator still.
func (o Outcome) held() []inspection.Held {
	if o.State != apply.StateHeld {
		return nil
	}
	return o.Try.Held
}
