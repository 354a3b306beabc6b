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
	s, err := o.find(ctx, run, reason)
	if err != nil {
		return Spoken{}, err
	}
	spoken := Spoken{Entry: s.entry}
	envelope, err := o.seal(ctx, notice.RevocationType, notice.Revocation{
		Version: document.Version, TargetID: o.Archive.Target, RunID: run, Actor: o.Actor, Reason: reason,
		Created: document.Moment(o.Now()),
	})
	if err != nil {
		return spoken, err
	}
	for _, unreached := range s.history.Unreached {
		spoken.Warnings = append(spoken.Warnings, unreached.Error())
	}
	for _, place := range s.places {
		err := archive.Put(ctx, place, layout.Revocation(run), envelope)
		if errors.Is(err, archive.ErrExists) {
			err = o.believed(ctx, place, run)
		}
		if err != nil {
			return spoken, fmt.Errorf("the %s bucket: %w", place.Name, err)
		}
		spoken.Places = append(spoken.Places, place.Name)
	}
	return spoken, nil
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
