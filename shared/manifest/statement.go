package manifest

import (
	"fmt"
	"regexp"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// StatementType is the payload type under which a statement is signed.
const StatementType = "application/vnd.tidemark.statement.v1+json"

// MaxStatement is the largest statement in bytes: with its envelope's header it fits what a key service signs, 4,096.
const MaxStatement = 3900

// RunID names one try of a backup or of a recovery: a UUID in lower-case text form.
type RunID string

var runIDPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// ParseRunID reads a UUID in lower-case text form.
func ParseRunID(text string) (RunID, error) {
	r := RunID(text)
	return r, r.Validate()
}

// String is the id itself.
func (r RunID) String() string { return string(r) }

// IsZero says whether no run is named.
func (r RunID) IsZero() bool { return r == "" }

// Validate refuses anything but a UUID in lower-case text form.
func (r RunID) Validate() error {
	if !runIDPattern.MatchString(string(r)) {
		return fmt.Errorf("run id %.80q: want a UUID in lower case", string(r))
	}
	return nil
}

// Statement vouches for a body: it is what is signed. Everything that decides which manifest is used stands in it, so
// that choosing among thousands reads no body.
type Statement struct {
	Version     int                  `json:"version"`
	TargetID    position.TargetID    `json:"target_id"`
	Incarnation position.Incarnation `json:"incarnation"`
	Lineage     position.Lineage     `json:"lineage,string"`
	Seq         int64                `json:"seq,string"` // ascends within a lineage, from 1
	RunID       RunID                `json:"run_id"`
	Created     time.Time            `json:"created"` // by the clock of the database, UTC
	Body        Object               `json:"body"`
	CutDigest   Digest               `json:"cut_digest"` // of the body's cut, see Cut.Digest
	Previous    Previous             `json:"previous,omitzero"`
	Tool        string               `json:"tool"` // name and version of the program that wrote it
}

// Previous names the statement before, in the same lineage or in the one that it was recovered from.
type Previous struct {
	Lineage position.Lineage `json:"lineage,string"`
	Seq     int64            `json:"seq,string"`
	Digest  Digest           `json:"digest"` // of the statement's bytes as they were signed
}

// maxTool is the longest name of a program in bytes; all else in a statement has a length of its own, so that every
// valid statement is below MaxStatement.
const maxTool = 200

// EncodeStatement writes s as it is signed. Errors: see document.Encode; an invalid statement is fault.Bug.
func EncodeStatement(s Statement) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fault.New(fault.Bug, "write statement: %w", err)
	}
	encoded, err := document.Encode(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("write statement: %w", err)
	case len(encoded) > MaxStatement:
		return nil, fault.New(fault.Bug, "statement of %d bytes, at most %d", len(encoded), MaxStatement)
	}
	return encoded, nil
}

// DecodeStatement reads what EncodeStatement wrote. Errors: see document.Decode.
func DecodeStatement(encoded []byte) (Statement, error) {
	var s Statement
	if err := document.Decode("statement", MaxStatement, encoded, &s); err != nil {
		return Statement{}, err
	}
	return s, nil
}

// Validate refuses statements that name no manifest.
func (s Statement) Validate() error {
	for _, part := range []struct {
		name string
		err  error
	}{
		{"target_id", s.TargetID.Validate()},
		{"incarnation", s.Incarnation.Validate()},
		{"lineage", s.Lineage.Validate()},
		{"run_id", s.RunID.Validate()},
		{"created", document.ValidateMoment(s.Created)},
		{"body", s.Body.Validate()},
		{"cut_digest", s.CutDigest.Validate()},
		{"tool", document.ValidateLine(s.Tool, maxTool)},
	} {
		if part.err != nil {
			return fmt.Errorf("%s: %w", part.name, part.err)
		}
	}
	switch {
	case s.Version != document.Version:
		return fmt.Errorf("statement of version %d, want %d", s.Version, document.Version)
	case s.Seq < 1:
		return fmt.Errorf("sequence number %d is below 1", s.Seq)
	case s.Previous != Previous{}:
		return s.Previous.validate(s)
	}
	return nil
}

func (p Previous) validate(s Statement) error {
	if err := p.Digest.Validate(); err != nil {
		return fmt.Errorf("previous statement: %w", err)
	}
	if p.Lineage < 1 || p.Seq < 1 || s.Lineage.Before(p.Lineage) || p.Lineage == s.Lineage && p.Seq >= s.Seq {
		return fmt.Errorf("previous statement %s/%d is not before %s/%d", p.Lineage, p.Seq, s.Lineage, s.Seq)
	}
	return nil
}
