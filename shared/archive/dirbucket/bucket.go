// Package dirbucket keeps an archive's objects as files of one folder: the bucket of a single machine and of a mounted disk.
//
// An object appears under its key by link(2), whole and already on disk, so that no reader meets half of one and of two
// writers one wins, whatever processes they are in. What is being written has a name in the folder .partial~, which no key
// can have. Nothing is ever written through a symbolic link that leads out of the folder, and files that are no objects
// (names that are no keys, links, devices) are neither listed nor touched.
//
// It refuses a folder that is not there, at Open and later: a disk that is not mounted must not look like an empty archive. A
// key cannot be the folder of another. Folders stay when they become empty. The time of an object is its file's
// modification time, set by the file system's clock once the object can be seen. It keeps no checksums and has no locks. A
// Bucket may be used by several goroutines, and a folder by several processes.
package dirbucket

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// chunk is how much is written or read between two looks at the context.
const chunk = 1 << 20

// Bucket is a folder of objects.
type Bucket struct {
	dir  string // absolute
	root *os.Root

	durable sync.Map // folders that are known to be on disk, by name
	tidied  sync.Once
}

// Open opens the bucket in a folder, which must exist. It writes nothing.
func Open(dir string) (*Bucket, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "open the bucket in folder %q: %w", dir, err)
	}
	root, err := openFolder(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.Misconfigured, "open the bucket in folder %q: %w", dir, bare(err)).
			WithHint("mount it, or make the folder: it is never made here, so that a lost disk cannot pass for an empty archive")
	case err != nil:
		return nil, classed(err, "open the bucket in folder %q", dir)
	}
	return &Bucket{dir: absolute, root: root}, nil
}

// openFolder is os.OpenRoot, which does not say in a form to compare that a file is no folder.
func openFolder(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	return os.OpenRoot(dir)
}

// Close lets go of the folder.
func (b *Bucket) Close() error {
	if err := b.root.Close(); err != nil {
		return classed(err, "close the bucket in folder %q", b.dir)
	}
	return nil
}

// enter says whether a call may begin: its context is live and the folder is still where it was.
func (b *Bucket) enter(ctx context.Context, doing string) error {
	if err := ctx.Err(); err != nil {
		return fault.New(fault.Retryable, "%s: %w", doing, err)
	}
	inside, err := b.root.Stat(".")
	if err != nil {
		return classed(err, "%s", doing)
	}
	outside, err := os.Stat(b.dir)
	if errors.Is(err, fs.ErrPermission) {
		return classed(err, "%s", doing)
	}
	if err != nil || !os.SameFile(inside, outside) {
		return fault.New(fault.Retryable, "%s: the folder %q is not the one that was opened", doing, b.dir).
			WithHint("mount the disk again, or bring back the folder")
	}
	return nil
}

// find gives the file of an object. ErrNotFound when there is none, also where a folder has the name.
func (b *Bucket) find(key string) (fs.FileInfo, error) {
	info, err := b.root.Lstat(key)
	switch {
	case isAbsent(err), err == nil && info.IsDir():
		return nil, fault.New(fault.Retryable, "find %s: %w", key, archive.ErrNotFound)
	case err != nil:
		return nil, classed(err, "find %s", key)
	case !info.Mode().IsRegular():
		return nil, strange(key, info)
	}
	return info, nil
}

func strange(key string, info fs.FileInfo) error {
	return fault.New(fault.Misconfigured, "find %s: it is no regular file: %s", key, info.Mode().Type()).
		WithHint("something else wrote to the folder: take it away")
}

// Stat gives size and time. See archive.Bucket.
func (b *Bucket) Stat(ctx context.Context, key string) (archive.Info, error) {
	if err := archive.CheckKey(key); err != nil {
		return archive.Info{}, err
	}
	if err := b.enter(ctx, "look at "+key); err != nil {
		return archive.Info{}, err
	}
	info, err := b.find(key)
	if err != nil {
		return archive.Info{}, err
	}
	return infoOf(key, info), nil
}

func infoOf(key string, info fs.FileInfo) archive.Info {
	return archive.Info{Key: key, Size: info.Size(), StoredAt: info.ModTime().UTC().Truncate(time.Second)}
}

// Read gives content. See archive.Bucket.
func (b *Bucket) Read(ctx context.Context, key string, span archive.Span) ([]byte, error) {
	if err := errors.Join(archive.CheckKey(key), checkSpan(span)); err != nil {
		return nil, err
	}
	if err := b.enter(ctx, "read "+key); err != nil {
		return nil, err
	}
	if _, err := b.find(key); err != nil { // before it is opened, since opening a pipe would wait
		return nil, err
	}
	file, err := b.root.Open(key)
	if isAbsent(err) {
		return nil, fault.New(fault.Retryable, "open %s: %w", key, archive.ErrNotFound)
	}
	if err != nil {
		return nil, classed(err, "open %s", key)
	}
	content, err := readSpan(ctx, file, span)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, classed(err, "read %s", key)
	}
	return content, nil
}

func checkSpan(span archive.Span) error {
	if span.From < 0 || span.Length < 0 || span.Limit <= 0 {
		return fault.New(fault.Bug, "read %d bytes from %d on, at most %d: no such span", span.Length, span.From, span.Limit)
	}
	return nil
}

func readSpan(ctx context.Context, file *os.File, span archive.Span) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	length := max(info.Size()-span.From, 0)
	if span.Length > 0 {
		length = min(length, span.Length)
	}
	if length > span.Limit {
		return nil, fault.New(fault.Corrupt, "%d bytes, at most %d: %w", length, span.Limit, archive.ErrTooLarge)
	}
	content := make([]byte, length)
	for done := int64(0); done < length; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := file.ReadAt(content[done:min(done+chunk, length)], span.From+done)
		done += int64(n)
		if errors.Is(err, io.EOF) && done < length {
			return nil, fault.New(fault.Corrupt, "it ends after %d of %d bytes: %w", span.From+done, info.Size(), io.ErrUnexpectedEOF)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return content, nil
}

// Delete removes an object, and returns once that is on disk. See archive.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := archive.CheckKey(key); err != nil {
		return err
	}
	if err := b.enter(ctx, "delete "+key); err != nil {
		return err
	}
	if _, err := b.find(key); err != nil { // a folder that is empty would go too
		if errors.Is(err, archive.ErrNotFound) {
			return nil
		}
		return err
	}
	if err := b.root.Remove(key); err != nil && !isAbsent(err) {
		return classed(err, "delete %s", key)
	}
	if err := b.syncFolder(folderOf(key)); err != nil {
		return classed(err, "bring the deletion of %s to disk", key)
	}
	return nil
}
