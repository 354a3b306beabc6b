package expiry_test

import (
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/layout/verified"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/verdict"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/expiry"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/document"
)

// Somebody who may write and has no key says that a manifest is kept no longer. A manifest about which such a mark is all that
// there is stays too: what was said of it before may have been taken away.
func TestKeptStaysKeptWhoeverElseWrites(t *testing.T) {
	t.Parallel()
	w := full(t)
	ids := listed(t, w)
	kept, other := ids[0], ids[1]
	if _, err := verdict.Keep(t.Context(), speaker(t, w), kept.Run, "for the auditors"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []layout.ID{kept, other} {
		forged, err := notice.Encode(notice.Keep{
			Version: document.Version, TargetID: writertest.Target, RunID: id.Run, Number: 2, Actor: "nobody", Reason: "gone", Created: w.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		put(t, w.Primary, layout.Keep(id.Run, 2), forged)
	}
	clean(t, w)
	if left := listed(t, w); len(left) != 4 || left[0] != kept || left[1] != other {
		t.Errorf("got %v, want %v and %v beside the two newest", left, kept, other)
	}
}

// A withdrawn manifest went long ago. Who puts it there again does not find its revocation forgotten.
func TestRevocationOutlivesItsManifest(t *testing.T) {
	t.Parallel()
	w := full(t)
	wrong, other := listed(t, w)[0], listed(t, w)[1]
	held := map[archive.Bucket][]byte{}
	for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
		content, err := bucket.Read(t.Context(), layout.Manifest(wrong), archive.Span{Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		held[bucket] = content
	}
	if _, err := verdict.Withdraw(t.Context(), speaker(t, w), wrong.Run, "wrong rows"); err != nil {
		t.Fatal(err)
	}
	report := verified.Report(wrong, other.Run)
	for _, key := range []string{report, verified.Detail(report)} {
		put(t, w.Primary, key, []byte("{}"))
	}
	clean(t, w)
	for range 20 { // each time there is something to do, so that records are pruned
		w.Pass(10 * 24 * time.Hour)
		w.MustWrite(t, writertest.Backup{Chunks: []string{"shared", w.Now().String()}})
		if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
			t.Fatal(fault.Line(err))
		}
		w.Pass(expiry.Grace)
	}
	if n := count(t, w.Primary, layout.Runs); n > 8 {
		t.Errorf("%d records of runs, want those of manifests that went to be pruned", n)
	}
	if n := count(t, w.Primary, verified.Folder); n != 0 {
		t.Errorf("%d reports on a manifest that went are left", n)
	}
	for bucket, content := range held {
		put(t, bucket, layout.Manifest(wrong), content)
	}
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := h.Find(wrong.Run); err != nil || !e.Revoked {
		t.Errorf("got %+v, %v, want it withdrawn", e, err)
	}
}
