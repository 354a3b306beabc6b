package verdict

import (
	"context"
	"errors"
	"fmt"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/signing"
)

// Withdraw revokes a manifest: nobody recovers from it any more, and it expires first. It is not taken back. A place that
// does not answer is a warning, because a recovery must be kept off a bad backup also while a bucket is down; withdrawing
// again, or a mending of the second bucket, completes it. What was withdrawn before stays as it is and is no error.
//
// Errors: as Keep's; fault.Misconfigured without a signing key that readers believe; fault.Corrupt when something that is no
// revocation stands in its place.
func Withdraw(ctx context.Context, o Options, run manifest.RunID, reason string) (Spoken, error) {
	h, entry, err := o.find(ctx, run, reason)
	if err != nil {
		return Spoken{}, err
	}
	spoken := Spoken{Entry: entry}
	envelope, err := o.seal(ctx, notice.Revocation{
		Version: document.Version, TargetID: o.Archive.Target, RunID: run, Actor: o.Actor, Reason: reason,
		Created: document.Moment(o.Now()),
	})
	if err != nil {
		return spoken, err
	}
	for _, unreached := range h.Unreached {
		spoken.Warnings = append(spoken.Warnings, unreached.Error())
	}
	for _, c := range entry.Copies {
		err := archive.Put(ctx, c.Place, layout.Revocation(run), envelope)
		if errors.Is(err, archive.ErrExists) {
			err = o.believed(ctx, c.Place, run)
		}
		if err != nil {
			return spoken, fmt.Errorf("the %s bucket: %w", c.Place.Name, err)
		}
		spoken.Places = append(spoken.Places, c.Place.Name)
	}
	return spoken, nil
}

// seal signs a revocation and makes sure that readers will believe it.
func (o Options) seal(ctx context.Context, revocation notice.Revocation) ([]byte, error) {
	if len(o.Signers) == 0 {
		return nil, fault.New(fault.Misconfigured, "withdraw %s: there is no signing key", revocation.RunID).
			WithHint("a revocation counts only when it is signed by a trusted key")
	}
	payload, err := notice.Encode(revocation)
	if err != nil {
		return nil, fault.Wrap(fault.Bug, err)
	}
	return o.Archive.Trusted.Seal(ctx, o.Now(), notice.RevocationType, payload, o.Signers...)
}

// believed says whether what stands in a place is a revocation of the run that readers honour.
func (o Options) believed(ctx context.Context, place archive.Place, run manifest.RunID) error {
	alone := *o.Archive
	alone.Places = []archive.Place{place}
	h, err := history.Read(ctx, &alone)
	if err != nil {
		return err
	}
	entry, err := h.Find(run)
	if err != nil {
		return err
	}
	if !entry.Revoked {
		return fault.New(fault.Corrupt, "%s is there and withdraws nothing: %w", layout.Revocation(run), signing.ErrUntrusted).
			WithHint("remove that object and revoke again: somebody put it there, or its key is not trusted any more")
	}
	return nil
}
