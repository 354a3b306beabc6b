package writertest

import (
	"context"
	"testing"

	"tidemark/shared/archive"
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
