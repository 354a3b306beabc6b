package history_test

import (
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/document"
	"tidemark/shared/signing"
)

// marked is a backup on whose manifest marks stand.
type marked struct {
	*writertest.World
	committed writer.Committed
	archive   *archive.Archive
}

// mark puts a mark into a bucket, signed by the world's key if by nobody else, after a change.
func (m marked) mark(t *testing.T, bucket archive.Bucket, number int64, keep bool, change func(*notice.Keep), signers ...signing.Signer) {
	t.Helper()
	word := notice.Keep{
		Version: document.Version, TargetID: writertest.Target, RunID: m.committed.ID.Run, Number: number, Keep: keep, Actor: "ann",
		Reason: "audit", Created: m.Now(),
	}
	if change != nil {
		change(&word)
	}
	payload, err := notice.Encode(word)
	if err != nil {
		t.Fatal(err)
	}
	m.seal(t, bucket, number, payload, signers...)
}

func (m marked) seal(t *testing.T, bucket archive.Bucket, number int64, payload []byte, signers ...signing.Signer) {
	t.Helper()
	if len(signers) == 0 {
		signers = []signing.Signer{m.Key}
	}
	envelope, err := signing.Seal(t.Context(), notice.KeepType, payload, signers...)
	if err != nil {
		t.Fatal(err)
	}
	put(t, bucket, layout.Keep(m.committed.ID.Run, number), envelope)
}

func mark(t *testing.T) marked {
	t.Helper()
	w := writertest.New(t)
	return marked{w, w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}}), w.Archive(t)}
}

// TestKept: which mark decides, and what says nothing.
func TestKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		say     func(t *testing.T, m marked)
		kept    bool
		number  int64
		warning string
	}{
		"NotWithoutMarks": {say: func(*testing.T, marked) {}},
		"ByTheHighest": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 9, false, nil)
			m.mark(t, m.Secondary, 10, true, nil)
		}, true, 10, ""},
		"NotWhenTheHighestLetsGo": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			m.mark(t, m.Secondary, 2, false, nil)
		}, false, 2, ""},
		"ByEitherOfOneNumber": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			m.mark(t, m.Secondary, 1, false, nil)
		}, true, 1, ""},
		"BehindGarbage": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			put(t, m.Primary, layout.Keep(m.committed.ID.Run, 2), []byte("garbage"))
			put(t, m.Secondary, layout.Keep(m.committed.ID.Run, 9_999_999_999), make([]byte, notice.MaxSize+1))
		}, true, 1, "2 marks"},
		"NotBehindGarbage": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			m.mark(t, m.Primary, 2, false, nil)
			put(t, m.Secondary, layout.Keep(m.committed.ID.Run, 2), []byte("garbage"))
			put(t, m.Secondary, layout.Keep(m.committed.ID.Run, 3), []byte("garbage"))
		}, false, 2, "count for nothing"},
		"BehindAStrangersWord": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			m.mark(t, m.Primary, 2, false, nil, writertest.NewKey(t, 9))
		}, true, 1, "none by one of 1 pinned keys"},
		"BehindAWordOnAnotherRun": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			m.mark(t, m.Primary, 2, false, func(k *notice.Keep) { k.RunID = m.NextRun() })
		}, true, 1, "is mark 2 on run"},
		"BehindAWordOfAnotherNumber": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, false, nil)
			m.mark(t, m.Primary, 2, true, nil)
			m.mark(t, m.Primary, 3, false, func(k *notice.Keep) { k.Number = 1 })
		}, true, 2, "is mark 1 on run"},
		"BehindAWordOfAnotherTarget": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			m.mark(t, m.Primary, 2, false, func(k *notice.Keep) { k.TargetID = "other-target" })
		}, true, 1, "of other-target"},
		"BehindAWordOfAKeyThatHasExpired": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			m.archive.Trusted[0].NotAfter = m.Now()
			m.Pass(time.Hour)
			m.mark(t, m.Primary, 2, false, nil)
		}, true, 1, "valid until"},
		"BehindARevocationInItsPlace": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, true, nil)
			put(t, m.Primary, layout.Keep(m.committed.ID.Run, 2), content(t, m.Primary, layout.Lineage(1)))
		}, true, 1, notice.LifeType},
		"WhenNothingVerifies": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, false, nil, writertest.NewKey(t, 9))
			put(t, m.Primary, layout.Keep(m.committed.ID.Run, 2), []byte("garbage"))
		}, true, 0, "no mark on"},
		"WhenALaterReleaseSpoke": {func(t *testing.T, m marked) {
			t.Helper()
			m.mark(t, m.Primary, 1, false, nil)
			m.seal(t, m.Primary, 2, []byte(`{"version":2,"for":"ever"}`))
		}, true, 0, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mark(t)
			test.say(t, m)
			h := read(t, m.archive)
			if e := h.Entries[0]; e.Kept != test.kept || e.Mark != test.number {
				t.Errorf("got kept %t by mark %d, want %t by %d", e.Kept, e.Mark, test.kept, test.number)
			}
			if warnings := strings.Join(h.Warnings, "; "); !strings.Contains(warnings, test.warning) || test.warning == "" && warnings != "" {
				t.Errorf("got warnings %q, want %q", warnings, test.warning)
			}
		})
	}
}

// A mark that the store does not give now may be the one that keeps.
func TestKeptIsNotDecidedPastAStoreThatStutters(t *testing.T) {
	t.Parallel()
	m := mark(t)
	m.mark(t, m.Primary, 1, false, nil)
	m.mark(t, m.Primary, 2, true, nil)
	key := layout.Keep(m.committed.ID.Run, 2)
	for _, method := range []string{"Read", "Stat"} {
		a := m.Archive(t, faulty.New(m.Primary, stuttering(0, method, key)), m.Secondary)
		if h, err := history.Read(t.Context(), a); !fault.Is(err, fault.Retryable) {
			t.Errorf("%s: got %+v, %v, want fault.Retryable", method, h, err)
		}
		denies := m.Archive(t, faulty.New(m.Primary, failing(0, method, key, denied())), m.Secondary)
		if h := read(t, denies); !h.Entries[0].Kept || len(h.Warnings) != 1 {
			t.Errorf("%s denied: got kept %t with %q, want it kept", method, h.Entries[0].Kept, h.Warnings)
		}
	}
}

// An expirer takes away the marks of a manifest that went, between the listing of a mark and its reading.
func TestReadGoesOnWhenAMarkGoes(t *testing.T) {
	t.Parallel()
	m := mark(t)
	m.mark(t, m.Primary, 1, true, nil)
	for _, method := range []string{"Read", "Stat"} {
		gone := failing(0, method, layout.Keeps, fault.New(fault.Retryable, "%s: %w", method, archive.ErrNotFound))
		if h := read(t, m.Archive(t, faulty.New(m.Primary, gone), m.Secondary)); !h.Entries[0].Kept {
			t.Errorf("%s: it is kept no longer", method)
		}
	}
}
