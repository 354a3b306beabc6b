package dirbucket

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

const (
	// partials is the folder of what is being written. The tilde keeps it apart from every key.
	partials = ".partial~"
	// abandoned is how old a partial file is that no living writer needs: a run ends within 12 hours.
	abandoned = 24 * time.Hour
	// linkTries bounds how often folders are made that somebody removes meanwhile.
	linkTries = 3
)

// Create stores an object, on disk when it returns. See archive.Bucket.
//
// The order decides: content, on disk, then the name, on disk. A process that dies leaves a partial file at most, and one
// that sleeps for a day finds its partial file removed and creates nothing.
func (b *Bucket) Create(ctx context.Context, key string, content []byte) (err error) {
	if err := archive.CheckKey(key); err != nil {
		return err
	}
	if err := b.enter(ctx, "create "+key); err != nil {
		return err
	}
	if _, err := b.find(key); !errors.Is(err, archive.ErrNotFound) { // spares the writing; link decides
		if err == nil {
			err = b.exists(key)
		}
		return err
	}
	partial := partials + "/" + rand.Text()
	file, err := b.begin(partial)
	if err != nil {
		return classed(err, "create %s", key)
	}
	defer func() {
		// The outcome is decided. A name that stays here is removed with the abandoned ones.
		_ = file.Close()
		_ = b.root.Remove(partial)
	}()
	b.tidied.Do(func() { b.tidy(file) })
	if err := fill(ctx, file, content); err != nil {
		return classed(err, "create %s", key)
	}
	return b.publish(file, partial, key)
}

// begin makes a partial file, and the folder of them.
func (b *Bucket) begin(partial string) (*os.File, error) {
	if err := b.root.Mkdir(partials, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return b.root.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// fill brings content to disk.
func fill(ctx context.Context, file *os.File, content []byte) error {
	for len(content) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := file.Write(content[:min(chunk, len(content))])
		if err != nil {
			return err
		}
		content = content[n:]
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return ctx.Err()
}

// publish gives a partial file its key. Before link the object is not there, after it the object is whole.
func (b *Bucket) publish(file *os.File, partial, key string) error {
	err := b.link(partial, key)
	if err != nil && (!errors.Is(err, fs.ErrExist) || !b.isOurs(file, key)) {
		return b.unlinked(key, err)
	}
	// A writer that slept before link would show an object of long ago, and the sweep trusts the time. Cutting the file to
	// the length that it has sets its time to now, by the clock of the file system.
	info, err := file.Stat()
	if err == nil {
		err = file.Truncate(info.Size())
	}
	if err = errors.Join(err, b.syncFolder(folderOf(key))); err != nil {
		return fault.New(fault.UnknownOutcome, "bring %s to disk: %w", key, bare(err))
	}
	return nil
}

// link makes the folders of a key and links it to the partial file.
func (b *Bucket) link(partial, key string) (err error) {
	for range linkTries {
		if err = b.makeFolder(folderOf(key)); err != nil {
			return err
		}
		if err = b.root.Link(partial, key); !isAbsent(err) {
			return err
		}
		b.durable.Clear()
	}
	return err
}

// isOurs says whether a name that exists is the one that this writer made: a network file system whose reply was lost
// repeats the request and reports its own work as somebody else's.
func (b *Bucket) isOurs(file *os.File, key string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	found, err := b.root.Lstat(key)
	return err == nil && os.SameFile(ours, found)
}

// unlinked says why a partial file did not become an object.
func (b *Bucket) unlinked(key string, err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return b.taken(key)
	case errors.Is(err, syscall.ENOTDIR):
		return inTheWay(key)
	case isAbsent(err):
		return fault.New(fault.Retryable, "create %s: the partial file is gone: %w", key, bare(err)).
			WithHint("this writer stood still for a day, or somebody cleans the folder %q", b.dir)
	}
	if _, linking := errors.AsType[*os.LinkError](err); linking && cannotLink(err) {
		return fault.New(fault.Misconfigured, "create %s: %w", key, bare(err)).
			WithHint("the folder %q must be one file system, and one with hard links", b.dir)
	}
	return classed(err, "create %s", key)
}

func cannotLink(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EXDEV) || errors.Is(err, errors.ErrUnsupported)
}

// taken says what has the name of a key.
func (b *Bucket) taken(key string) error {
	info, err := b.root.Lstat(key)
	switch {
	case isAbsent(err): // deleted since
		return fault.New(fault.Retryable, "create %s: %w", key, archive.ErrConflict)
	case err != nil:
		return classed(err, "create %s", key)
	case info.IsDir():
		return inTheWay(key)
	case !info.Mode().IsRegular():
		return strange(key, info)
	}
	return b.exists(key)
}

func inTheWay(key string) error {
	return fault.New(fault.Misconfigured, "create %s: a file and a folder cannot have one name", key).
		WithHint("something else wrote to the folder: take it away")
}

// exists says that a key is taken, once that is true after a power cut too: the writer of the object may not have come as
// far, and the caller will count on it.
func (b *Bucket) exists(key string) error {
	if err := b.makeFolder(folderOf(key)); err != nil {
		return classed(err, "create %s", key)
	}
	if err := b.syncFolder(folderOf(key)); err != nil {
		return classed(err, "bring %s to disk", key)
	}
	return fault.New(fault.Fenced, "create %s: %w", key, archive.ErrExists)
}

// makeFolder makes a folder and those above it, on disk. One that another process made is brought to disk as well.
func (b *Bucket) makeFolder(folder string) error {
	if folder == "." {
		return nil
	}
	if _, done := b.durable.Load(folder); done {
		return nil
	}
	above := folderOf(folder)
	if err := b.makeFolder(above); err != nil {
		return err
	}
	if err := b.root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := b.syncFolder(above); err != nil {
		return err
	}
	b.durable.Store(folder, true)
	return nil
}

// syncFolder brings the names in a folder to disk.
func (b *Bucket) syncFolder(folder string) error {
	file, err := b.root.Open(folder)
	if err != nil {
		return err
	}
	err = file.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system that has no such act: nothing more can be done there
	}
	return errors.Join(err, file.Close())
}

func folderOf(key string) string { return path.Dir(key) }

// tidy removes partial files that are a day older than a new one, by the file system's clock. What cannot be removed now
// stays for the next time.
func (b *Bucket) tidy(newest *os.File) {
	now, err := newest.Stat()
	if err != nil {
		return
	}
	names, err := b.names(partials)
	if err != nil {
		return
	}
	for _, name := range names {
		info, err := b.root.Lstat(partials + "/" + name.Name())
		if err == nil && info.Mode().IsRegular() && now.ModTime().Sub(info.ModTime()) > abandoned {
			_ = b.root.Remove(partials + "/" + name.Name())
		}
	}
}
