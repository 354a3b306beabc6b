// Package verdict owns what operators say of a manifest: keep it, let it go again, or never recover from it.
//
// Each is a signed document beside the manifests, written create-only into every bucket that lists anything of the run, so
// that neither bucket alone can forget it. Marks are numbered; the last one that verifies counts, and one number is one mark in
// all buckets. There is one revocation for a manifest: it cannot be taken back. The package refuses a manifest that no bucket
// lists, a word without a reason, a mark while a bucket does not answer (its marks could be later ones), and a signature that
// readers would not believe. It deletes nothing: that is for package expiry. No state; several may speak at once.
package verdict

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	Signers []signing.Signer
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
// Errors: fault.Misconfigured for a manifest that is not listed, for a reason that is none, and without a signing key that
// readers believe; the stores' own.
func Keep(ctx context.Context, o Options, run manifest.RunID, reason string) (Spoken, error) {
	return o.mark(ctx, notice.Keep{RunID: run, Keep: true, Reason: reason})
}

// LetGo ends what Keep said: the policy decides again. Errors: as Keep's.
func LetGo(ctx context.Context, o Options, run manifest.RunID, reason string) (Spoken, error) {
	return o.mark(ctx, notice.Keep{RunID: run, Reason: reason})
}

func (o Options) mark(ctx context.Context, mark notice.Keep) (spoken Spoken, err error) {
	s, err := o.find(ctx, mark.RunID, mark.Reason)
	if err != nil {
		return spoken, err
	}
	spoken.Entry = s.entry
	mark.Version, mark.TargetID, mark.Actor, mark.Created = document.Version, o.Archive.Target, o.Actor, document.Moment(o.Now())
	taken, err := o.taken(ctx, s.history, mark.RunID)
	if err != nil {
		return spoken, fmt.Errorf("mark %s: every bucket must answer, or a later mark could be in one: %w", s.entry.ID, err)
	}
	mark.Number = s.entry.Mark
	for range marksAtOnce {
		if mark.Number, err = next(mark.RunID, mark.Number, taken); err != nil {
			return spoken, err
		}
		spoken.Number = mark.Number
		if spoken.Places, err = o.put(ctx, s.places, mark); !errors.Is(err, archive.ErrExists) {
			return spoken, err
		}
	}
	return spoken, fault.New(fault.Retryable, "mark %s: others took the next number %d times: %w", s.entry.ID, marksAtOnce, err)
}

// next is the lowest number above the mark that counts that nobody has taken. Going on from the highest key instead would
// let whoever may write use up all numbers with one; that keys are skipped one by one goes above marks that do not verify
// here and do elsewhere, because marks are numbered without gaps.
func next(run manifest.RunID, number int64, taken map[int64]bool) (int64, error) {
	number++
	for taken[number] {
		number++
	}
	if _, _, fits := layout.ParseMark(layout.Keep(run, number)); !fits {
		return 0, fault.New(fault.Misconfigured, "mark run %s: no number is left behind %d", run, number-1).
			WithHint("remove what does not verify under %s", layout.Keeps+run.String())
	}
	return number, nil
}

// put writes a mark to places in the archive's order: whoever gets a number in the first has it in the others, as long as all
// see the same places.
func (o Options) put(ctx context.Context, places []archive.Place, mark notice.Keep) (written []string, err error) {
	envelope, err := o.seal(ctx, notice.KeepType, mark)
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		if err := archive.Put(ctx, place, layout.Keep(mark.RunID, mark.Number), envelope); err != nil {
			return written, fmt.Errorf("the %s bucket: %w", place.Name, err)
		}
		written = append(written, place.Name)
	}
	return written, nil
}

// seal signs what is said and makes sure that readers will believe it.
func (o Options) seal(ctx context.Context, payloadType string, word interface{ Validate() error }) ([]byte, error) {
	if len(o.Signers) == 0 {
		return nil, fault.New(fault.Misconfigured, "speak of a manifest: there is no signing key").
			WithHint("marks and revocations count only when they are signed by a trusted key")
	}
	payload, err := notice.Encode(word)
	if err != nil {
		return nil, fault.Wrap(fault.Bug, err)
	}
	return o.Archive.Trusted.Seal(ctx, o.Now(), o.Now(), payloadType, payload, o.Signers...)
}

// taken are the numbers of a run's marks in any place, whatever stands there.
func (o Options) taken(ctx context.Context, h *history.History, run manifest.RunID) (map[int64]bool, error) {
	if err := h.Reached(); err != nil {
		return nil, err
	}
	taken := map[int64]bool{}
	for _, place := range o.Archive.Places {
		for info, err := range place.List(ctx, layout.Keeps+run.String()+"/") {
			if err != nil {
				return nil, fmt.Errorf("list the %s bucket: %w", place.Name, err)
			}
			if _, number, ok := layout.ParseMark(info.Key); ok {
				taken[number] = true
			}
		}
	}
	return taken, nil
}

// subject is what is spoken of.
type subject struct {
	history *history.History
	entry   history.Entry   // the run's manifest that verifies, the first listed when none does
	places  []archive.Place // that list anything of the run, in the archive's order
}

// find gives what is spoken of, and refuses to say what has no reason.
func (o Options) find(ctx context.Context, run manifest.RunID, reason string) (s subject, err error) {
	sample := notice.Keep{
		Version: document.Version, TargetID: o.Archive.Target, RunID: run, Number: 1, Reason: reason, Created: document.Moment(o.Now()),
	}
	if err := sample.Validate(); err != nil {
		return s, fault.New(fault.Misconfigured, "speak of manifest %.80q: %w", run.String(), err).
			WithHint("name a run as tidemark expire shows it, and say why: the next operator reads it")
	}
	if s.history, err = history.Read(ctx, o.Archive); err != nil {
		return s, err
	}
	if s.entry, err = s.history.Find(run); err != nil {
		if unreached := s.history.Reached(); unreached != nil {
			err = fault.New(fault.ClassOf(unreached), "%w, and not all buckets could be listed: %w", err, unreached)
		}
		return s, err
	}
	// Garbage of the run's name in one bucket must not keep what is said from the other.
	of := slices.DeleteFunc(slices.Clone(s.history.Entries), func(e history.Entry) bool { return e.Run != run })
	verifies := func(e history.Entry) bool {
		_, err := s.history.OpenRevoked(ctx, e)
		return err == nil
	}
	if at := slices.IndexFunc(of, verifies); at >= 0 {
		s.entry = of[at]
	}
	for _, place := range o.Archive.Places {
		in := func(c history.Copy) bool { return c.Place.Name == place.Name }
		if slices.ContainsFunc(of, func(e history.Entry) bool { return slices.ContainsFunc(e.Copies, in) }) {
			s.places = append(s.places, place)
		}
	}
	return s, nil
}
