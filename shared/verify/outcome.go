package verify

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/shared/fault"
	"tidemark/shared/verify/census"
)

// Verdict is what a check says of a manifest.
type Verdict string

// The verdicts.
const (
	Verified   Verdict = "verified"   // what was looked at is as it was signed; Share says how much that was
	Failed     Verdict = "failed"     // something is not
	Unfinished Verdict = "unfinished" // nothing that was looked at is wrong, and not all could be looked at
)

// Problem is one thing that is not as it was signed. Numbers of tables and chunks begin at 1, in the order of the body; 0: none.
type Problem struct {
	Place string // empty: whatever the place
	Key   string // empty: of the body's own words
	Table int
	Chunk int
	What  string
}

// Warning is a table that has no rows and had some in the manifest before.
type Warning struct {
	Table int
	Had   int64
}

// Outcome is what a check found.
type Outcome struct {
	Level   Level
	Share   Share // of the objects whose bytes were to be read
	Seed    uint64
	Objects int // that the manifest refers to
	Copies  int // of them in all places
	Found   int // copies that are there with their size
	Read    int // copies whose bytes were read and are right
	Bytes   int64
	Rows    int64 // of the chunks that were read

	Problems []Problem // all of them, in the order of places and keys
	Warnings []Warning
	Unread   int   // copies that a store did not give, or that could not be opened here
	Reason   error // why, for the first
	// Tables are the digests of those tables of which every chunk was read. Of other levels than Hash there are none.
	Tables census.Tables
}

// Verdict is what the outcome says of the manifest.
func (o Outcome) Verdict() Verdict {
	switch {
	case len(o.Problems) > 0:
		return Failed
	case o.Unread > 0:
		return Unfinished
	}
	return Verified
}

// Err is nil for a manifest that is verified, fault.Corrupt with the first problem for one that failed, and why not all could
// be looked at, under its class, for one that is unfinished.
func (o Outcome) Err() error {
	switch o.Verdict() {
	case Failed:
		return fault.New(fault.Corrupt, "%d of its parts are not as they were signed, the first: %s", len(o.Problems), o.Problems[0]).
			WithHint("recover from another manifest or from the other bucket; tidemark copy mends a second copy; look for who wrote there")
	case Unfinished:
		return fault.New(fault.ClassOf(o.Reason), "%d copies could not be looked at, the first: %w", o.Unread, o.Reason).
			WithHint("%s", cmp.Or(fault.HintOf(o.Reason), "run it again when the store answers"))
	case Verified:
	}
	return nil
}

// String says it for a person.
func (p Problem) String() string {
	text := p.What
	if p.Chunk > 0 {
		text = fmt.Sprintf("chunk %d: %s", p.Chunk, text)
	}
	if p.Table > 0 {
		text = fmt.Sprintf("table %d, %s", p.Table, text)
	}
	if p.Key != "" {
		text = p.Key + ": " + text
	}
	if p.Place != "" {
		text = p.Place + ": " + text
	}
	return text
}

// finish brings what several jobs found into one order.
func (o *Outcome) finish() {
	slices.SortFunc(o.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Chunk, b.Chunk))
	})
}
