package recoveries

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/apply"
	"tidemark/shared/postgres/ledger"
)

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
