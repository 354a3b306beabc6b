package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
	"tidemark/shared/signing"
)

func read(t *testing.T, a *archive.Archive) *history.History {
	t.Helper()
	h, err := history.Read(t.Context(), a)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return h
}

func choose(t *testing.T, a *archive.Archive, r history.Request) (history.Choice, error) {
	t.Helper()
	return read(t, a).Choose(t.Context(), r)
}

// replace puts other content under a key, as somebody with rights on the bucket could.
func replace(t *testing.T, bucket archive.Bucket, key string, content []byte) {
	t.Helper()
	if err := bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := bucket.Create(t.Context(), key, content); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, bucket archive.Bucket, key string) []byte {
	t.Helper()
	found, err := bucket.Read(t.Context(), key, archive.Span{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestChooseTakesTheNewestOfBothBuckets(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	// The secondary alone got the second one: the primary is stale.
	onlySecond := w.Archive(t, w.Secondary)
	newest, err := w.Write(t.Context(), w.Options(t, onlySecond), writertest.Backup{Chunks: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	choice, err := choose(t, w.Archive(t), history.Request{})
	if err != nil || choice.Manifest.ID != newest.ID {
		t.Errorf("got %v, %v, want the secondary's newer one", choice.Manifest.ID, err)
	}
}

func TestChooseTakesObjectsFromEitherBucket(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b"}})
	choice, err := choose(t, w.Archive(t), history.Request{})
	if err != nil {
		t.Fatal(err)
	}
	objects := choice.Body.Objects()
	for i, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
		if err := bucket.Delete(t.Context(), layout.Object(objects[i].Digest)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := choose(t, w.Archive(t), history.Request{})
	if err != nil || again.Manifest.ID != c.ID {
		t.Errorf("got %v, %v, want it used: each object is in one of the buckets", again.Manifest.ID, err)
	}
	for _, object := range objects {
		if _, err := w.Archive(t).Fetch(t.Context(), object, nil); err != nil {
			t.Errorf("fetch: %v", err)
		}
	}
}

// An unverifiable newest one is passed over, and said so; the next older one of the same history is taken.
func TestChooseFallsBackAndSaysWhy(t *testing.T) {
	t.Parallel()
	damage := map[string]struct {
		do   func(*testing.T, archive.Bucket, writer.Committed)
		want string
	}{
		"StatementGone": {func(t *testing.T, b archive.Bucket, c writer.Committed) {
			t.Helper()
			replace(t, b, layout.Manifest(c.ID), nil)
		}, "envelope"},
		"StatementHuge": {func(t *testing.T, b archive.Bucket, c writer.Committed) {
			t.Helper()
			replace(t, b, layout.Manifest(c.ID), bytes.Repeat([]byte(" "), 1<<20))
		}, "larger"},
		"BodyGone": {func(t *testing.T, b archive.Bucket, c writer.Committed) {
			t.Helper()
			if err := b.Delete(t.Context(), layout.Object(c.Statement.Body.Digest)); err != nil {
				t.Fatal(err)
			}
		}, "no such object"},
		"BodyAltered": {func(t *testing.T, b archive.Bucket, c writer.Committed) {
			t.Helper()
			key := layout.Object(c.Statement.Body.Digest)
			altered := content(t, b, key)
			altered[len(altered)/2] ^= 1
			replace(t, b, key, altered)
		}, "not what the name says"},
		"ChunkGone": {func(t *testing.T, b archive.Bucket, _ writer.Committed) {
			t.Helper()
			for info, err := range b.List(t.Context(), layout.Objects) {
				if err != nil {
					t.Fatal(err)
				}
				if len(content(t, b, info.Key)) < 100 && strings.Contains(string(content(t, b, info.Key)), "second") {
					if err := b.Delete(t.Context(), info.Key); err != nil {
						t.Fatal(err)
					}
				}
			}
		}, "misses objects"},
	}
	for name, d := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := writertest.New(t)
			older := w.MustWrite(t, writertest.Backup{Chunks: []string{"first"}})
			newer := w.MustWrite(t, writertest.Backup{Chunks: []string{"second"}})
			d.do(t, w.Primary, newer)
			d.do(t, w.Secondary, newer)
			choice, err := choose(t, w.Archive(t), history.Request{})
			if err != nil || choice.Manifest.ID != older.ID {
				t.Fatalf("got %v, %v, want the older one", choice.Manifest.ID, err)
			}
			if len(choice.Passed) != 1 || choice.Passed[0].ID != newer.ID || !strings.Contains(choice.Passed[0].Reason.Error(), d.want) {
				t.Errorf("got %v passed over, want the newer one because of %q", choice.Passed, d.want)
			}
			_, err = choose(t, w.Archive(t), history.Request{Mark: history.Mark{Lineage: 1, Seq: 2, Statement: newer.Digest}})
			if !errors.Is(err, history.ErrOlderThanSeen) {
				t.Errorf("got %v, want ErrOlderThanSeen: the newer one was seen", err)
			}
		})
	}
}

func TestChooseNamesWhyNothingIsUsable(t *testing.T) {
	t.Parallel()
	t.Run("NoBackup", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		if _, err := choose(t, w.Archive(t), history.Request{}); !errors.Is(err, history.ErrNoBackup) {
			t.Errorf("got %v, want ErrNoBackup", err)
		}
	})
	t.Run("UntrustedKey", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		a := w.Archive(t)
		a.Trusted = signing.Keyring{{Key: writertest.NewKey(t, 2).Key()}}
		if _, err := choose(t, a, history.Request{}); !errors.Is(err, signing.ErrUntrusted) || !fault.Is(err, fault.Corrupt) {
			t.Errorf("got %v, want signing.ErrUntrusted", err)
		}
	})
	t.Run("RevokedKey", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		a := w.Archive(t)
		a.Trusted[0].RevokedAt = w.Now().Add(-time.Hour)
		if _, err := choose(t, a, history.Request{}); !errors.Is(err, signing.ErrUntrusted) {
			t.Errorf("got %v, want signing.ErrUntrusted", err)
		}
	})
	t.Run("ForeignPrefix", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		a := w.Archive(t)
		a.Target = "other"
		if _, err := history.Read(t.Context(), a); !errors.Is(err, archive.ErrForeign) {
			t.Errorf("got %v, want ErrForeign", err)
		}
	})
}

// Whoever may write into the bucket, but has no key, puts signed documents where they do not belong.
func TestChooseRefusesStatementsInTheWrongPlace(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	first := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	second := w.MustWrite(t, writertest.Backup{Chunks: []string{"b"}})
	old := content(t, w.Primary, layout.Manifest(first.ID))
	for name, id := range map[string]layout.ID{
		"AnOlderOneAsTheNewest": {Lineage: 1, Seq: 3, Run: first.ID.Run},
		"UnderAnotherRun":       {Lineage: 1, Seq: math.MaxInt64, Run: w.NextRun()},
		"InALaterLife":          {Lineage: 2, Seq: 1, Run: first.ID.Run},
	} {
		if err := w.Primary.Create(t.Context(), layout.Manifest(id), old); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	choice, err := choose(t, w.Archive(t), history.Request{})
	if err != nil || choice.Manifest.ID != second.ID || len(choice.Passed) != 3 {
		t.Errorf("got %v after %v, %v, want the newest that stands where it belongs", choice.Manifest.ID, choice.Passed, err)
	}
	if next := w.MustWrite(t, writertest.Backup{Chunks: []string{"c"}}); next.ID.Seq != 3 {
		t.Errorf("got %v, want the next backup to count from what verifies", next.ID)
	}
	h := read(t, w.Archive(t))
	opened := 0
	for _, e := range h.Entries {
		if _, err := h.Open(t.Context(), e); err == nil {
			opened++
		} else if !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: got %v, want fault.Corrupt", e.ID, err)
		}
	}
	if opened != 3 {
		t.Errorf("%d statements open, want the three that stand where they belong", opened)
	}
}

func TestChooseRefusesAForkByName(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	// Two writers that do not see each other's bucket: each makes manifest 1.
	one, err := w.Write(t.Context(), w.Options(t, w.Archive(t, w.Primary)), writertest.Backup{Chunks: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	two, err := w.Write(t.Context(), w.Options(t, w.Archive(t, w.Secondary)), writertest.Backup{Chunks: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	// Their lives' records were signed by two runs of one incarnation: that, too, is two lives with one number.
	if _, err := history.Read(t.Context(), w.Archive(t)); !errors.Is(err, history.ErrLineageForked) {
		t.Fatalf("got %v, want ErrLineageForked", err)
	}
	replace(t, w.Secondary, layout.Lineage(1), content(t, w.Primary, layout.Lineage(1)))
	if _, err := choose(t, w.Archive(t), history.Request{}); !errors.Is(err, history.ErrForked) {
		t.Errorf("got %v, want ErrForked", err)
	}
	for _, c := range []writer.Committed{one, two} {
		choice, err := choose(t, w.Archive(t), history.Request{Run: c.ID.Run})
		if err != nil || choice.Manifest.ID != c.ID {
			t.Errorf("got %v, %v, want the one that was asked for", choice.Manifest.ID, err)
		}
	}
}

// B5: a mark outside the buckets tells what was committed, so that whoever turns the buckets back is found out.
func TestChooseJudgesFreshnessByTheMark(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	at := func(lineage position.Lineage, seq int64, digest manifest.Digest) history.Mark {
		return history.Mark{Lineage: lineage, Seq: seq, Statement: digest}
	}
	for name, test := range map[string]struct {
		request history.Request
		proven  bool
		want    error
	}{
		"NoMark":     {history.Request{}, false, nil},
		"Same":       {history.Request{Mark: at(1, 1, c.Digest)}, true, nil},
		"NewerSeq":   {history.Request{Mark: at(1, 2, c.Digest)}, false, history.ErrOlderThanSeen},
		"NewerLife":  {history.Request{Mark: at(2, 1, c.Digest)}, false, history.ErrOlderThanSeen},
		"Other":      {history.Request{Mark: at(1, 1, manifest.DigestOf(nil))}, false, history.ErrForked},
		"AllowOlder": {history.Request{Mark: at(1, 2, c.Digest), AllowOlder: true}, false, nil},
	} {
		choice, err := choose(t, w.Archive(t), test.request)
		if !errors.Is(err, test.want) || choice.FreshnessProven != test.proven {
			t.Errorf("%s: got proven %v, %v, want %v, %v", name, choice.FreshnessProven, err, test.proven, test.want)
		}
	}
}

// R3: a later life shares its parent's history up to the cut that its recovery replayed to, and no further.
func TestChooseFallsBackToAnAncestorOnlyWithinTheSharedHistory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shared position.Offset
		want   int // which of the parent's manifests
	}{"AllOfIt": {30, 1}, "UpToTheOlder": {20, 0}, "None": {5, -1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := writertest.New(t)
			parents := []writer.Committed{
				w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}, Next: 10}),
				w.MustWrite(t, writertest.Backup{Chunks: []string{"b"}, Next: 30}),
			}
			mint(t, w, parents[0], test.shared)
			choice, err := choose(t, w.Archive(t), history.Request{})
			if test.want < 0 {
				if !fault.Is(err, fault.Misconfigured) || len(choice.Passed) != 2 {
					t.Errorf("got %v, want a refusal that names both", err)
				}
				return
			}
			if err != nil || choice.Manifest.ID != parents[test.want].ID {
				t.Errorf("got %v, %v, want %v", choice.Manifest.ID, err, parents[test.want].ID)
			}
		})
	}
}

// mint writes the record of a second life that was recovered from base.
func mint(t *testing.T, w *writertest.World, base writer.Committed, shared position.Offset) {
	t.Helper()
	cut, err := notice.Encode(notice.SharedCut{
		Version: document.Version, Cut: body.Cut{{Flow: "shop", Topic: "orders", NextOffset: shared, Generation: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	packed, err := w.Options(t, w.Archive(t)).Pack(cut)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := notice.Encode(notice.Life{
		Version: document.Version, TargetID: writertest.Target, Lineage: 2, Incarnation: writertest.Life(2), RunID: w.NextRun(),
		Created: w.Now(), Tool: "test", Recovered: &notice.Recovered{
			Parent: 1, Base: manifest.Previous{Lineage: 1, Seq: base.ID.Seq, Digest: base.Digest}, Shared: packed.Object,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := signing.Seal(t.Context(), notice.LifeType, payload, w.Key)
	if err != nil {
		t.Fatal(err)
	}
	for key, content := range map[string][]byte{layout.Object(packed.Object.Digest): packed.Stored, layout.Lineage(2): envelope} {
		if err := archive.Put(t.Context(), w.Primary, key, content); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever else lies in the bucket is nobody's: it is neither counted nor an error.
func TestReadIgnoresWhatTidemarkDidNotWrite(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	for i, key := range []string{
		"manifests/readme.txt", "manifests/0000000001/latest.json", "manifests/0000000009/1-x.json", "lineages/notes.json",
		"manifests/0000000001/00000000000000000002-11111111-0000-4000-8000-000000000001.json.bak", "sweeps/x.json", "revoked/x.json",
		"keeps/x/1.json", "objects/zz/x", "runs/1/x.json", "unrelated/file",
	} {
		if err := w.Primary.Create(t.Context(), key, fmt.Appendf(nil, "%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	h := read(t, w.Archive(t))
	if len(h.Entries) != 1 || h.Entries[0].ID != c.ID || len(h.Warnings) > 0 {
		t.Errorf("got %v, warnings %q, want the one manifest", h.Entries, h.Warnings)
	}
}

func TestReadGoesOnWithTheBucketThatAnswers(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	gone := absent{w.Primary}
	choice, err := choose(t, w.Archive(t, gone, w.Secondary), history.Request{})
	if err != nil || choice.Manifest.ID != c.ID {
		t.Errorf("got %v, %v, want the secondary's copy", choice.Manifest.ID, err)
	}
	h := read(t, w.Archive(t, gone, w.Secondary))
	if h.Reached() == nil || !slices.ContainsFunc(h.Unreached, func(err error) bool { return strings.Contains(err.Error(), "primary") }) {
		t.Errorf("got %v, want it said that the primary did not answer", h.Unreached)
	}
	if _, err := history.Read(t.Context(), w.Archive(t, gone, gone)); !errors.Is(err, archive.ErrDenied) {
		t.Errorf("got %v, want the stores' own error when none answers", err)
	}
}
