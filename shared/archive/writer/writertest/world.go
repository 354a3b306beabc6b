// Package writertest gives tests an archive of two buckets in memory, a clock that they move, and backups to put there.
//
// It owns small, believable manifests: a table cut into chunks whose bytes the test names, a cut that grows. It refuses real
// stores and real time.
package writertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/signing"
)

// Target is whose archive it is.
const Target = position.TargetID("test-target")

// World is an archive of two buckets under one clock.
type World struct {
	Primary, Secondary *archivetest.Memory
	Key                Key

	mu     sync.Mutex
	now    time.Time
	runs   int
	packer *packer
}

// packer is a packer for one at a time.
type packer struct {
	mu sync.Mutex
	*packing.Packer
}

// New makes an empty world with one trusted key.
func New(tb testing.TB) *World {
	tb.Helper()
	w := &World{now: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), Key: NewKey(tb, 1)}
	made, err := packing.NewPacker(packing.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	w.packer = &packer{Packer: made}
	w.Primary, w.Secondary = archivetest.NewMemory(w.Now), archivetest.NewMemory(w.Now)
	return w
}

// Fork is a world of its own that begins where this one is.
func (w *World) Fork() *World {
	w.mu.Lock()
	defer w.mu.Unlock()
	fork := &World{Key: w.Key, now: w.now, runs: w.runs, packer: w.packer}
	fork.Primary, fork.Secondary = w.Primary.Clone(fork.Now), w.Secondary.Clone(fork.Now)
	return fork
}

// Now is the world's time.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pass moves the clock on.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// Archive is the world's archive seen through these buckets; without any, through its own two.
func (w *World) Archive(tb testing.TB, buckets ...archive.Bucket) *archive.Archive {
	tb.Helper()
	if len(buckets) == 0 {
		buckets = []archive.Bucket{w.Primary, w.Secondary}
	}
	unpacker, err := packing.NewUnpacker(nil)
	if err != nil {
		tb.Fatal(err)
	}
	a := &archive.Archive{
		Target: Target, Trusted: signing.Keyring{{Key: w.Key.Key()}}, Unpack: unpacker.Unpack,
	}
	for i, bucket := range buckets {
		a.Places = append(a.Places, archive.Place{Name: []string{"primary", "secondary"}[i], Bucket: bucket})
	}
	return a
}

// Options are a writer's on an archive.
func (w *World) Options(tb testing.TB, a *archive.Archive) writer.Options {
	tb.Helper()
	return writer.Options{Archive: a, Signers: []signing.Signer{w.Key}, Now: w.Now, Pack: w.pack}
}

// pack packs with the one packer of the world, whose memory is as large as that of a real one.
func (w *World) pack(plain []byte) (packing.Packed, error) {
	w.packer.mu.Lock()
	defer w.packer.mu.Unlock()
	packed, err := w.packer.Pack(plain)
	own := slices.Clone(packed.Stored)
	w.packer.Reclaim(packed.Stored)
	packed.Stored = own
	return packed, err
}

// Life is the nth life's incarnation.
func Life(lineage position.Lineage) position.Incarnation {
	return position.Incarnation(fmt.Sprintf("00000000-0000-4000-8000-%012d", lineage))
}

// NextRun is a run id that none was yet.
func (w *World) NextRun() manifest.RunID {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs++
	return manifest.RunID(fmt.Sprintf("11111111-0000-4000-8000-%012d", w.runs))
}

// Backup is what a test backs up: a table whose chunks have these plain bytes.
type Backup struct {
	Lineage position.Lineage // 0: the first
	Chunks  []string
	Next    position.Offset // of the one partition
}

// Write does what a backup does, from the listing to the end of the run.
func (w *World) Write(ctx context.Context, options writer.Options, b Backup) (writer.Committed, error) {
	b.Lineage = max(b.Lineage, 1)
	h, err := history.Read(ctx, options.Archive)
	if err != nil {
		return writer.Committed{}, err
	}
	seq, _, err := h.Newest(ctx, b.Lineage)
	if err != nil {
		return writer.Committed{}, err
	}
	run, err := writer.Begin(ctx, options, notice.Run{
		Lineage: b.Lineage, RunID: w.NextRun(), Seq: seq + 1, Life: Life(b.Lineage), Attempt: 1, Actor: "test", Tool: "test",
	})
	if err != nil {
		return writer.Committed{}, err
	}
	table, err := w.store(ctx, run, options, b, newest(ctx, h))
	if err != nil {
		return writer.Committed{}, err
	}
	return run.Commit(ctx, w.Body(b.Next, table))
}

// Body is what a backup says beside what its writer adds.
func (w *World) Body(next position.Offset, tables ...body.Table) body.Body {
	return body.Body{
		Snapshot: body.Snapshot{
			SystemIdentifier: "7000000000000000001", Database: "shop", ServerVersion: 150018, Encoding: "UTF8", LedgerSchema: "tidemark",
			LedgerVersion: 2, LSN: "0/16B3748", Taken: w.Now(),
		},
		Cut:  body.Cut{{Flow: "shop", Topic: "orders", NextOffset: next, Generation: 1}},
		Gaps: []body.Gap{}, Definitions: []body.Definition{}, Tables: append([]body.Table{}, tables...), Sequences: []body.Sequence{},
		Uncaptured: []string{}, Warnings: []string{},
	}
}

// newest is the body of the newest manifest that can be used, an empty one without.
func newest(ctx context.Context, h *history.History) body.Body {
	choice, err := h.Choose(ctx, history.Request{})
	if err != nil {
		return body.Body{}
	}
	return choice.Body
}

// store stores the chunks that the manifest before does not have.
func (w *World) store(ctx context.Context, run *writer.Run, o writer.Options, b Backup, before body.Body) (body.Table, error) {
	table := body.Table{
		Name: body.Name{Schema: "public", Name: "orders"}, Columns: []body.Column{{Name: "id", Type: "text", OID: 25}},
		Key: []string{}, Chunks: []body.Chunk{},
	}
	had := map[manifest.Digest]manifest.Object{}
	for _, object := range before.Objects() {
		had[object.Plain] = object
	}
	for _, plain := range b.Chunks {
		object, known := had[manifest.DigestOf([]byte(plain))]
		if known {
			reusable, err := run.Reuse(ctx, object)
			if err != nil {
				return table, err
			}
			known = reusable
		}
		if !known {
			packed, err := o.Pack([]byte(plain))
			if err != nil {
				return table, err
			}
			if object, err = run.Store(ctx, packed); err != nil {
				return table, err
			}
		}
		table.Chunks, table.Rows = append(table.Chunks, body.Chunk{Rows: 1, Object: object}), table.Rows+1
	}
	return table, nil
}

// MustWrite writes a backup to the world's own buckets.
func (w *World) MustWrite(t *testing.T, b Backup) writer.Committed {
	t.Helper()
	c, err := w.Write(t.Context(), w.Options(t, w.Archive(t)), b)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return c
}

// Key is a signing key that a test makes from a number. It is on P-256: under the race detector that verifies ten times as
// fast as Ed25519, which is written in Go.
type Key struct {
	private *ecdsa.PrivateKey
	public  signing.PublicKey
}

// NewKey makes the nth key.
func NewKey(tb testing.TB, n byte) Key {
	tb.Helper()
	scalar := make([]byte, 32)
	scalar[31] = n
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		tb.Fatal(err)
	}
	public, err := signing.NewPublicKey(private.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return Key{private, public}
}

// Key is the public half.
func (k Key) Key() signing.PublicKey { return k.public }

// Sign signs.
func (k Key) Sign(_ context.Context, message []byte) ([]byte, error) {
	sum := sha256.Sum256(message)
	return ecdsa.SignASN1(rand.Reader, k.private, sum[:])
}
