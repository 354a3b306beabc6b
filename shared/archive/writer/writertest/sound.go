package writertest

import (
	"context"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/fault"
)

// Sound fails the test unless every manifest that counts is whole, in each bucket alone and in both together, and gives
// those that count in both together. A late manifest counts only when its objects are found.
func Sound(t *testing.T, w *World) map[layout.ID]bool {
	t.Helper()
	for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
		Counted(t, w.Archive(t, bucket))
	}
	return Counted(t, w.Archive(t))
}

// Counted gives the manifests of an archive that count, and fails the test when one that is not late does not.
func Counted(t *testing.T, a *archive.Archive) map[layout.ID]bool {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	h, err := history.Read(ctx, a)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	stock, err := h.Stock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[layout.ID]bool{}
	for _, e := range h.Entries {
		m, err := h.OpenRevoked(ctx, e)
		if err != nil {
			t.Fatalf("listed and not verifiable: %s", fault.Line(err))
		}
		b, err := h.Body(ctx, m)
		if err == nil {
			err = h.Whole(ctx, m, history.Objects(m, b), stock)
		}
		switch {
		case err == nil:
			counts[e.ID] = true
		case !m.Late():
			t.Fatalf("listed and not whole: %s", fault.Line(err))
		}
	}
	return counts
}

// Form is a way in which one call of a bucket goes wrong.
type Form string

// The forms: an error before any effect, an effect whose reply is lost, the death of the process before or after the effect.
const (
	Error      Form = "error"
	ReplyLost  Form = "reply lost"
	KillBefore Form = "killed before"
	KillAfter  Form = "killed after"
)

// Forms are all of them.
func Forms() []Form { return []Form{Error, ReplyLost, KillBefore, KillAfter} }

// Break is the world's two buckets as one process sees them, with one call going wrong: the nth of both together.
func (w *World) Break(n int, form Form) (primary, secondary *faulty.Bucket) {
	count, dead := 0, false
	plan := func(faulty.Call) *faulty.Fault {
		if dead {
			return &faulty.Fault{Kill: faulty.KillBefore}
		}
		if count++; count != n {
			return nil
		}
		switch form {
		case Error:
			return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store stutters")}
		case ReplyLost:
			return &faulty.Fault{Drop: true}
		case KillBefore:
			dead = true
			return &faulty.Fault{Kill: faulty.KillBefore}
		case KillAfter:
			dead = true
			return &faulty.Fault{Kill: faulty.KillAfter}
		}
		return nil
	}
	locked := w.locked(plan)
	return faulty.New(w.Primary, locked), faulty.New(w.Secondary, locked)
}

// locked lets two buckets ask one plan.
func (w *World) locked(plan faulty.Plan) faulty.Plan {
	return func(c faulty.Call) *faulty.Fault {
		w.mu.Lock()
		defer w.mu.Unlock()
		return plan(c)
	}
}

// Hold is the world's two buckets as one process sees them, which freezes at the nth call of both together: before it takes
// effect, or after it, before the process learns of it.
func (w *World) Hold(n int, after bool, gate *faulty.Gate) (primary, secondary *faulty.Bucket) {
	count := 0
	plan := w.locked(func(faulty.Call) *faulty.Fault {
		if count++; count != n {
			return nil
		}
		if after {
			return &faulty.Fault{HoldReply: gate}
		}
		return &faulty.Fault{Hold: gate}
	})
	return faulty.New(w.Primary, plan), faulty.New(w.Secondary, plan)
}
