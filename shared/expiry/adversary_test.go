package expiry_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/expiry"
	"tidemark/shared/expiry/policy"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// failing is the plan that the first call of one kind fails as a call does that may be tried again.
func failing(method, prefix string) faulty.Plan {
	return first(method, prefix, faulty.Fault{Fail: stutter()})
}

// holding is the plan that the first call of one kind waits at a gate, before its effect.
func holding(gate *faulty.Gate, method, prefix string) faulty.Plan {
	return first(method, prefix, faulty.Fault{Hold: gate})
}

func first(method, prefix string, f faulty.Fault) faulty.Plan {
	met := false
	return func(c faulty.Call) *faulty.Fault {
		if met || c.Method != method || !strings.HasPrefix(c.Key, prefix) {
			return nil
		}
		met = true
		return &f
	}
}

func stutter() error { return fault.New(fault.Retryable, "the store stutters") }

// keepOne expires all but the newest.
func keepOne(ctx context.Context, w *writertest.World, a *archive.Archive) (expiry.Report, error) {
	o := options(w, a)
	o.Policy = policy.Policy{KeepLast: 1, MinVerified: 1}
	return expiry.Run(ctx, o, true)
}

func mustKeepOne(t *testing.T, w *writertest.World) expiry.Report {
	t.Helper()
	report, err := keepOne(t.Context(), w, w.Archive(t))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return report
}

func put(t *testing.T, bucket archive.Bucket, key string, content []byte) {
	t.Helper()
	if err := bucket.Create(t.Context(), key, content); err != nil {
		t.Fatal(err)
	}
}

func packed(t *testing.T, w *writertest.World, plain string) (stored []byte, object manifest.Object) {
	t.Helper()
	p, err := w.Options(t, w.Archive(t)).Pack([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return p.Stored, p.Object
}

// A sweep has named a chunk and a day has passed. The primary stutters once while a run reads which chunks are condemned:
// the run must not go on as if there were none.
func TestWriterDoesNotLeanOnWhatASweepThatItCouldNotReadMayTake(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{layout.Runs, layout.Manifests, layout.Lineages, layout.Sweeps} {
		t.Run(strings.TrimSuffix(folder, "/"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { stutteringBegin(t, folder) })
		})
	}
}

func stutteringBegin(t *testing.T, folder string) {
	t.Helper()
	w := writertest.New(t)
	// The secondary was down when the chunk was stored: the primary's sweep alone names it.
	if _, err := w.Write(t.Context(), w.Options(t, w.Archive(t, w.Primary)), writertest.Backup{Chunks: []string{"old"}}); err != nil {
		t.Fatal(err)
	}
	w.MustWrite(t, writertest.Backup{Chunks: []string{"new"}})
	mustKeepOne(t, w)
	w.Pass(expiry.Grace)

	a := w.Archive(t, faulty.New(w.Primary, failing("List", folder)), w.Secondary)
	run, err := writer.Begin(t.Context(), w.Options(t, a), notice.Run{
		Lineage: 1, RunID: w.NextRun(), Seq: 3, Life: writertest.Life(1), Attempt: 1, Actor: "test", Tool: "test",
	})
	if err != nil {
		if !fault.Is(err, fault.Retryable) {
			t.Errorf("got %s, want a class that says: again", fault.Line(err))
		}
		return
	}
	p, err := w.Options(t, a).Pack([]byte("old"))
	if err != nil {
		t.Fatal(err)
	}
	object, err := run.Store(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	// A sweeper has made its mark and removes what it named, one call after the other.
	gate, ended := faulty.NewGate(), make(chan error, 1)
	sweeper := faulty.New(w.Primary, holding(gate, "Delete", layout.Objects))
	go func() {
		_, err := keepOne(t.Context(), w, w.Archive(t, sweeper, w.Secondary))
		ended <- err
	}()
	<-gate.Reached()
	c, err := run.Commit(t.Context(), w.Body(0, orders(object)))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	gate.Release()
	if err := <-ended; err != nil {
		t.Fatal(fault.Line(err))
	}
	if counts := writertest.Sound(t, w); !counts[c.ID] {
		t.Errorf("the backup %s said that it is there, and it is not", c.ID)
	}
}

// orders is a table of these chunks.
func orders(objects ...manifest.Object) body.Table {
	table := body.Table{
		Name: body.Name{Schema: "public", Name: "orders"}, Columns: []body.Column{{Name: "id", Type: "text", OID: 25}},
		Key: []string{}, Chunks: []body.Chunk{}, Rows: int64(len(objects)),
	}
	for _, object := range objects {
		table.Chunks = append(table.Chunks, body.Chunk{Rows: 1, Object: object})
	}
	return table
}

// remembered is a mark that was raised.
type remembered struct{ history.Mark }

func (r *remembered) Load(context.Context) (history.Mark, error) { return r.Mark, nil }

func (r *remembered) Raise(_ context.Context, mark history.Mark) error {
	r.Mark = mark
	return nil
}

// A run thaws at its last call, after a sweep took what it leans on. Its manifest is there, late, and does not count.
func TestWriterThatThawsSaysThatABackupIsThereOnlyWhenItCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := writertest.New(t)
		good := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		gate, seen, ended := faulty.NewGate(), &remembered{}, make(chan error, 1)
		frozen := w.Options(t, w.Archive(t, faulty.New(w.Primary, holding(gate, "Create", layout.Manifests)), w.Secondary))
		frozen.HighWater = seen
		go func() {
			_, err := w.Write(t.Context(), frozen, writertest.Backup{Chunks: []string{"b"}})
			ended <- err
		}()
		<-gate.Reached()
		w.Pass(history.RunLife + time.Minute)
		stored, object := packed(t, w, "of a run that died since")
		put(t, w.Primary, layout.Object(object.Digest), stored)
		mustKeepOne(t, w) // names b
		w.Pass(expiry.Grace)
		mustKeepOne(t, w) // removes it
		gate.Release()
		if err := <-ended; !errors.Is(err, writer.ErrTooOld) || !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v, want writer.ErrTooOld: the manifest is there and does not count", err)
		}
		if !seen.IsZero() {
			t.Errorf("got mark %v: with it recoveries refuse what is good", seen.Mark)
		}
		h, err := history.Read(t.Context(), w.Archive(t))
		if err != nil {
			t.Fatal(err)
		}
		choice, err := h.Choose(t.Context(), history.Request{Mark: seen.Mark})
		if err != nil || choice.Manifest.ID != good.ID {
			t.Errorf("got %v, %v, want the good one", choice.Manifest.ID, err)
		}
	})
}

// Nobody expired for a hundred days. Of two sweepers that then end one sweep, the first must not make the second's name
// forgotten: whoever begins meanwhile would lean on what the second is about to remove.
func TestSweepIsRememberedForLongAfterItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := writertest.New(t)
		w.MustWrite(t, writertest.Backup{Chunks: []string{"old"}})
		w.MustWrite(t, writertest.Backup{Chunks: []string{"new"}})
		mustKeepOne(t, w)
		w.Pass(100 * 24 * time.Hour)
		gate, ended := faulty.NewGate(), make(chan error, 1)
		slow := faulty.New(w.Primary, holding(gate, "Delete", layout.Objects))
		go func() {
			_, err := keepOne(t.Context(), w, w.Archive(t, slow, w.Secondary))
			ended <- err
		}()
		<-gate.Reached()
		mustKeepOne(t, w)
		w.Pass(time.Minute)
		c := w.MustWrite(t, writertest.Backup{Chunks: []string{"old", "new"}})
		gate.Release()
		if err := <-ended; err != nil {
			t.Fatal(fault.Line(err))
		}
		if counts := writertest.Sound(t, w); !counts[c.ID] {
			t.Error("a backup that was there misses objects")
		}
	})
}

// An archive in which nothing changes must not grow by being expired, however often.
func TestSweepLeavesNothingBehindWhenThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	w := full(t)
	for range 100 {
		if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
			t.Fatal(fault.Line(err))
		}
		w.Pass(time.Hour)
	}
	// One sweep had something to do, in each bucket; a beginning and an end each.
	if sweeps := count(t, w.Primary, layout.Sweeps); sweeps > 10 {
		t.Errorf("%d records of sweeps after 100 calls, of which one found something", sweeps)
	}
}

// Somebody who may write and has no key puts garbage where Tidemark's documents stand.
func TestGarbageStopsNeitherBackupNorExpiryForEver(t *testing.T) {
	t.Parallel()
	w := full(t)
	newest := listed(t, w)[4]
	huge := make([]byte, notice.MaxSize+1)
	for name, garbage := range map[string]struct {
		key     string
		content []byte
	}{
		"ASweep":           {layout.Sweep(1), []byte("garbage")},
		"TheEndOfASweep":   {layout.End(layout.Sweep(1)), []byte("garbage")},
		"ALargeSweep":      {layout.Sweep(1), huge},
		"TheLastSweep":     {layout.Sweep(9_999_999_999), []byte(`{"version":1,"number":"9999999999","actor":"","objects":[]}`)},
		"TheLargestNumber": {layout.Sweep(math.MaxInt64), []byte(`{"version":1,"number":"9223372036854775807","actor":"","objects":[]}`)},
		"AMark":            {layout.Keep(newest.Run, 1), []byte("garbage")},
		"ALargeMark":       {layout.Keep(newest.Run, 1), huge},
		"ARevocation":      {layout.Revocation(newest.Run), []byte("garbage")},
		"ALargeRevocation": {layout.Revocation(newest.Run), huge},
		"ARun":             {layout.Run(1, "22222222-0000-4000-8000-000000000001"), []byte("garbage")},
		"AnObject":         {layout.Object(manifest.DigestOf(nil)), []byte("garbage")},
		"AForeignKey":      {"keeps/readme.txt", huge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := full(t)
				put(t, w.Primary, garbage.key, garbage.content)
				c := w.MustWrite(t, writertest.Backup{Chunks: []string{"shared", "chunk 9"}})
				if c.Copies != 2 {
					t.Errorf("%d copies, want 2: %q", c.Copies, c.Warnings)
				}
				clean(t, w) // a sweep that cannot be read must end before the next one names anything
				clean(t, w)
				counts := writertest.Sound(t, w)
				if !counts[c.ID] {
					t.Error("the newest backup does not count")
				}
				// Two manifests, and a third where garbage marks it: their bodies and chunks, and what is shared.
				for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
					if objects := count(t, bucket, layout.Objects); objects > 2*len(counts)+2 {
						t.Errorf("%d objects are left for %d manifests", objects, len(counts))
					}
				}
			})
		})
	}
}

// Garbage that borrows the run of a good manifest must not make the good one's withdrawal the only way on.
func TestGarbageUnderAGoodRunDoesNotStopExpiry(t *testing.T) {
	t.Parallel()
	w := full(t)
	good := listed(t, w)[4]
	for _, seq := range []int64{1, 99} {
		put(t, w.Primary, layout.Manifest(layout.ID{Lineage: 1, Seq: seq, Run: good.Run}), []byte("garbage"))
	}
	if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
		t.Fatalf("%s: that run's manifest verifies, under its own number", fault.Line(err))
	}
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(err)
	}
	choice, err := h.Choose(t.Context(), history.Request{Run: good.Run})
	if err != nil || choice.Manifest.ID != good {
		t.Errorf("got %v, %v, want the run's own manifest", choice.Manifest.ID, err)
	}
}

// What a running backup has stored is nobody's garbage yet: naming it makes the next backup store it all again.
func TestSweepDoesNotNameWhatARunUnderWayHasJustStored(t *testing.T) {
	t.Parallel()
	w := full(t)
	run, err := writer.Begin(t.Context(), w.Options(t, w.Archive(t)), notice.Run{
		Lineage: 1, RunID: w.NextRun(), Seq: 6, Life: writertest.Life(1), Attempt: 1, Actor: "test", Tool: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Options(t, w.Archive(t)).Pack([]byte("being stored"))
	if err != nil {
		t.Fatal(err)
	}
	object, err := run.Store(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Commit(t.Context(), w.Body(0, orders(object))); err != nil {
		t.Fatal(err)
	}
	before := count(t, w.Primary, layout.Objects)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"being stored"}})
	if stored := count(t, w.Primary, layout.Objects) - before; stored != 1 {
		t.Errorf("the next backup stored %d objects, want its body alone", stored)
	}
}

// A locked statement stays, and the report does not say that it went.
func TestExpireSaysThatAStatementIsLocked(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	alone := w.Archive(t, w.Primary)
	o := w.Options(t, alone)
	o.Retain = 30 * 24 * time.Hour
	for _, chunk := range []string{"a", "b"} {
		if _, err := w.Write(t.Context(), o, writertest.Backup{Chunks: []string{chunk}}); err != nil {
			t.Fatal(err)
		}
	}
	report, err := keepOne(t.Context(), w, alone)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	first := listed(t, w)[0]
	if len(report.Locked) != 1 || report.Locked[0] != first {
		t.Errorf("got %v, want it said that %s is locked and stays", report.Locked, first)
	}
}

// The clocks of the two stores differ, by less and by more than the grace. What counts stays whole all the same.
func TestStoresWithDifferentClocks(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-26 * time.Hour, -time.Hour, time.Hour, 26 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := writertest.New(t)
				w.Secondary = archivetest.NewMemory(func() time.Time { return w.Now().Add(ahead) })
				var c writer.Committed
				for i := range 6 {
					c = w.MustWrite(t, writertest.Backup{Chunks: []string{"shared", string(rune('a' + i%2))}})
					if c.Copies != 2 {
						t.Errorf("%d copies: %q", c.Copies, c.Warnings)
					}
					w.Pass(13 * time.Hour)
					mustKeepOne(t, w)
					writertest.Sound(t, w)
				}
				w.Pass(expiry.Grace)
				mustKeepOne(t, w)
				if counts := writertest.Sound(t, w); len(counts) != 1 || !counts[c.ID] {
					t.Errorf("got %v, want the newest", counts)
				}
			})
		})
	}
}
