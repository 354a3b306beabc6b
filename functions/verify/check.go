package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"tidemark/shared/archive/attestation"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/verify"
	"tidemark/shared/wiring"
)

// check looks at the newest manifest that can be used. A newer one that cannot be is a failure beside whatever it finds.
func (h *handler) check(ctx context.Context, asked event, left time.Duration, reply *result) error {
	past, err := history.Read(ctx, h.archive.Archive)
	if err != nil {
		return err
	}
	choice, err := past.Choose(ctx, history.Request{})
	if err != nil {
		return err
	}
	m := choice.Manifest
	reply.Manifest, reply.RunID = m.String(), m.Run
	subject := wiring.Subject(m, choice.Body, before(ctx, past, m), "")
	if why := tooMuch(asked, subject, left); why != "" {
		reply.Outcome, reply.Handover, reply.Why = handover, asked.command(), why
		return h.age(ctx, reply)
	}
	options := verify.Options{Level: asked.Level, Share: asked.Share, Seed: seed(), NewUnpacker: h.unpackers}
	begun := document.Moment(h.now())
	found, err := verify.Check(ctx, subject, options)
	if err != nil {
		return err
	}
	finding := wiring.Attested(found, subject)
	finding.Begun, finding.Ended, finding.Actor, finding.Tool = begun, document.Moment(h.now()), h.actor(ctx), "tidemark "+version
	written, err := attestation.Write(ctx, h.archive, m, finding)
	if err != nil {
		return err
	}
	reply.tell(finding, written)
	for _, p := range choice.Passed {
		reply.Outcome, reply.Problems = "failed", reply.Problems+1
		reply.First = append(reply.First, fmt.Sprintf("the newer manifest %s cannot be used: %s", p.ID, fault.Line(p.Reason)))
	}
	return h.age(ctx, reply)
}

// readRate is how many bytes a second a function gets from a store and through its checks, at the least.
const readRate = 20 << 20

// tooMuch says why a look does not fit into the time that is left; nothing when it does.
func tooMuch(asked event, s verify.Subject, left time.Duration) string {
	if asked.Level != verify.Hash {
		return ""
	}
	n, most := int64(0), int64(left.Seconds())*readRate
	for _, t := range s.Body.Tables {
		for _, c := range t.Chunks {
			n += c.Object.Size
		}
	}
	if n = n / int64(verify.All) * int64(asked.Share) * int64(len(s.Places)); n <= most {
		return ""
	}
	return fmt.Sprintf("about %d bytes are to be read, and in the time that is left %d can be", n, most)
}

// seed chooses other objects every time.
func seed() uint64 {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	return binary.BigEndian.Uint64(random[:])
}

// before is the body of the manifest before, nil when it is not to be had: it may have expired.
func before(ctx context.Context, past *history.History, m history.Manifest) *body.Body {
	previous := m.Statement.Previous
	for _, e := range past.Entries {
		if previous.Seq == 0 || e.Lineage != previous.Lineage || e.Seq != previous.Seq {
			continue
		}
		opened, err := past.OpenRevoked(ctx, e)
		if err != nil || opened.Digest != previous.Digest {
			continue
		}
		if b, err := past.Body(ctx, opened); err == nil {
			return &b
		}
	}
	return nil
}

// mostAsked is how many manifests are asked for a rehearsal, the newest first.
const mostAsked = 200

// age says how old the newest manifest that can be used is, and the newest rehearsal.
func (h *handler) age(ctx context.Context, reply *result) error {
	past, err := history.Read(ctx, h.archive.Archive)
	if err != nil {
		return err
	}
	choice, err := past.Choose(ctx, history.Request{})
	if err != nil {
		return err
	}
	reply.Ages.Manifest = secondsSince(choice.Body.Snapshot.Taken, h.now())
	reports, warnings, err := attestation.List(ctx, h.archive.Archive)
	if err != nil {
		return err
	}
	reply.Warnings = append(reply.Warnings, warnings...)
	for _, e := range past.Entries[:min(len(past.Entries), mostAsked)] {
		m, err := past.OpenRevoked(ctx, e)
		if err != nil {
			continue
		}
		if made := reports.Rehearsed(ctx, m); made != nil {
			reply.Ages.Rehearsal = secondsSince(made.Ended, h.now())
			return nil
		}
	}
	return nil
}
