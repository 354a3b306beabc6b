package recoveries

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/recovery"
)

// Watch tells how far a recovery is: a line at most every second, and one where a phase begins. The recovery calls it, one
// call at a time. Nobody's recovery fails because nobody reads.
type Watch struct {
	out    io.Writer
	asJSON bool
	now    func() time.Time
	phase  string
	told   time.Time
}

// NewWatch begins a watch.
func NewWatch(out io.Writer, asJSON bool, now func() time.Time) *Watch {
	return &Watch{out: out, asJSON: asJSON, now: now}
}

// step is what programs read. Its names stay.
type step struct {
	Phase   string `json:"phase"`
	Flow    string `json:"flow,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Total   int64  `json:"total,omitempty"`
	Applied int    `json:"applied,omitempty"`
	Present int    `json:"present,omitempty"`
}

// Restore tells how many plain bytes of the base are in.
func (w *Watch) Restore(done, of int64) {
	w.tell("restore", done == of, step{Phase: "restore", Bytes: done, Total: of},
		fmt.Sprintf("restored %s of %s", report.Size(done), report.Size(of)))
}

// Replay tells how much of a flow's log is in.
func (w *Watch) Replay(flow string, c recovery.Replayed) {
	w.tell("replay "+flow, false, step{Phase: "replay", Flow: flow, Applied: c.Applied, Present: c.Present},
		fmt.Sprintf("replaying flow %s: %s applied", report.OneLine(flow), report.Count(c.Applied, "record")))
}

func (w *Watch) tell(phase string, last bool, form step, line string) {
	const every = time.Second
	now := w.now()
	if phase == w.phase && !last && now.Sub(w.told) < every {
		return
	}
	w.phase, w.told = phase, now
	if w.asJSON {
		_ = json.NewEncoder(w.out).Encode(form)
		return
	}
	_, _ = fmt.Fprintln(w.out, line)
}
