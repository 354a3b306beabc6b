package progress_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/cmd/tidemark/progress"
	"tidemark/shared/backup"
	"tidemark/shared/manifest/body"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

type line struct {
	Percent     float64
	Bytes       int64
	Total       int64
	Rows        int64
	Objects     int
	StoredBytes int64 `json:"stored_bytes"`
	Rate        int64
	SecondsLeft *float64 `json:"seconds_left"`
	Table       string
}

func lines(t *testing.T, printed string) (all []line) {
	t.Helper()
	for text := range strings.SplitSeq(strings.TrimSpace(printed), "\n") {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		all = append(all, l)
	}
	return all
}

func TestLinesTellOnceASecondAndAtTheEnd(t *testing.T) {
	t.Parallel()
	at, out := &clock{time.Unix(1000, 0)}, &bytes.Buffer{}
	watch := progress.New(out, false, at.read)
	table := body.Name{Schema: "shop", Name: "orders"}
	for range 30 { // a tenth of a second each
		at.now = at.now.Add(100 * time.Millisecond)
		watch.Note(backup.Progress{Table: table, Bytes: 300, Of: 900, Rows: 5, Stored: 2, Reused: 1, StoredBytes: 100})
	}
	watch.End(backup.Progress{Table: table, Bytes: 900, Of: 900, Rows: 9, Stored: 3, Reused: 4, StoredBytes: 200}, true)
	got := lines(t, out.String())
	if len(got) != 4 {
		t.Fatalf("%d lines, want one for each second and one at the end: %s", len(got), out)
	}
	left, none := 6.0, 0.0
	if diff := cmp.Diff(line{33.3, 300, 900, 5, 3, 100, 100, &left, "shop.orders"}, got[2]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(line{100, 900, 900, 9, 7, 200, 300, &none, "shop.orders"}, got[3]); diff != "" {
		t.Error(diff)
	}
}

// What a table takes is an estimate, so more may have been read than there is; and a backup may fail before anything is known.
func TestLinesNeverTellMoreThanAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reached backup.Progress
		whole   bool
		percent float64
	}{
		"MoreThanAll":  {backup.Progress{Bytes: 20, Of: 10}, false, 100},
		"NothingKnown": {backup.Progress{}, false, 0},
		"NearlyAll":    {backup.Progress{Bytes: 9_999_999, Of: 10_000_000}, false, 99.9},
		"WholeAtLast":  {backup.Progress{Bytes: 9, Of: 10}, true, 100},
	} {
		out := &bytes.Buffer{}
		progress.NewLines(out, (&clock{}).read).End(c.reached, c.whole)
		if got := lines(t, out.String()); got[0].Percent != c.percent {
			t.Errorf("%s: got %v, want %v", name, got[0].Percent, c.percent)
		}
	}
}

func TestBarShowsANameWithoutObeyingIt(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	bar := progress.NewBar(out, time.Now)
	bar.Note(backup.Progress{}) // nobody knows how much there is
	if out.Len() > 0 {
		t.Errorf("it drew %q", out)
	}
	bar.Note(backup.Progress{Table: body.Name{Schema: "shop", Name: "\x1b[2Jowned"}, Bytes: 1 << 20, Of: 4 << 20})
	bar.End(backup.Progress{}, true)
	if drawn := out.String(); !strings.Contains(drawn, `shop.\x1b[2Jowned`) || strings.Contains(drawn, "\x1b[2J") || !strings.Contains(drawn, "25%") {
		t.Errorf("got %q", drawn)
	}
}

type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestNobodysBackupFailsBecauseNobodyReads(t *testing.T) {
	t.Parallel()
	for _, watch := range []progress.Watch{progress.NewLines(deaf{}, time.Now), progress.NewBar(deaf{}, time.Now)} {
		watch.Note(backup.Progress{Bytes: 1, Of: 2})
		watch.End(backup.Progress{Bytes: 1, Of: 2}, false)
	}
}
