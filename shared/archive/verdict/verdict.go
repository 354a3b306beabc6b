// Package verdict owns what operators say of a manifest: keep it, let it go again, or never recover from it.
//
// Each is a document beside the manifests, written create-only into every bucket that lists the manifest, so that neither
// bucket alone can forget it. Marks are numbered; the last one counts, and one number is one mark in all buckets. A
// revocation is signed, because it takes a recovery point away, and there is one for a manifest: it cannot be taken back. The
// package refuses a manifest that no bucket lists, a word without a reason, a mark while a bucket does not answer (its marks
// could be later ones), and a signature that readers would not believe. It deletes nothing: that is for package expiry. No
// state; several may speak at once.
package verdict

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/signing"
)

// Options says in which archive, and who speaks.
type Options struct {
	Archive *archive.Archive
	Actor   string
	Now     func() time.Time
	Signers []signing.Signer // of revocations
}

// Spoken is what was written.
type Spoken struct {
	Entry    history.Entry // as it was before
	Number   int64         // of a mark
	Places   []string      // that have it now, also when there is an error
	Warnings []string
}

// marksAtOnce bounds how often others may take the number that was next.
const marksAtOnce = 100

// Keep marks a manifest: no policy expires it.
//
// Errors: fault.Misconfigured for a manifest that is not listed and for a reason that is none; the stores' own.
func Keep(ctx context.Context, o Options, run manifest.RunID, reason string) (Spoken, error) {
	return o.mark(ctx, notice.Keep{RunID: run, Keep: true, Reason: reason})
}

// LetGo ends what Keep said: the policy decides again. Errors: as Keep's.
func LetGo(ctx context.Context, o Options, run manifest.RunID, reason string) (Spoken, error) {
	return o.mark(ctx, notice.Keep{RunID: run, Reason: reason})
}

func (o Options) mark(ctx context.Context, mark notice.Keep) (spoken Spoken, err error) {
	_, entry, err := o.find(ctx, mark.RunID, mark.Reason)
	if err != nil {
		return spoken, err
	}
	spoken.Entry = entry
	mark.Version, mark.Actor, mark.Created = document.Version, o.Actor, document.Moment(o.Now())
	if mark.Number, err = o.last(ctx, mark.RunID); err != nil {
		return spoken, fmt.Errorf("mark %s: every bucket must answer, or a later mark could be in one: %w", entry.ID, err)
	}
	for range marksAtOnce {
		mark.Number++
		spoken.Number = mark.Number
		if spoken.Places, err = put(ctx, entry, mark); !errors.Is(err, archive.ErrExists) {
			return spoken, err
		}
	}
	return spoken, fault.New(fault.Retryable, "mark %s: others took the next number %d times: %w", entry.ID, marksAtOnce, err)
}

// put writes a mark to every place that lists the manifest, in the archive's order: whoever gets a number in the first has
// it in the others, as long as all see the same places.
func put(ctx context.Context, entry history.Entry, mark notice.Keep) (places []string, err error) {
	encoded, err := notice.Encode(mark)
	if err != nil {
		return nil, fault.Wrap(fault.Bug, err)
	}
	for _, c := range entry.Copies {
		if err := archive.Put(ctx, c.Place, layout.Keep(mark.RunID, mark.Number), encoded); err != nil {
			return places, fmt.Errorf("the %s bucket: %w", c.Place.Name, err)
		}
		places = append(places, c.Place.Name)
	}
	return places, nil
}

// last is the highest number of a manifest's marks in any place, 0 before the first.
func (o Options) last(ctx context.Context, run manifest.RunID) (last int64, err error) {
	for _, place := range o.Archive.Places {
		for info, err := range place.List(ctx, layout.Keeps+run.String()+"/") {
			if err != nil {
				return 0, fmt.Errorf("list the %s bucket: %w", place.Name, err)
			}
			if _, number, ok := layout.ParseMark(info.Key); ok {
				last = max(last, number)
			}
		}
	}
	return last, nil
}

// find gives the manifest that is spoken of, and refuses to say what has no reason.
func (o Options) find(ctx context.Context, run manifest.RunID, reason string) (*history.History, history.Entry, error) {
	sample := notice.Keep{Version: document.Version, RunID: run, Number: 1, Reason: reason, Created: document.Moment(o.Now())}
	if err := sample.Validate(); err != nil {
		return nil, history.Entry{}, fault.New(fault.Misconfigured, "speak of manifest %.80q: %w", run.String(), err).
			WithHint("name a run as tidemark expire shows it, and say why: the next operator reads it")
	}
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return nil, history.Entry{}, err
	}
	entry, err := h.Find(run)
	if unreached := h.Reached(); err != nil && unreached != nil {
		return nil, entry, fault.New(fault.ClassOf(unreached), "%w, and not all buckets could be listed: %w", err, unreached)
	}
	return h, entry, err
}
