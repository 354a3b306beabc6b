// Package notice owns the small documents that stand in an archive beside the manifests: whose it is, which lives it has
// seen, who is writing, what goes, what stays.
//
// Each is written once, create-only, and never changed. Lives, decisions and revocations change what a recovery does, marks
// what expiry removes, and these are signed; the others decide nothing that a signature does not cover elsewhere. Reading is
// as strict as for manifests.
// No I/O, no clock. Values are plain.
package notice

import (
	"errors"
	"fmt"
	"time"

	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// The payload types of the signed notices.
const (
	LifeType       = "application/vnd.tidemark.lineage.v1+json"
	DecisionType   = "application/vnd.tidemark.decision.v1+json"
	RevocationType = "application/vnd.tidemark.revocation.v1+json"
	KeepType       = "application/vnd.tidemark.keep.v1+json"
)

// MaxSize is the largest notice, in bytes; signed ones are bounded by manifest.MaxStatement.
const MaxSize = 32 << 20

// Owner says whose archive a prefix is.
type Owner struct {
	Version  int               `json:"version"`
	TargetID position.TargetID `json:"target_id"`
}

// Validate refuses an owner without a name.
func (o Owner) Validate() error { return errors.Join(current(o.Version), o.TargetID.Validate()) }

// Life is the record of one life of the target. Who creates it owns the lineage.
type Life struct {
	Version     int                  `json:"version"`
	TargetID    position.TargetID    `json:"target_id"`
	Lineage     position.Lineage     `json:"lineage,string"`
	Incarnation position.Incarnation `json:"incarnation"`
	RunID       manifest.RunID       `json:"run_id"` // of the recovery that took it, or of the first backup
	Created     time.Time            `json:"created"`
	// Recovered says where the life came from; nothing for a first one.
	Recovered *Recovered `json:"recovered,omitzero"`
	Tool      string     `json:"tool"`
}

// Recovered says what a life was recovered from, and up to where its history is its parent's.
type Recovered struct {
	Parent position.Lineage  `json:"parent,string"`
	Base   manifest.Previous `json:"base"`
	// Shared is an object that holds a SharedCut. Manifests of the parent above it are of another history.
	Shared manifest.Object `json:"shared"`
}

// Validate refuses a life that could not be.
func (l Life) Validate() error {
	err := errors.Join(current(l.Version), l.TargetID.Validate(), l.Lineage.Validate(), l.Incarnation.Validate(), l.RunID.Validate(), document.ValidateMoment(l.Created))
	if err != nil || l.Recovered == nil {
		return err
	}
	if l.Recovered.Parent < 1 || !l.Recovered.Parent.Before(l.Lineage) {
		return fmt.Errorf("life %s has the parent %s", l.Lineage, l.Recovered.Parent)
	}
	if base := l.Recovered.Base; base.Seq < 1 || base.Lineage < 1 || l.Recovered.Parent.Before(base.Lineage) {
		return fmt.Errorf("life %s was recovered from manifest %s/%d of life %s", l.Lineage, base.Lineage, base.Seq, l.Recovered.Parent)
	}
	return errors.Join(l.Recovered.Base.Digest.Validate(), l.Recovered.Shared.Validate())
}

// SharedCut is the cut up to which a life has its parent's history.
type SharedCut struct {
	Version int      `json:"version"`
	Cut     body.Cut `json:"cut"`
}

// Validate refuses a cut that could not be.
func (s SharedCut) Validate() error { return errors.Join(current(s.Version), s.Cut.Validate()) }

// Run says that a backup was begun. The store's clock on it is what later tells a late manifest.
type Run struct {
	Version   int                  `json:"version"`
	TargetID  position.TargetID    `json:"target_id"`
	Lineage   position.Lineage     `json:"lineage,string"`
	RunID     manifest.RunID       `json:"run_id"`
	Seq       int64                `json:"seq,string"`
	Life      position.Incarnation `json:"incarnation"`
	Scheduled time.Time            `json:"scheduled,omitzero"` // the time that the run stands for, if it was scheduled
	Attempt   int                  `json:"attempt"`
	Actor     string               `json:"actor"`
	Tool      string               `json:"tool"`
}

// Validate refuses a run that could not be.
func (r Run) Validate() error {
	return errors.Join(current(r.Version), r.TargetID.Validate(), r.Lineage.Validate(), r.RunID.Validate(), r.Life.Validate())
}

// End says how a run ended. A run without one died, or goes on.
type End struct {
	Version   int             `json:"version"`
	RunID     manifest.RunID  `json:"run_id"`
	Outcome   string          `json:"outcome"` // done, failed, continuation
	Statement manifest.Digest `json:"statement,omitzero"`
	Copies    int             `json:"copies"`
	Warnings  []string        `json:"warnings"`
	Ended     time.Time       `json:"ended"`
}

// Validate refuses an end of nothing.
func (e End) Validate() error {
	return errors.Join(current(e.Version), e.RunID.Validate(), document.ValidateMoment(e.Ended))
}

// Sweep names objects that are about to go: no new manifest may lean on them any more.
type Sweep struct {
	Version int               `json:"version"`
	Number  int64             `json:"number,string"`
	Actor   string            `json:"actor"`
	Objects []manifest.Digest `json:"objects"`
}

// Validate refuses a sweep of what are no objects.
func (s Sweep) Validate() error {
	return errors.Join(current(s.Version), numbered(s.Number), digests(s.Objects))
}

// SweepEnd says what a sweep removed. What it spared was found referenced again.
type SweepEnd struct {
	Version int               `json:"version"`
	Number  int64             `json:"number,string"`
	Removed []manifest.Digest `json:"removed"`
	Spared  []manifest.Digest `json:"spared"`
	Locked  []manifest.Digest `json:"locked"` // retention forbade it: a later sweep names them again
}

// Validate refuses what names no objects.
func (s SweepEnd) Validate() error {
	return errors.Join(current(s.Version), digests(s.Removed), digests(s.Spared), digests(s.Locked))
}

// Revocation withdraws a manifest: nobody recovers from it, and it expires first.
type Revocation struct {
	Version  int               `json:"version"`
	TargetID position.TargetID `json:"target_id"`
	RunID    manifest.RunID    `json:"run_id"`
	Actor    string            `json:"actor"`
	Reason   string            `json:"reason"`
	Created  time.Time         `json:"created"`
}

// Validate refuses a revocation of nothing, or without a reason.
func (r Revocation) Validate() error {
	return errors.Join(current(r.Version), r.TargetID.Validate(), r.RunID.Validate(), because(r.Reason), document.ValidateMoment(r.Created))
}

// Keep keeps a manifest from expiry, or lets it go again: of several, the last one that verifies counts.
type Keep struct {
	Version  int               `json:"version"`
	TargetID position.TargetID `json:"target_id"`
	RunID    manifest.RunID    `json:"run_id"`
	Number   int64             `json:"number,string"`
	Keep     bool              `json:"keep"`
	Actor    string            `json:"actor"`
	Reason   string            `json:"reason"`
	Created  time.Time         `json:"created"`
}

// Validate refuses a mark on nothing, or without a reason.
func (k Keep) Validate() error {
	return errors.Join(current(k.Version), k.TargetID.Validate(), k.RunID.Validate(), numbered(k.Number), because(k.Reason),
		document.ValidateMoment(k.Created))
}

// maxReason bounds what a person may say, so that a signed notice stays below what a key service signs.
const maxReason = 1000

func because(reason string) error {
	if reason == "" || len(reason) > maxReason {
		return fmt.Errorf("a reason of %d bytes, want 1 to %d", len(reason), maxReason)
	}
	return nil
}

func numbered(number int64) error {
	if number < 1 {
		return fmt.Errorf("number %d is below 1", number)
	}
	return nil
}

func current(version int) error {
	if version != document.Version {
		return fmt.Errorf("version %d, want %d", version, document.Version)
	}
	return nil
}

func digests(all []manifest.Digest) error {
	for _, d := range all {
		if err := d.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Encode writes a notice after it was validated. Errors: an invalid notice, and one that no reader would take.
func Encode(notice interface{ Validate() error }) ([]byte, error) {
	if err := notice.Validate(); err != nil {
		return nil, err
	}
	encoded, err := document.Encode(notice)
	if err == nil && len(encoded) > MaxSize {
		return nil, fmt.Errorf("a notice of %d bytes, at most %d are read", len(encoded), MaxSize)
	}
	return encoded, err
}
