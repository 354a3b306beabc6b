package expiry_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/verdict"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/expiry"
	"tidemark/shared/expiry/policy"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/signing"
)

// all is what both buckets hold.
func all(t *testing.T, w *writertest.World) map[string]string {
	t.Helper()
	held := map[string]string{}
	for name, bucket := range map[string]archive.Bucket{"primary ": w.Primary, "secondary ": w.Secondary} {
		for info, err := range bucket.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			content, err := bucket.Read(t.Context(), info.Key, archive.Span{Limit: 1 << 26})
			if err != nil {
				t.Fatal(err)
			}
			held[name+info.Key] = string(content)
		}
	}
	return held
}

func speaker(t *testing.T, w *writertest.World) verdict.Options {
	t.Helper()
	return verdict.Options{Archive: w.Archive(t), Actor: "anna", Now: w.Now, Signers: []signing.Signer{w.Key}}
}

func replace(t *testing.T, bucket archive.Bucket, key string, content []byte) {
	t.Helper()
	if err := bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	put(t, bucket, key, content)
}

func TestExpireDryWritesNothing(t *testing.T) {
	t.Parallel()
	w := full(t)
	for _, passed := range []time.Duration{0, expiry.Grace} { // at each phase
		w.Pass(passed)
		before := all(t, w)
		report, err := expiry.Run(t.Context(), options(w, w.Archive(t)), false)
		if err != nil || report.Confirmed || len(report.Decisions) != 5 || len(report.Sweeps) != 2 {
			t.Fatalf("got %+v, %v", report, err)
		}
		for _, sweep := range report.Sweeps {
			if len(sweep.Removed) > 0 || passed == 0 && (len(sweep.Named) != 6 || sweep.Bytes == 0) {
				t.Errorf("got %+v, want the bodies and chunks of three manifests named, and none removed", sweep)
			}
		}
		if diff := cmp.Diff(before, all(t, w)); diff != "" {
			t.Errorf("it changed the archive (-before +after):\n%s", diff)
		}
		if passed == 0 {
			if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
				t.Fatal(err)
			}
			w.MustWrite(t, writertest.Backup{Chunks: []string{"shared", "chunk 5"}})
			w.MustWrite(t, writertest.Backup{Chunks: []string{"shared", "chunk 6"}})
			w.MustWrite(t, writertest.Backup{Chunks: []string{"shared", "chunk 7"}})
		}
	}
}

// What a manifest refers to that cannot be read is not known, so nothing is removed at all.
func TestExpireStopsAtWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, w *writertest.World, id layout.ID){
		"AStatement": func(t *testing.T, w *writertest.World, id layout.ID) {
			t.Helper()
			replace(t, w.Primary, layout.Manifest(id), []byte("garbage"))
			replace(t, w.Secondary, layout.Manifest(id), []byte("garbage"))
		},
		"AStatementOfAnUnknownKey": func(t *testing.T, w *writertest.World, id layout.ID) {
			t.Helper()
			stranger, err := signing.Seal(t.Context(), manifest.StatementType, []byte(`{}`), writertest.NewKey(t, 7))
			if err != nil {
				t.Fatal(err)
			}
			put(t, w.Primary, layout.Manifest(layout.ID{Lineage: 1, Seq: id.Seq + 9, Run: w.NextRun()}), stranger)
		},
		"ABody": func(t *testing.T, w *writertest.World, id layout.ID) {
			t.Helper()
			key := layout.Object(statement(t, w, id).Body.Digest)
			replace(t, w.Primary, key, []byte("garbage"))
			replace(t, w.Secondary, key, []byte("garbage"))
		},
		"ALife": func(t *testing.T, w *writertest.World, _ layout.ID) {
			t.Helper()
			put(t, w.Secondary, layout.Lineage(2), []byte("garbage"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, phase := range []int{1, 2} {
				w := full(t)
				if phase == 2 {
					if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
						t.Fatal(err)
					}
					w.Pass(expiry.Grace)
				}
				damage(t, w, listed(t, w)[0])
				before := all(t, w)
				if _, err := confirm(t.Context(), w, w.Archive(t)); !errors.Is(err, expiry.ErrUnreadable) || !fault.Is(err, fault.Corrupt) {
					t.Errorf("phase %d: got %v, want ErrUnreadable", phase, err)
				}
				if diff := cmp.Diff(before, all(t, w)); diff != "" {
					t.Errorf("phase %d: it changed the archive (-before +after):\n%s", phase, diff)
				}
			}
		})
	}
}

func statement(t *testing.T, w *writertest.World, id layout.ID) manifest.Statement {
	t.Helper()
	encoded, err := w.Primary.Read(t.Context(), layout.Manifest(id), archive.Span{Limit: signing.MaxEnvelope})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := w.Archive(t).Trusted.Open(manifest.StatementType, encoded)
	if err != nil {
		t.Fatal(err)
	}
	s, err := manifest.DecodeStatement(opened.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An operator withdraws what cannot be read: nothing depends on it, and expiry goes on.
func TestExpireGoesOnWhenTheUnreadableIsWithdrawn(t *testing.T) {
	t.Parallel()
	w := full(t)
	ids := listed(t, w)
	for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
		replace(t, bucket, layout.Manifest(ids[4]), []byte("garbage"))
	}
	if _, err := verdict.Withdraw(t.Context(), speaker(t, w), ids[4].Run, "rotten"); err != nil {
		t.Fatal(fault.Line(err))
	}
	clean(t, w)
	if got := listed(t, w); !slices.Equal(got, ids[2:4]) {
		t.Errorf("got %v, want the two newest that verify, %v", got, ids[2:4])
	}
}

func TestExpireStopsWhileABucketIsDown(t *testing.T) {
	t.Parallel()
	for _, class := range []fault.Class{fault.Retryable, fault.Misconfigured} {
		down := func(faulty.Call) *faulty.Fault { return &faulty.Fault{Fail: fault.New(class, "the store is down")} }
		w := full(t)
		before := all(t, w)
		for name, a := range map[string]*archive.Archive{
			"primary":   w.Archive(t, faulty.New(w.Primary, down), w.Secondary),
			"secondary": w.Archive(t, w.Primary, faulty.New(w.Secondary, down)),
		} {
			if _, err := confirm(t.Context(), w, a); !fault.Is(err, class) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s down: got %v of class %s, want class %s", name, err, fault.ClassOf(err), class)
			}
		}
		if diff := cmp.Diff(before, all(t, w)); diff != "" {
			t.Errorf("it changed the archive (-before +after):\n%s", diff)
		}
	}
}

func TestExpireRefusesWhenNothingVerifies(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	if _, err := confirm(t.Context(), w, w.Archive(t)); !errors.Is(err, expiry.ErrNothingVerified) {
		t.Errorf("an empty archive: got %v, want ErrNothingVerified", err)
	}
	w = full(t)
	for _, id := range listed(t, w) {
		if _, err := verdict.Withdraw(t.Context(), speaker(t, w), id.Run, "all wrong"); err != nil {
			t.Fatal(err)
		}
	}
	before := all(t, w)
	if _, err := confirm(t.Context(), w, w.Archive(t)); !errors.Is(err, expiry.ErrNothingVerified) {
		t.Errorf("all withdrawn: got %v, want ErrNothingVerified", err)
	}
	if diff := cmp.Diff(before, all(t, w)); diff != "" {
		t.Errorf("it changed the archive (-before +after):\n%s", diff)
	}
}

// Retention forbids to remove objects: they are named, left, and named again until it ends.
func TestExpireReportsLockedObjectsAndComesBack(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	alone := w.Archive(t, w.Primary)
	for _, chunk := range []string{"a", "b"} {
		if _, err := w.Write(t.Context(), w.Options(t, alone), writertest.Backup{Chunks: []string{chunk}}); err != nil {
			t.Fatal(err)
		}
	}
	first := listed(t, w)[0]
	_, object := packed(t, w, "a")
	if err := w.Primary.Retain(t.Context(), layout.Object(object.Digest), w.Now().Add(30*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	locked := 0
	for day := range 40 {
		report, err := keepOne(t.Context(), w, alone)
		if err != nil {
			t.Fatal(fault.Line(err))
		}
		locked += len(report.Sweeps[0].Locked)
		if _, err := w.Primary.Stat(t.Context(), layout.Object(statement(t, w, listed(t, w)[len(listed(t, w))-1]).Body.Digest)); err != nil {
			t.Fatalf("day %d: the newest lost its body: %v", day, err)
		}
		w.Pass(24 * time.Hour)
	}
	if locked < 2 {
		t.Errorf("it was reported as locked %d times, want it named again after the first", locked)
	}
	if ids := listed(t, w); len(ids) != 1 || ids[0] == first || count(t, w.Primary, layout.Objects) != 2 {
		t.Errorf("got %v and %d objects, want all that was locked gone after its lock", ids, count(t, w.Primary, layout.Objects))
	}
}

func TestExpireHonoursMarks(t *testing.T) {
	t.Parallel()
	w := full(t)
	ids := listed(t, w)
	if _, err := verdict.Keep(t.Context(), speaker(t, w), ids[0].Run, "for the auditors"); err != nil {
		t.Fatal(err)
	}
	clean(t, w)
	if got := listed(t, w); !slices.Equal(got, []layout.ID{ids[0], ids[3], ids[4]}) {
		t.Fatalf("got %v, want the kept one and the two newest", got)
	}
	if _, err := verdict.LetGo(t.Context(), speaker(t, w), ids[0].Run, "the audit is over"); err != nil {
		t.Fatal(err)
	}
	clean(t, w)
	if got := listed(t, w); !slices.Equal(got, ids[3:]) {
		t.Errorf("got %v, want the two newest", got)
	}
}

// wal-g#636: after a recovery numbers begin again, and the clock of the new database may be behind. Its backups are the newest.
func TestExpireKeepsTheLatestLifesBackups(t *testing.T) {
	t.Parallel()
	w := full(t)
	w.Pass(-200 * time.Hour)
	first := w.MustWrite(t, writertest.Backup{Lineage: 2, Chunks: []string{"shared"}})
	second := w.MustWrite(t, writertest.Backup{Lineage: 2, Chunks: []string{"shared", "after"}})
	clean(t, w)
	if got := listed(t, w); !slices.Equal(got, []layout.ID{first.ID, second.ID}) {
		t.Errorf("got %v, want the two of the second life", got)
	}
}

// pgbackrest#2622: a sweep beside a backup that has stored and not yet signed takes nothing of it, however often it comes.
func TestExpireTakesNothingOfARunUnderWay(t *testing.T) {
	t.Parallel()
	w := full(t)
	a := w.Archive(t)
	o := w.Options(t, a)
	run, err := writer.Begin(t.Context(), o, notice.Run{
		Lineage: 1, RunID: w.NextRun(), Seq: 6, Life: writertest.Life(1), Attempt: 1, Actor: "test", Tool: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Pack([]byte("under way"))
	if err != nil {
		t.Fatal(err)
	}
	object, err := run.Store(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for range 11 {
		if _, err := confirm(t.Context(), w, a); err != nil {
			t.Fatal(err)
		}
		w.Pass(time.Hour)
	}
	c, err := run.Commit(t.Context(), w.Body(0, orders(object)))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	clean(t, w)
	if counts := writertest.Sound(t, w); !counts[c.ID] {
		t.Error("the backup does not count")
	}
}

// ghost is a bucket that lists a key that it does not have.
type ghost struct {
	archive.Bucket
	key string
}

func (g ghost) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		if strings.HasPrefix(g.key, prefix) && !yield(archive.Info{Key: g.key, Size: 1, StoredAt: time.Unix(0, 0)}, nil) {
			return
		}
		for info, err := range g.Bucket.List(ctx, prefix) {
			if !yield(info, err) {
				return
			}
		}
	}
}

// velero#7455: a manifest that is listed and cannot be found stops expiry by name, and for as long as nobody says that it does
// not matter.
func TestExpireNamesAManifestThatIsListedAndNotThere(t *testing.T) {
	t.Parallel()
	w := full(t)
	run := w.NextRun()
	id := layout.ID{Lineage: 1, Seq: 3, Run: run}
	put(t, w.Primary, layout.Run(1, run), []byte("{}"))
	w.Pass(-time.Hour)
	haunted := ghost{w.Primary, layout.Manifest(id)}
	a := w.Archive(t, haunted, w.Secondary)
	w.Pass(time.Hour)
	_, err := confirm(t.Context(), w, a)
	if err != nil && (!errors.Is(err, expiry.ErrUnreadable) || !strings.Contains(err.Error(), run.String())) {
		t.Fatalf("got %v, want ErrUnreadable with its name, or nothing", err)
	}
	o := speaker(t, w)
	o.Archive = a
	if _, err := verdict.Withdraw(t.Context(), o, run, "not there"); err != nil {
		t.Fatal(fault.Line(err))
	}
	for range 3 {
		if _, err := confirm(t.Context(), w, a); err != nil {
			t.Fatal(fault.Line(err))
		}
		w.Pass(25 * time.Hour)
	}
	if objects := count(t, w.Primary, layout.Objects); objects != 5 {
		t.Errorf("%d objects are left, want 5", objects)
	}
}

// What Tidemark did not write stands in the same bucket and stays there.
func TestExpireLeavesStrangersAlone(t *testing.T) {
	t.Parallel()
	w := full(t)
	digest := strings.Repeat("ab", 32)
	strangers := []string{
		"readme.txt", "objects/readme.txt", "objects/cd/" + digest, "objects/ab/" + digest + ".bak", "objects/ab/notes",
		"manifests/0000000001/latest.json", "runs/0000000001/notes.json", "sweeps/notes.json", "keeps/notes/0000000001.json",
		"revoked/notes.json", "decisions/0000000001/0000000001.json", "other/objects/ab/" + digest,
	}
	for _, key := range strangers {
		put(t, w.Primary, key, []byte(key))
	}
	clean(t, w)
	w.Pass(200 * 24 * time.Hour)
	clean(t, w)
	for _, key := range strangers {
		if content, err := w.Primary.Read(t.Context(), key, archive.Span{Limit: 1 << 10}); err != nil || string(content) != key {
			t.Errorf("%s: got %q, %v", key, content, err)
		}
	}
}

// A sweep that names what is in use, whoever wrote it, removes nothing of it.
func TestExpireSparesWhatAForgedSweepNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := full(t)
		var named []manifest.Digest
		for info, err := range w.Primary.List(t.Context(), layout.Objects) {
			if err != nil {
				t.Fatal(err)
			}
			digest, _ := layout.ParseObject(info.Key)
			named = append(named, digest)
		}
		forged, err := notice.Encode(notice.Sweep{Version: 1, Number: 1, Actor: "nobody", Objects: named})
		if err != nil {
			t.Fatal(err)
		}
		for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
			put(t, bucket, layout.Sweep(1), forged)
		}
		clean(t, w)
		if counts := writertest.Sound(t, w); len(counts) != 2 {
			t.Errorf("%d manifests count, want 2", len(counts))
		}
		if c := w.MustWrite(t, writertest.Backup{Chunks: []string{"shared"}}); c.Copies != 2 {
			t.Errorf("got %+v, want two copies", c)
		}
	})
}

// pgbackrest#1829: a lifecycle rule took a chunk. The manifest neither counts nor goes, the others go on.
func TestExpireGoesOnBesideAManifestThatLostAChunk(t *testing.T) {
	t.Parallel()
	w := full(t)
	ids := listed(t, w)
	_, object := packed(t, w, "chunk 4")
	for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
		if err := bucket.Delete(t.Context(), layout.Object(object.Digest)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := confirm(t.Context(), w, w.Archive(t))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	if got := listed(t, w); !slices.Equal(got, ids[2:]) {
		t.Errorf("got %v, want the damaged newest and two that verify", got)
	}
	if d := report.Decisions[0]; !d.Keep || d.Manifest.Verified || d.Problem == "" || d.Reasons[0].Rule != policy.Unverified {
		t.Errorf("got %+v, want it said that the newest does not verify", d)
	}
}
