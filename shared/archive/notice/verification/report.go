// Package verification owns the signed report on a manifest, and what stands beside it for want of room.
//
// Like the other notices it is written once, create-only, and read strictly. A report says how much was looked at, and refuses
// to call more than that verified. It names no table: numbers of tables and chunks are those of the body, from 1 on. No I/O, no
// clock. Values are plain.
package verification

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/archive/layout"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// Type is the payload type of a signed report on a manifest.
const Type = "application/vnd.tidemark.verification.v1+json"

// Report is what was looked at of a manifest, and what was found.
type Report struct {
	Version   int               `json:"version"`
	TargetID  position.TargetID `json:"target_id"`
	Lineage   position.Lineage  `json:"lineage,string"`
	Seq       int64             `json:"seq,string"`
	RunID     manifest.RunID    `json:"run_id"`
	Statement manifest.Digest   `json:"statement"`    // of the manifest, as it was signed
	ReportID  manifest.RunID    `json:"report"`       // sorts by time
	Level     string            `json:"level"`        // files, hash, data
	Share     int64             `json:"share,string"` // of the objects whose bytes were to be read, in millionths
	Seed      string            `json:"seed"`         // that chose them, in hexadecimal digits
	Places    []string          `json:"places"`       // that were looked into
	Begun     time.Time         `json:"begun"`
	Ended     time.Time         `json:"ended"`
	Actor     string            `json:"actor"`
	Tool      string            `json:"tool"`
	Looked    Looked            `json:"looked"`
	Verdict   string            `json:"verdict"` // verified, failed, unfinished
	Reason    string            `json:"reason"`  // why it is unfinished; else empty
	// Problems and Warnings are how many there are. The first few problems stand here, all in the detail.
	Problems int64    `json:"problems,string"`
	Warnings int64    `json:"warnings,string"`
	First    []string `json:"first"`
	// Detail is what has no room here, under a key beside the report's.
	Detail    *Attachment `json:"detail,omitzero"`
	Rehearsal *Rehearsal  `json:"rehearsal,omitzero"` // of level data
}

// Looked is how much was looked at.
type Looked struct {
	Objects int64 `json:"objects,string"` // that the manifest refers to
	Copies  int64 `json:"copies,string"`  // of them in all places that were looked into
	Found   int64 `json:"found,string"`   // copies that are there with their size
	Read    int64 `json:"read,string"`    // copies whose bytes were read and are right
	Unread  int64 `json:"unread,string"`  // copies of which nothing could be learned
	Bytes   int64 `json:"bytes,string"`   // that were read
	Rows    int64 `json:"rows,string"`    // that were counted
}

// Attachment names bytes that stand beside a document.
type Attachment struct {
	Digest manifest.Digest `json:"digest"`
	Size   int64           `json:"size,string"`
}

// Rehearsal is what a recovery into a scratch database measured.
type Rehearsal struct {
	Took        int64           `json:"took_ms,string"`      // milliseconds, from its start until the database could have gone live
	Point       time.Time       `json:"point,omitzero"`      // the time of the last record that it holds
	Age         int64           `json:"age_ms,string"`       // of that point when the rehearsal began, in milliseconds
	Replayed    int64           `json:"replayed,string"`     // records
	Tables      manifest.Digest `json:"tables"`              // the root of all tables' digests after it
	Compared    int64           `json:"compared,string"`     // tables
	Differences int64           `json:"differences,string"`  // tables that were not the same
	Cut         manifest.Digest `json:"cut_digest,omitzero"` // at which a live target was compared
}

func (r *Rehearsal) validate() error {
	switch {
	case r == nil:
		return nil
	case min(r.Took, r.Age, r.Replayed, r.Compared, r.Differences) < 0, r.Differences > 0 && r.Compared == 0:
		return fmt.Errorf("a rehearsal of %d ms with %d of %d tables that differ", r.Took, r.Differences, r.Compared)
	case !r.Cut.IsZero() && r.Cut.Validate() != nil:
		return r.Cut.Validate()
	}
	if !r.Point.IsZero() {
		if err := document.ValidateMoment(r.Point); err != nil {
			return err
		}
	}
	return r.Tables.Validate()
}

// Detail is all problems, warnings and digests of a report.
type Detail struct {
	Version  int            `json:"version"`
	ReportID manifest.RunID `json:"report"`
	Problems []Problem      `json:"problems"`
	Left     int64          `json:"left,string"` // problems that have no room here either
	Warnings []string       `json:"warnings"`
	Tables   []TableDigest  `json:"tables"`
	// Differences are those of a rehearsal, in words.
	Differences []string `json:"differences"`
}

// Problem is one thing that is not as it was signed.
type Problem struct {
	Place string `json:"place,omitzero"`
	Key   string `json:"key,omitzero"`
	Table int    `json:"table,string"`
	Chunk int    `json:"chunk,string"`
	What  string `json:"what"`
}

// TableDigest is the order-free digest of a table, by its number in the body.
type TableDigest struct {
	Table  int    `json:"table,string"`
	Digest string `json:"digest"` // ROWS:SUM
}

// The most that a report says itself. With everything else at its longest it is below manifest.MaxStatement.
const (
	MaxFirst     = 4
	MaxFirstText = 300
	maxActor     = 200
)

// ID names the manifest that it is about.
func (v Report) ID() layout.ID { return layout.ID{Lineage: v.Lineage, Seq: v.Seq, Run: v.RunID} }

// Validate refuses a report on nothing, and one that says more than was looked at.
func (v Report) Validate() error {
	err := errors.Join(current(v.Version), v.TargetID.Validate(), v.Lineage.Validate(), v.RunID.Validate(), v.ReportID.Validate(),
		v.Statement.Validate(), document.ValidateMoment(v.Begun), document.ValidateMoment(v.Ended),
		document.ValidateLine(v.Actor, maxActor), document.ValidateLine(v.Tool, maxActor))
	l := v.Looked
	switch {
	case err != nil:
		return err
	case v.Seq < 1, v.Ended.Before(v.Begun):
		return fmt.Errorf("a report on sequence number %d from %s to %s", v.Seq, v.Begun, v.Ended)
	case !slices.Contains([]string{"files", "hash", "data"}, v.Level):
		return fmt.Errorf("level %.20q is none of files, hash, data", v.Level)
	case !slices.Contains([]string{"verified", "failed", "unfinished"}, v.Verdict):
		return fmt.Errorf("verdict %.20q is none of verified, failed, unfinished", v.Verdict)
	case v.Share < 1 || v.Share > 1_000_000 || len(v.Places) > 2 || len(v.First) > MaxFirst:
		return fmt.Errorf("a share of %d millionths in %d places with %d problems", v.Share, len(v.Places), len(v.First))
	case min(l.Objects, l.Copies, l.Found, l.Read, l.Unread, l.Bytes, l.Rows, v.Problems, v.Warnings) < 0, l.Found > l.Copies:
		return fmt.Errorf("a count is below 0, or more was found than there is")
	case (v.Verdict == "failed") != (v.Problems > 0), v.Verdict == "verified" && l.Unread > 0:
		return fmt.Errorf("verdict %s with %d problems and %d unread", v.Verdict, v.Problems, l.Unread)
	case (v.Rehearsal != nil) != (v.Level == "data"):
		return fmt.Errorf("a report of level %s with a rehearsal: %t", v.Level, v.Rehearsal != nil)
	case v.Detail != nil && (v.Detail.Digest.Validate() != nil || v.Detail.Size < 1):
		return fmt.Errorf("a detail of %d bytes with digest %.80q", v.Detail.Size, v.Detail.Digest)
	}
	return v.Rehearsal.validate()
}

// IsSample says whether the bytes of some objects were not to be read.
func (v Report) IsSample() bool { return v.Level != "files" && v.Share < 1_000_000 }

// Validate refuses the detail of nothing.
func (d Detail) Validate() error { return errors.Join(current(d.Version), d.ReportID.Validate()) }

func current(version int) error {
	if version != document.Version {
		return fmt.Errorf("version %d, want %d", version, document.Version)
	}
	return nil
}
