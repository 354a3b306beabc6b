package archivetest

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// Memory is a bucket that keeps everything in memory, with checksums and locks, under a clock that the test moves. Safe for
// concurrent use.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	objects map[string]object
}

type object struct {
	content     []byte
	info        archive.Info
	lockedUntil time.Time
}

// NewMemory returns an empty bucket whose store has this clock. Times are cut to seconds, as stores do.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, objects: map[string]object{}}
}

// Clone is a bucket with the same content, locks and times, under another clock.
func (m *Memory) Clone(now func() time.Time) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{now: now, objects: maps.Clone(m.objects)} // content is never changed in place
}

// begin says whether a call with that key may begin.
func begin(ctx context.Context, method, key string) error {
	if err := archive.CheckKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fault.New(fault.Retryable, "%s %s: %w", method, key, err)
	}
	return nil
}

// Create stores a copy. See archive.Bucket.
func (m *Memory) Create(ctx context.Context, key string, content []byte) error {
	if err := begin(ctx, "create", key); err != nil {
		return err
	}
	info := archive.Info{Key: key, Size: int64(len(content)), Checksum: manifest.DigestOf(content)}
	content = bytes.Clone(content)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.objects[key]; taken {
		return fault.New(fault.Fenced, "create %s: %w", key, archive.ErrExists)
	}
	info.StoredAt = m.now().UTC().Truncate(time.Second)
	m.objects[key] = object{content: content, info: info}
	return nil
}

// find gives an object. ErrNotFound when there is none. The caller holds the lock.
func (m *Memory) find(method, key string) (object, error) {
	found, ok := m.objects[key]
	if !ok {
		return object{}, fault.New(fault.Retryable, "%s %s: %w", method, key, archive.ErrNotFound)
	}
	return found, nil
}

// Read gives a copy. See archive.Bucket.
func (m *Memory) Read(ctx context.Context, key string, span archive.Span) ([]byte, error) {
	if err := begin(ctx, "read", key); err != nil {
		return nil, err
	}
	if span.From < 0 || span.Length < 0 || span.Limit <= 0 {
		return nil, fault.New(fault.Bug, "read %s: %+v is no span", key, span)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found, err := m.find("read", key)
	if err != nil {
		return nil, err
	}
	part := found.content[min(span.From, found.info.Size):]
	if span.Length > 0 {
		part = part[:min(span.Length, int64(len(part)))]
	}
	if int64(len(part)) > span.Limit {
		return nil, fault.New(fault.Corrupt, "read %s: %d bytes, at most %d: %w", key, len(part), span.Limit, archive.ErrTooLarge)
	}
	return bytes.Clone(part), nil
}

// Stat gives size, time and checksum. See archive.Bucket.
func (m *Memory) Stat(ctx context.Context, key string) (archive.Info, error) {
	if err := begin(ctx, "stat", key); err != nil {
		return archive.Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found, err := m.find("stat", key)
	return found.info, err
}

// List gives what there was when the listing began and still is when its turn comes. See archive.Bucket.
func (m *Memory) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		m.mu.Lock()
		keys := slices.Sorted(maps.Keys(m.objects))
		m.mu.Unlock()
		if err := ctx.Err(); err != nil {
			yield(archive.Info{}, fault.New(fault.Retryable, "list %s: %w", prefix, err))
			return
		}
		for _, key := range keys {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			info, err := m.Stat(ctx, key)
			switch {
			case ctx.Err() != nil:
				yield(archive.Info{}, err)
				return
			case err != nil: // deleted since
				continue
			}
			info.Checksum = "" // as in the listings of stores
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Delete removes an object that is not locked. See archive.Bucket.
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := begin(ctx, "delete", key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if until := m.objects[key].lockedUntil; m.now().Before(until) {
		return fault.New(fault.Retryable, "delete %s: until %s %w", key, until.UTC().Format(time.RFC3339), archive.ErrLocked)
	}
	delete(m.objects, key)
	return nil
}

// Retain locks an object. See archive.Retainer.
func (m *Memory) Retain(ctx context.Context, key string, until time.Time) error {
	if err := begin(ctx, "lock", key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found, err := m.find("lock", key)
	if err != nil {
		return err
	}
	if until.After(found.lockedUntil) {
		found.lockedUntil = until
		m.objects[key] = found
	}
	return nil
}
