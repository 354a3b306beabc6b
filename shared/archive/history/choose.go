package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/shared/archive/layout"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// Errors of a choice.
var (
	ErrNoBackup      = errors.New("there is no backup")
	ErrForked        = errors.New("two manifests have one number")
	ErrOlderThanSeen = errors.New("the newest manifest is older than one that was seen")

	errOtherHistory = errors.New("another history") // of a manifest that verifies and shows what the latest life never was
)

// Mark is the newest manifest that was ever committed, as remembered outside the buckets.
type Mark struct {
	Lineage   position.Lineage `json:"lineage,string"`
	Seq       int64            `json:"seq,string"`
	Statement manifest.Digest  `json:"statement"`
}

// Validate refuses a mark of nothing.
func (m Mark) Validate() error {
	if m.Seq < 1 {
		return fmt.Errorf("sequence number %d is below 1", m.Seq)
	}
	return errors.Join(m.Lineage.Validate(), m.Statement.Validate())
}

// IsZero says whether nothing is remembered.
func (m Mark) IsZero() bool { return m == Mark{} }

// Before says whether m is older than other.
func (m Mark) Before(other Mark) bool {
	return m.Lineage.Before(other.Lineage) || m.Lineage == other.Lineage && m.Seq < other.Seq
}

// HighWater remembers a mark where whoever holds the buckets cannot turn it back.
type HighWater interface {
	// Load gives the mark, the zero one when there is none yet.
	Load(ctx context.Context) (Mark, error)
	// Raise remembers a newer mark. An older one changes nothing.
	Raise(ctx context.Context, mark Mark) error
}

// Request says which manifest is wanted.
type Request struct {
	Run        manifest.RunID // that one and no other; zero: the newest that may be used
	Mark       Mark           // what was seen; zero: nobody remembers
	AllowOlder bool           // an operator has said that an older one will do
	// Fits says why a manifest that may be used is not the one that is wanted; nil: every one is. Freshness is that of the
	// newest that may be used.
	Fits func(ctx context.Context, m Manifest, b body.Body) error
}

// Choice is a manifest that may be used, and everything that was passed over for it.
type Choice struct {
	Manifest Manifest
	Body     body.Body
	Passed   []Passed // newer ones, newest first
	// FreshnessProven says that nothing newer was ever committed, as far as the mark knows.
	FreshnessProven bool
}

// Passed is a manifest that was passed over, and why.
type Passed struct {
	ID     layout.ID
	Reason error
}

// Choose gives the newest manifest that verifies: its statement, its body, the presence of its objects. An older one of an
// earlier life is taken only where both lives have the same history.
//
// Errors: ErrNoBackup; ErrForked; ErrOlderThanSeen; when all that is there fails, why the newest does, under its class.
func (h *History) Choose(ctx context.Context, r Request) (Choice, error) {
	if err := h.unforked(ctx, r); err != nil {
		return Choice{}, err
	}
	candidates, err := h.candidates(r)
	if err != nil {
		return Choice{}, err
	}
	stock, err := h.Stock(ctx)
	if err != nil {
		return Choice{}, err
	}
	choice, judged := Choice{}, false
	for _, e := range candidates {
		m, b, err := h.usable(ctx, e, stock, r)
		if verifies(err) && !judged {
			judged = true // what verifies is there, also when the latest life did not come from it
			if old := choice.judge(m, r); old != nil {
				choice.Manifest, choice.Body = m, b
				return choice, old
			}
		}
		if err == nil && r.Fits != nil {
			err = r.Fits(ctx, m, b)
		}
		switch {
		case err == nil:
			choice.Manifest, choice.Body = m, b
			return choice, nil
		case fault.Is(err, fault.Retryable), ctx.Err() != nil:
			return choice, err // it may be good: an older one is not taken because a store stutters
		}
		choice.Passed = append(choice.Passed, Passed{e.ID, err})
	}
	return choice, choice.none(h)
}

// verifies says whether a manifest is there and whole, whether it may be used or not.
func verifies(err error) bool { return err == nil || errors.Is(err, errOtherHistory) }

func (h *History) candidates(r Request) ([]Entry, error) {
	if r.Run.IsZero() {
		return h.Entries, nil
	}
	// Somebody who may write can put garbage under any run's name: the run's own manifest is the one that verifies.
	_, err := h.Find(r.Run)
	return slices.DeleteFunc(slices.Clone(h.Entries), func(e Entry) bool { return e.Run != r.Run }), err
}

// usable verifies one manifest from its statement down to its objects.
func (h *History) usable(ctx context.Context, e Entry, stock Stock, r Request) (m Manifest, b body.Body, err error) {
	if m, err = h.Open(ctx, e); err != nil {
		return m, b, err
	}
	if b, err = h.Body(ctx, m); err != nil {
		return m, b, err
	}
	if err = h.Whole(ctx, m, Objects(m, b), stock); err != nil {
		return m, b, err
	}
	if r.AllowOlder && !r.Run.IsZero() {
		return m, b, nil
	}
	return m, b, h.sameHistory(ctx, m, b)
}

// sameHistory refuses a manifest of an earlier life that shows what the latest life never was.
func (h *History) sameHistory(ctx context.Context, m Manifest, b body.Body) error {
	latest, err := h.Latest(ctx)
	if err != nil {
		return err
	}
	shared, ancestor, err := h.ancestry(ctx, m.Lineage, latest)
	if err != nil {
		return err
	}
	if !ancestor {
		return fault.New(fault.Misconfigured, "manifest %s has %w: nothing says that life %s came from life %s", m.ID, errOtherHistory,
			latest, m.Lineage).WithHint("--manifest %s --allow-older REASON takes it; what life %s had after it is lost", m.Run, latest)
	}
	for _, cut := range shared {
		if !within(b.Cut, cut) {
			return fault.New(fault.Misconfigured, "manifest %s has %w: it shows more of life %s than life %s was recovered from", m.ID,
				errOtherHistory, m.Lineage, latest).WithHint("--manifest %s --allow-older REASON takes it; its rows then have another history", m.Run)
		}
	}
	return nil
}

// unforked refuses an archive in which two manifests that verify have one number, unless one was asked for.
func (h *History) unforked(ctx context.Context, r Request) error {
	if !r.Run.IsZero() {
		return nil
	}
	var claims *Entry // the one before that verifies
	for i := range h.Entries {
		e := h.Entries[i]
		if !h.claimed(i) {
			continue
		}
		_, err := h.Open(ctx, e)
		switch {
		case fault.Is(err, fault.Retryable), ctx.Err() != nil:
			return err // it may be the second
		case err != nil:
			continue
		case claims != nil && claims.Lineage == e.Lineage && claims.Seq == e.Seq:
			return fault.New(fault.Fenced, "manifests %s and %s: %w", claims.ID, e.ID, ErrForked).
				WithHint("two databases wrote here as one: choose by --manifest RUN, then withdraw the other (tidemark revoke)")
		}
		claims = &e
	}
	return nil
}

// claimed says whether another entry has the number of the ith too.
func (h *History) claimed(i int) bool {
	same := func(j int) bool {
		return j >= 0 && j < len(h.Entries) && h.Entries[j].Lineage == h.Entries[i].Lineage && h.Entries[j].Seq == h.Entries[i].Seq
	}
	return same(i-1) || same(i+1)
}

// judge holds the newest manifest that may be used against what was seen.
func (c *Choice) judge(newest Manifest, r Request) error {
	s := newest.Statement
	chosen := Mark{Lineage: s.Lineage, Seq: s.Seq, Statement: newest.Digest}
	switch {
	case r.Mark.IsZero():
		return nil
	case chosen.Before(r.Mark):
		if r.AllowOlder {
			return nil
		}
		return fault.New(fault.Corrupt, "manifest %s, and %s/%d was committed: %w", newest.ID, r.Mark.Lineage, r.Mark.Seq,
			ErrOlderThanSeen).WithHint("look for the newer one in both buckets; --allow-older REASON goes on without it")
	case chosen.Lineage == r.Mark.Lineage && chosen.Seq == r.Mark.Seq && chosen.Statement != r.Mark.Statement:
		return fault.New(fault.Corrupt, "manifest %s is not the one that was committed under its number: %w", newest.ID, ErrForked).
			WithHint("--manifest RUN --allow-older REASON takes a certain one")
	}
	c.FreshnessProven = true
	return nil
}

// none says why there is no choice.
func (c *Choice) none(h *History) error {
	if len(c.Passed) == 0 {
		if err := h.Reached(); err != nil {
			return fault.New(fault.ClassOf(err), "no manifest in what could be listed, and not all could: %w", err)
		}
		return fault.New(fault.Misconfigured, "list manifests: %w", ErrNoBackup).
			WithHint("check the archive's address and prefix; tidemark backup makes one")
	}
	newest := c.Passed[0]
	return fault.New(fault.ClassOf(newest.Reason), "none of %d manifests may be used, the newest because: %w", len(c.Passed),
		newest.Reason)
}
