package wiring

import (
	"context"
	"errors"
	"fmt"

	"tidemark/shared/archive"
	"tidemark/shared/archive/attestation"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/archive/packing"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/verify"
)

// Unpackers gives each job of a check an unpacker of its own. Errors: fault.Misconfigured.
func Unpackers(c config.Archive) (func() (verify.Unpacker, error), error) {
	identities, err := Identities(c)
	return func() (verify.Unpacker, error) { return packing.NewUnpacker(identities) }, err
}

// Subject is a manifest as it is checked, in the places that list it; with a name, in that one alone. before is the body of the
// manifest before, nil when nobody has it.
func Subject(m history.Manifest, b body.Body, before *body.Body, place string) verify.Subject {
	s := verify.Subject{
		Key: layout.Manifest(m.ID), Envelope: m.Envelope, Statement: m.Statement, Body: b, Before: before, ObjectKey: layout.Object,
	}
	for _, c := range m.Copies {
		if place == "" || place == c.Place.Name {
			s.Places = append(s.Places, verify.Place{Name: c.Place.Name, Objects: objects{c.Place}})
		}
	}
	return s
}

// objects is a bucket as a check sees it.
type objects struct{ place archive.Place }

// Stat asks for an object. See verify.Objects.
func (o objects) Stat(ctx context.Context, key string) (verify.Info, error) {
	info, err := o.place.Stat(ctx, key)
	return verify.Info{Size: info.Size, Digest: info.Checksum}, judged(err)
}

// Get reads an object. See verify.Objects.
func (o objects) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	content, err := o.place.Read(ctx, key, archive.Span{Limit: limit})
	return content, judged(err)
}

// judged makes damage of what a store says of an object that should be there.
func judged(err error) error {
	switch {
	case errors.Is(err, archive.ErrNotFound):
		return fault.New(fault.Corrupt, "it is not there: %w", archive.ErrNotFound)
	case errors.Is(err, archive.ErrTooLarge):
		return fault.New(fault.Corrupt, "it is larger than it was signed with: %w", archive.ErrTooLarge)
	}
	return err
}

// Attested is an outcome as it is signed. The caller says when, by whom and with which tool, and adds what a rehearsal measured.
func Attested(o verify.Outcome, s verify.Subject) attestation.Finding {
	r := attestation.Finding{Report: verification.Report{
		Level: string(o.Level), Share: int64(o.Share), Seed: fmt.Sprintf("%016x", o.Seed), Verdict: string(o.Verdict()),
		Looked: verification.Looked{
			Objects: int64(o.Objects), Copies: int64(o.Copies), Found: int64(o.Found), Read: int64(o.Read), Unread: int64(o.Unread),
			Bytes: o.Bytes, Rows: o.Rows,
		},
	}}
	for _, place := range s.Places {
		r.Places = append(r.Places, place.Name)
	}
	if o.Verdict() == verify.Unfinished {
		r.Reason = fault.Line(o.Err())
	}
	for _, p := range o.Problems {
		r.All.Problems = append(r.All.Problems, verification.Problem{Place: p.Place, Key: p.Key, Table: p.Table, Chunk: p.Chunk, What: p.What})
	}
	for _, w := range o.Warnings {
		r.All.Warnings = append(r.All.Warnings, fmt.Sprintf("table %d has no rows, it had %d in the manifest before", w.Table, w.Had))
	}
	for i, t := range s.Body.Tables {
		if digest, whole := o.Tables[t.Name]; whole {
			r.All.Tables = append(r.All.Tables, verification.TableDigest{Table: i + 1, Digest: digest.String()})
		}
	}
	return r
}
