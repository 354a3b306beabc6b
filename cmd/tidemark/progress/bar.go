package progress

import (
	"io"
	"math"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/backup"
)

// Bar is a watch for a person at a terminal.
type Bar struct {
	out   io.Writer
	now   func() time.Time
	drawn time.Time
	bar   *progressbar.ProgressBar // nil until it is known how much there is
}

// New begins a watch: with a bar where a person looks at it.
func New(out io.Writer, asJSON bool, now func() time.Time) Watch {
	if screen, ok := out.(*os.File); ok && !asJSON && term.IsTerminal(int(screen.Fd())) {
		return NewBar(out, now)
	}
	return NewLines(out, now)
}

// NewBar begins a watch.
func NewBar(out io.Writer, now func() time.Time) *Bar { return &Bar{out: out, now: now} }

// Note draws the bar anew, not more often than an eye can follow.
func (b *Bar) Note(reached backup.Progress) {
	const blink = 200 * time.Millisecond
	now := b.now()
	if reached.Of == 0 || now.Sub(b.drawn) < blink {
		return
	}
	b.drawn = now
	if b.bar == nil {
		b.bar = progressbar.NewOptions64(reached.Of, progressbar.OptionSetWriter(b.out), progressbar.OptionShowBytes(true),
			progressbar.OptionUseIECUnits(true), progressbar.OptionShowTotalBytes(true), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(false))
	}
	const longest = 40
	name := []rune("reading")
	if reached.Table.Name != "" {
		name = []rune(report.OneLine(reached.Table.String()))
	}
	b.bar.Describe(string(name[:min(len(name), longest)]))
	_ = b.bar.Set64(min(reached.Bytes, reached.Of)) // nobody's backup fails because a terminal is gone
}

// End takes the bar away.
func (b *Bar) End(backup.Progress, bool) {
	if b.bar != nil {
		_ = b.bar.Exit()
		_ = b.bar.Clear()
	}
}

// percent is how much was read, to a tenth.
func percent(reached backup.Progress) float64 {
	if reached.Of <= 0 {
		return 0 // nobody knows yet
	}
	const tenths = 1000
	return math.Floor(min(float64(reached.Bytes)/float64(reached.Of), 1)*tenths) / (tenths / 100) //nolint:mnd // of a hundred
}
