// Package archivetest owns the conformance suite of buckets, and the bucket in memory that stands in for a store. The one that
// breaks as told is in package faulty.
//
// Every adapter runs Exercise, against the service that it speaks to; one for buckets with object lock or with versions runs
// ExerciseRetention or ExerciseVersioned too. Where the contract leaves a choice the suite decides it, and its comments say
// how: Span.Limit bounds what is returned and not the object, a span from the end on is empty and no error, a prefix that no
// key begins with lists nothing. It does not ask for a key that is the folder of another, which no folder could keep.
package archivetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// patience bounds what a test waits for. Nothing that works takes as long.
const patience = 2 * time.Minute

// Option is what a bucket promises beyond the least that the contract asks.
type Option uint8

// The options.
const (
	KeepsChecksums Option = iota + 1 // Stat gives the checksum of every object
)

type exercise struct {
	name string
	run  func(*bench)
}

// Exercise holds a bucket to the contract of archive.Bucket. open gives one that is empty, for a test alone.
func Exercise(t *testing.T, open func(t *testing.T) archive.Bucket, options ...Option) {
	t.Helper()
	run(t, open, slices.Concat(writes(), reads(), listings(), names(), interruptions()), options)
}

func run(t *testing.T, open func(t *testing.T) archive.Bucket, exercises []exercise, options []Option) {
	t.Helper()
	for _, e := range exercises {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			e.run(&bench{T: t, Bucket: open(t), checksums: slices.Contains(options, KeepsChecksums)})
		})
	}
}

// bench is a bucket under test and what an exercise asks of it again and again.
type bench struct {
	*testing.T
	archive.Bucket

	checksums bool
}

// context ends when the test's patience does.
func (b *bench) context() context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	b.Cleanup(cancel)
	return ctx
}

// whole is the span of any object that the suite keeps.
func whole() archive.Span { return archive.Span{Limit: 1 << 30} }

func (b *bench) mustCreate(key string, content []byte) {
	b.Helper()
	if err := b.Create(b.context(), key, content); err != nil {
		b.Fatalf("create %.60s: %v", key, err)
	}
}

func (b *bench) mustDelete(key string) {
	b.Helper()
	if err := b.Delete(b.context(), key); err != nil {
		b.Fatalf("delete %.60s: %v", key, err)
	}
}

// mustHold checks that a key has exactly this content, and that Stat knows of it.
func (b *bench) mustHold(key string, content []byte) {
	b.Helper()
	got, err := b.Read(b.context(), key, whole())
	if err != nil || !bytes.Equal(got, content) {
		b.Errorf("read %.60s: got %s, %v, want %s", key, brief(got), err, brief(content))
	}
	info, err := b.Stat(b.context(), key)
	if err != nil {
		b.Errorf("stat %.60s: %v", key, err)
		return
	}
	b.checkInfo(info, key, content)
	if b.checksums && info.Checksum == "" {
		b.Errorf("stat %.60s: got no checksum", key)
	}
}

// checkInfo checks what Stat or List said of an object.
func (b *bench) checkInfo(info archive.Info, key string, content []byte) {
	b.Helper()
	if info.Key != key || info.Size != int64(len(content)) || info.StoredAt.IsZero() {
		b.Errorf("got key %.60s, %d bytes, stored at %s, want %.60s, %d bytes and a time", info.Key, info.Size, info.StoredAt,
			key, len(content))
	}
	if info.Checksum != "" && info.Checksum != manifest.DigestOf(content) {
		b.Errorf("%.60s: got checksum %s, want none or %s", key, info.Checksum, manifest.DigestOf(content))
	}
}

// mustLack checks that a key is nowhere to be seen.
func (b *bench) mustLack(key string) {
	b.Helper()
	_, err := b.Stat(b.context(), key)
	b.mustRefuse(err, archive.ErrNotFound)
	_, err = b.Read(b.context(), key, whole())
	b.mustRefuse(err, archive.ErrNotFound)
	_, err = b.Read(b.context(), key, archive.Span{From: 1, Length: 1, Limit: 1})
	b.mustRefuse(err, archive.ErrNotFound)
	if keys := b.mustList(key); slices.Contains(keys, key) {
		b.Errorf("list %.60s: it is there", key)
	}
}

// mustList gives the keys under a prefix.
func (b *bench) mustList(prefix string) []string {
	b.Helper()
	var keys []string
	for info, err := range b.List(b.context(), prefix) {
		if err != nil {
			b.Fatalf("list %.60q: %v", prefix, err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// mustRefuse checks that an error is one of archive's, with a class. What says that a key is taken or missing has none of
// the classes at which archive.Put stops: it reads back after the one and tries again after the other.
func (b *bench) mustRefuse(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Errorf("got error %v, want %q in it", err, want)
		return
	}
	class := fault.ClassOf(err)
	asked := errors.Is(want, archive.ErrExists) || errors.Is(want, archive.ErrNotFound)
	if class == fault.Unclassified || asked && (class == fault.Misconfigured || class == fault.Bug) {
		b.Errorf("got class %s with %v", class, err)
	}
}

// mustBeCancelled checks the error of a call whose context was cancelled.
func (b *bench) mustBeCancelled(err error, classes ...fault.Class) {
	b.Helper()
	if !errors.Is(err, context.Canceled) || !slices.Contains(classes, fault.ClassOf(err)) {
		b.Errorf("got error %v of class %s, want %q with a class of %v", err, fault.ClassOf(err), context.Canceled, classes)
	}
}

// many runs work for 0 to n-1, a few at a time.
func many(n, atOnce int, work func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		group.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}

// brief shows content that may be long.
func brief(content []byte) string { return fmt.Sprintf("%d bytes %.40q", len(content), content) }
