package s3api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// Bucket is one bucket seen from a prefix.
type Bucket struct {
	objects  Objects
	locks    Locks
	settings Settings
	options  Options
	prefix   string // empty, or with a slash at its end

	mu       sync.Mutex
	lockable *bool // what the store said of object lock; nil before it was asked
}

var (
	_ archive.Bucket    = (*Bucket)(nil)
	_ archive.Retainer  = (*Bucket)(nil)
	_ archive.Describer = (*Bucket)(nil)
)

// New makes a bucket of a client's three parts. Options must be Checked.
func New(objects Objects, locks Locks, settings Settings, options Options) *Bucket {
	b := &Bucket{objects: objects, locks: locks, settings: settings, options: options}
	if options.Prefix != "" {
		b.prefix = options.Prefix + "/"
	}
	return b
}

// Create stores content under a key that has none. See archive.Bucket.
func (b *Bucket) Create(ctx context.Context, key string, content []byte) error {
	if err := archive.CheckKey(key); err != nil {
		return err
	}
	ctx, cancel := b.within(ctx)
	defer cancel()
	if err := b.objects.Put(ctx, b.prefix+key, Upload{Content: content, Sum: sha256.Sum256(content)}); err != nil {
		return explainCreate("create "+key, err)
	}
	return nil
}

// within bounds a call, so that a store that is there and does nothing cannot hold its caller for ever.
func (b *Bucket) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, b.options.Timeout)
}

// Stat gives what the store knows of a key. See archive.Bucket.
func (b *Bucket) Stat(ctx context.Context, key string) (archive.Info, error) {
	if err := archive.CheckKey(key); err != nil {
		return archive.Info{}, err
	}
	ctx, cancel := b.within(ctx)
	defer cancel()
	info, err := b.objects.Head(ctx, b.prefix+key)
	if err != nil {
		return archive.Info{}, explain("look at "+key, b.reason(ctx, key, err))
	}
	info.Key = key
	return info, nil
}

// reason finds out why a HEAD was refused. Its answer has no body and so no code, and "not found" may be said of the key,
// of the bucket or by a proxy that knows neither. A GET of one byte says which.
func (b *Bucket) reason(ctx context.Context, key string, refused error) error {
	refusal, ok := errors.AsType[*AnswerError](refused)
	if !ok {
		return refused
	}
	download, err := b.objects.Get(ctx, b.prefix+key, "bytes=0-0")
	if err == nil {
		_ = download.Close() // it was not for its content
	} else if !isPastEnd(err) {
		return err
	}
	if refusal.Status == http.StatusNotFound { // it came in between, so the bucket is there, and the key was not
		refusal = &AnswerError{Status: refusal.Status, Code: "NoSuchKey", Err: refused}
	}
	return refusal
}

// isPastEnd says whether a span began behind the object's last byte.
func isPastEnd(err error) bool {
	refusal, ok := errors.AsType[*AnswerError](err)
	return ok && (refusal.Status == http.StatusRequestedRangeNotSatisfiable || refusal.Code == "InvalidRange")
}

// List gives the keys that begin with prefix. See archive.Bucket. What is not a key of an archive, such as the placeholders
// of folders that consoles make, is not ours to see.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	if !beginsKeys(prefix) {
		return func(func(archive.Info, error) bool) {} // stores refuse some of these
	}
	return func(yield func(archive.Info, error) bool) { b.list(ctx, prefix, yield) }
}

func (b *Bucket) list(ctx context.Context, prefix string, yield func(archive.Info, error) bool) {
	last := ""
	for info, err := range b.objects.List(ctx, b.prefix+askable(prefix)) {
		if err == nil && !b.isOurs(info.Key, prefix) {
			continue
		}
		if err == nil {
			info.Key = strings.TrimPrefix(info.Key, b.prefix)
			err = inOrder(last, info.Key)
		}
		if err != nil {
			yield(archive.Info{}, explain("list "+strconv.Quote(prefix), err))
			return
		}
		if last = info.Key; !yield(info, nil) {
			return
		}
	}
}

// isOurs says whether a listed object is one of the archive's under prefix.
func (b *Bucket) isOurs(whole, prefix string) bool {
	key, inside := strings.CutPrefix(whole, b.prefix)
	return inside && strings.HasPrefix(key, prefix) && archive.CheckKey(key) == nil
}

// beginsKeys says whether a key can begin with prefix: it is one, or one with another letter is.
func beginsKeys(prefix string) bool {
	return archive.CheckKey(prefix) == nil || archive.CheckKey(prefix+"x") == nil
}

// askable is the part of a prefix that every store takes: some refuse the names "." and ".." also where only the beginning
// of a name is meant.
func askable(prefix string) string {
	folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
	if name := prefix[len(folder):]; name == "." || name == ".." {
		return folder
	}
	return prefix
}

// inOrder refuses a key that does not follow the one before it.
func inOrder(last, key string) error {
	if key > last {
		return nil
	}
	return fault.New(fault.Misconfigured, "the store gives %s after %s", key, last).
		WithHint("this kind of bucket does not list in the order of keys, so nothing can be found in it: use another")
}

// Read gives the content of a key, or a span of it. See archive.Bucket.
func (b *Bucket) Read(ctx context.Context, key string, span archive.Span) ([]byte, error) {
	act := "read " + key
	if err := archive.CheckKey(key); err != nil {
		return nil, err
	}
	if span.From < 0 || span.Length < 0 || span.Limit < 1 {
		return nil, fault.New(fault.Bug, "%s: a span from %d, of %d bytes, at most %d", act, span.From, span.Length, span.Limit)
	}
	ctx, cancel := b.within(ctx)
	defer cancel()
	download, err := b.objects.Get(ctx, b.prefix+key, rangeOf(span))
	switch {
	case isPastEnd(err):
		return []byte{}, nil
	case err != nil:
		return nil, explain(act, err)
	}
	defer func() { _ = download.Close() }() // everything that was wanted is read
	content, err := receive(download, span)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", act, err)
	}
	return content, nil
}

// rangeOf is the header that asks for a span, empty for the whole object: an empty one has no first byte to ask for.
func rangeOf(span archive.Span) string {
	switch {
	case span.Length > 0:
		return fmt.Sprintf("bytes=%d-%d", span.From, span.From+span.Length-1)
	case span.From > 0:
		return fmt.Sprintf("bytes=%d-", span.From)
	}
	return ""
}

// receive reads a download that is no longer than the span allows.
func receive(download Download, span archive.Span) ([]byte, error) {
	if rangeOf(span) != "" && !strings.HasPrefix(download.Range, fmt.Sprintf("bytes %d-", span.From)) ||
		span.Length > 0 && download.Length > span.Length {
		return nil, fault.New(fault.Misconfigured, "asked for %s, the store gives %d bytes as %q", rangeOf(span), download.Length,
			download.Range).WithHint(hintFeature)
	}
	if download.Length > span.Limit {
		return nil, tooLarge(download.Length, span.Limit)
	}
	content, err := io.ReadAll(io.LimitReader(download, span.Limit+1))
	switch {
	case err != nil:
		return nil, fault.New(fault.Retryable, "the content broke off after %d of %d bytes: %w", len(content), download.Length, err)
	case int64(len(content)) > span.Limit:
		return nil, tooLarge(int64(len(content)), span.Limit)
	case download.Length >= 0 && int64(len(content)) != download.Length:
		return nil, fault.New(fault.Retryable, "the content ended after %d of %d bytes: %w", len(content), download.Length,
			io.ErrUnexpectedEOF)
	}
	return content, nil
}

func tooLarge(found, allowed int64) error {
	return fault.New(fault.Corrupt, "%d bytes where at most %d may be: %w", found, allowed, archive.ErrTooLarge)
}
