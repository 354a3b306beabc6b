package progress

import (
	"encoding/json"
	"io"
	"time"

	"tidemark/shared/backup"
)

// Lines is a watch for programs.
type Lines struct {
	out   io.Writer
	now   func() time.Time
	begun time.Time
	told  time.Time
}

// NewLines begins a watch: a line at most every second, and one at the end.
func NewLines(out io.Writer, now func() time.Time) *Lines {
	begun := now()
	return &Lines{out: out, now: now, begun: begun, told: begun}
}

const every = time.Second

// Note writes a line if the last one is old enough.
func (l *Lines) Note(reached backup.Progress) {
	if now := l.now(); now.Sub(l.told) >= every {
		l.told = now
		l.write(reached, percent(reached))
	}
}

// End writes the last line.
func (l *Lines) End(reached backup.Progress, whole bool) {
	if whole {
		l.write(reached, 100) //nolint:mnd // of a hundred
		return
	}
	l.write(reached, percent(reached))
}

// line is what programs read. Its names stay. Bytes are those of the tables' pages, about.
type line struct {
	Percent     float64  `json:"percent"`
	Bytes       int64    `json:"bytes"`
	Total       int64    `json:"total"`
	Rows        int64    `json:"rows"`
	Objects     int      `json:"objects"`
	StoredBytes int64    `json:"stored_bytes"`
	Rate        int64    `json:"rate"`         // bytes in a second
	SecondsLeft *float64 `json:"seconds_left"` // null while nobody can tell
	Table       string   `json:"table,omitempty"`
}

func (l *Lines) write(reached backup.Progress, percent float64) {
	form := line{
		Percent: percent, Bytes: reached.Bytes, Total: reached.Of, Rows: reached.Rows, Objects: reached.Stored + reached.Reused,
		StoredBytes: reached.StoredBytes,
	}
	if reached.Table.Name != "" {
		form.Table = reached.Table.String()
	}
	if took := l.now().Sub(l.begun).Seconds(); took > 0 && reached.Bytes > 0 {
		rate := float64(reached.Bytes) / took
		left := max(float64(reached.Of-reached.Bytes), 0) / rate
		form.Rate, form.SecondsLeft = int64(rate), &left
	}
	_ = json.NewEncoder(l.out).Encode(form) // nobody's backup fails because nobody reads
}
