package expiry_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/expiry"
	"tidemark/shared/expiry/policy"
	"tidemark/shared/manifest"
)

// object is the nth object that nobody stored. Expiry reads of it in the bodies.
func object(n int) manifest.Object {
	sum := sha256.Sum256(fmt.Append(nil, n))
	digest := manifest.Digest(hex.EncodeToString(sum[:]))
	return manifest.Object{Digest: digest, Size: int64(n + 1), Plain: digest, PlainSize: int64(n + 1)}
}

// growing is an archive of manifests with so many objects each, of which each manifest replaces one in a hundred.
func growing(tb testing.TB, manifests, objects int) (*writertest.World, *archive.Archive) {
	tb.Helper()
	w := writertest.New(tb)
	alone := w.Archive(tb, w.Primary)
	next := objects
	held := make([]manifest.Object, objects)
	for i := range held {
		held[i] = object(i)
	}
	for seq := range manifests {
		run, err := writer.Begin(tb.Context(), w.Options(tb, alone), notice.Run{
			Lineage: 1, RunID: w.NextRun(), Seq: int64(seq + 1), Life: writertest.Life(1), Attempt: 1, Actor: "test", Tool: "test",
		})
		if err != nil {
			tb.Fatal(err)
		}
		for i := range objects / 100 {
			held[(seq*objects/100+i)%objects], next = object(next), next+1
		}
		if _, err := run.Commit(tb.Context(), w.Body(0, orders(held...))); err != nil {
			tb.Fatal(err)
		}
	}
	return w, alone
}

// heldAtTheEnd is how many bytes an expiry holds when it has read the last of so many manifests.
func heldAtTheEnd(tb testing.TB, w *writertest.World, a *archive.Archive, manifests int) uint64 {
	tb.Helper()
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	o := expiry.Options{Archive: a, Policy: policy.Policy{KeepLast: 2, MinVerified: 1}, Actor: "test", Now: w.Now}
	_, _ = expiry.Run(tb.Context(), o, false) // what unpacks has its memory from then on
	before, most, seen := live(), uint64(0), 0
	o.Replay = func(context.Context, history.Manifest) policy.ReplayState {
		if seen++; seen == manifests {
			most = live() - before
		}
		return policy.Unknown
	}
	_, _ = expiry.Run(tb.Context(), o, false) // that objects are missing is what it finds
	return most
}

// An expiry of thousands of manifests with thousands of objects must fit into memory: what they share is held once. This test
// is not parallel, so that nobody else allocates meanwhile.
func TestExpireHoldsOnceWhatManifestsShare(t *testing.T) {
	const manifests, objects, most = 40, 1000, 19 // bytes for each time that a manifest names an object
	w, a := growing(t, manifests, objects)
	if got := heldAtTheEnd(t, w, a, manifests) / (manifests * objects); got > most {
		t.Errorf("%d bytes are held for each time that a manifest names an object, want at most %d", got, most)
	}
}

func BenchmarkExpireMemory(b *testing.B) {
	const manifests, objects = 1000, 2000
	w, a := growing(b, manifests, objects)
	for b.Loop() {
		b.ReportMetric(float64(heldAtTheEnd(b, w, a, manifests))/(1<<20), "MB")
	}
}
