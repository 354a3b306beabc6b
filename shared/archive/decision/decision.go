// Package decision owns how an operator's act that changes what the log means outlives the database that it is done in.
//
// Before the act is done in a target, it is written to every bucket, signed and create-only, under the life's next number, so
// that a replay that starts below it does it again. It refuses to write while a bucket does not answer, without a key that
// readers believe, and without a reason. An act that is there already is not written twice: whoever died between the document
// and the act repeats the act alone. It deletes nothing. No state; several may decide at once.
package decision

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout/decided"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
	"tidemark/shared/signing"
)

// Exclude is the act that leaves a range of the log out for good.
const Exclude = "exclude"

// Options says in which archive, and who decides.
type Options struct {
	Archive *archive.Archive
	Actor   string
	Now     func() time.Time
	Signers []signing.Signer
}

// numbersAtOnce bounds how often others may take the number that was next.
const numbersAtOnce = 100

// Write writes decisions of one life that are not there yet, and gives all of them with their numbers. The caller says what is
// decided: act, flow, partition, range, reason; the rest is filled in.
//
// Errors: fault.Misconfigured for a decision without a reason and without a signing key that readers believe; the stores' own.
// Whatever the error, nothing may be done yet: the same call goes on.
func Write(ctx context.Context, o Options, lineage position.Lineage, wanted []notice.Decision) ([]notice.Decision, error) {
	known, err := o.look(ctx, lineage)
	if err != nil {
		return nil, err
	}
	written := make([]notice.Decision, 0, len(wanted))
	for _, d := range wanted {
		d.Version, d.TargetID, d.Lineage, d.Actor = document.Version, o.Archive.Target, lineage, o.Actor
		d.Created = document.Moment(o.Now())
		if d, err = o.write(ctx, d, known); err != nil {
			return written, fmt.Errorf("write the decision about %s/%d: %w", d.Topic, d.Partition, err)
		}
		written, known = append(written, d), append(known, d)
	}
	return written, nil
}

// look reads what is decided, for a life that goes on.
func (o Options) look(ctx context.Context, lineage position.Lineage) ([]notice.Decision, error) {
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return nil, err
	}
	if err := h.Reached(); err != nil {
		return nil, fmt.Errorf("decide about the log: every bucket must answer, and none may be without it: %w", err)
	}
	latest, err := h.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if lineage.Before(latest) {
		return nil, fault.New(fault.Fenced, "life %s is over: life %s was taken after it", lineage, latest).
			WithHint("another recovery went on with the target: drop this database")
	}
	return h.Decisions(ctx)
}

// Replayable refuses to apply ranges of which a decision of any life leaves something out, be it that whoever wrote it died
// before the act: every later recovery leaves that out. Of the ranges flow, topic, its id, partition and offsets count.
//
// Errors: fault.Misconfigured, which names the decision; fault.Fenced when a later life was taken; the stores' own.
func Replayable(ctx context.Context, o Options, lineage position.Lineage, ranges []notice.Decision) error {
	known, err := o.look(ctx, lineage)
	if err != nil {
		return err
	}
	for _, k := range known {
		for _, r := range ranges {
			if k.Act == Exclude && overlaps(k, r) {
				return fault.New(fault.Misconfigured, "[%d,%d) of %s/%d was left out for good by %s in life %s: %s", k.From, k.Until,
					k.Topic, k.Partition, k.Actor, k.Lineage, k.Reason).WithHint("every later recovery leaves it out: --skip REASON " +
					"leaves out what is held, or recover again with --until behind it")
			}
		}
	}
	return nil
}

func overlaps(k, r notice.Decision) bool {
	return k.Flow == r.Flow && k.Topic == r.Topic && k.Partition == r.Partition && (k.TopicID == r.TopicID || k.TopicID == "" || r.TopicID == "") &&
		k.From < r.Until && r.From < k.Until
}

// write stores one decision under the first number that is free, unless it is known.
func (o Options) write(ctx context.Context, d notice.Decision, known []notice.Decision) (notice.Decision, error) {
	for _, k := range known {
		d.Number = max(d.Number, k.Number) // one sequence for all lives: an earlier life's number is not free either
		if same(k, d) {
			return k, o.spread(ctx, k)
		}
	}
	for range numbersAtOnce {
		d.Number++
		if err := d.Validate(); err != nil {
			return d, fault.New(fault.Misconfigured, "%w", err).WithHint("say why in at most 1000 bytes: the next operator reads it")
		}
		if err := o.put(ctx, d); !errors.Is(err, archive.ErrExists) {
			return d, err
		}
	}
	return d, fault.New(fault.Retryable, "others took the next number %d times", numbersAtOnce)
}

// same says whether two decisions are one act.
func same(a, b notice.Decision) bool {
	return a.Lineage == b.Lineage && a.Act == b.Act && a.Flow == b.Flow && a.Topic == b.Topic && a.TopicID == b.TopicID &&
		a.Partition == b.Partition && a.From == b.From && a.Until == b.Until
}

// put signs a decision and writes it to every bucket, the primary first: whoever gets a number there has it everywhere.
func (o Options) put(ctx context.Context, d notice.Decision) error {
	if len(o.Signers) == 0 {
		return fault.New(fault.Misconfigured, "decide about the log: there is no signing key").
			WithHint("decisions count only when they are signed by a trusted key: TIDEMARK_SIGNING_KEYS")
	}
	payload, err := notice.Encode(d)
	if err != nil {
		return fault.Wrap(fault.Bug, err)
	}
	envelope, err := o.Archive.Trusted.Seal(ctx, o.Now(), o.Now(), notice.DecisionType, payload, o.Signers...)
	if err != nil {
		return err
	}
	for _, place := range o.Archive.Places {
		if err := archive.Put(ctx, place, decided.Key(d.Lineage, d.Number), envelope); err != nil {
			return fmt.Errorf("the %s bucket: %w", place.Name, err)
		}
	}
	return nil
}

// spread brings a decision whose writer died halfway to the buckets that lack it.
func (o Options) spread(ctx context.Context, d notice.Decision) error {
	key := decided.Key(d.Lineage, d.Number)
	var envelope []byte
	for _, place := range o.Archive.Places {
		read, err := place.Read(ctx, key, archive.Span{Limit: signing.MaxEnvelope})
		switch {
		case err == nil:
			envelope = read
		case !errors.Is(err, archive.ErrNotFound):
			return fmt.Errorf("the %s bucket: %w", place.Name, err)
		}
	}
	for _, place := range o.Archive.Places {
		if err := archive.PutUnlessTaken(ctx, place, key, envelope); err != nil {
			return fmt.Errorf("the %s bucket: %w", place.Name, err)
		}
	}
	return nil
}
