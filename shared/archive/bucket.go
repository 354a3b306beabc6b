package archive

import (
	"context"
	"errors"
	"iter"
	"time"

	"tidemark/shared/manifest"
)

// Bucket is one object store, seen from one prefix of it: keys are relative to that prefix.
//
// Keys are what CheckKey takes; others are fault.Bug. Methods are one try each as far as the caller can see: an adapter may repeat what is safe to
// repeat, and never a Create. Safe for concurrent use. Every error has a class, and wraps one of the errors below where it
// fits: fault.Misconfigured for ErrDenied, fault.UnknownOutcome for a Create whose reply was lost, fault.Retryable for
// what waiting may mend.
type Bucket interface {
	// Create stores content under a key that has none. Success means durable. ErrExists when the key has content, equal or
	// not; ErrConflict when another writer of the same key was in the way and nothing landed. Any other error proves
	// nothing about the key unless it is Misconfigured.
	Create(ctx context.Context, key string, content []byte) error
	// Read gives the content of a key, or a span of it. ErrNotFound when there is none; ErrTooLarge, before anything is
	// read, when it is longer than span allows.
	Read(ctx context.Context, key string, span Span) ([]byte, error)
	// Stat gives what the store knows of a key. ErrNotFound when there is none.
	Stat(ctx context.Context, key string) (Info, error)
	// List gives the keys that begin with prefix, in ascending order of their bytes, each once. A key whose newest version
	// is a delete marker is not there.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes a key. One that is not there is no error. ErrLocked when retention forbids it.
	Delete(ctx context.Context, key string) error
}

// Span is a part of an object, from an offset on.
type Span struct {
	From int64
	// Length is how many bytes are wanted; fewer come where the object ends, none from its end on. 0: all the rest, which must be at most Limit.
	Length int64
	// Limit is the most that is given. It must be above 0.
	Limit int64
}

// Info is what a store knows of an object without its content.
type Info struct {
	Key      string
	Size     int64
	StoredAt time.Time // by the store's clock, at most of second precision
	// Checksum is the SHA-256 that the store computed or checked when it took the object; zero where it keeps none, and in
	// listings.
	Checksum manifest.Digest
}

// Errors of buckets. They are compared with errors.Is.
var (
	ErrNotFound = errors.New("no such object")
	ErrExists   = errors.New("the object exists")
	ErrConflict = errors.New("another write of the object was in the way")
	ErrTooLarge = errors.New("the object is larger than it may be")
	ErrLocked   = errors.New("the object is locked")
	ErrDenied   = errors.New("the store denies access")
)

// Retainer is a bucket whose objects can be locked against deletion.
type Retainer interface {
	// Retain locks an object until a time; a later lock that it has already stays.
	Retain(ctx context.Context, key string, until time.Time) error
}
