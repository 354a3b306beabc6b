// Package filemark keeps an archive's high-water mark in a file of this machine.
//
// The mark never goes back: whoever raises it holds a lock beside the file while it reads, compares and replaces, so that
// of several processes and goroutines the newest mark stays. The file is replaced as a whole (written beside it, brought to
// disk, renamed), so that a reader meets the old mark or the new one. It refuses to take anything that it cannot read for a
// mark that is not there, and a folder that is not there, because a disk that is not mounted must not look like a new
// archive. A Mark has no state and may be used by several goroutines; the lock is advisory and does not reach over NFS
// without its lock service.
package filemark

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/document"
)

// maxFile is far above the size of a mark.
const maxFile = 4 << 10

// Mark is a mark in a file.
type Mark struct{ path string }

var _ history.HighWater = Mark{}

// At is the mark in the file at path. The file may be missing, its folder not.
func At(path string) Mark { return Mark{path: path} }

// record is the file's form.
type record struct {
	Version int `json:"version"`
	history.Mark
}

// Load gives the mark. Errors: fault.Corrupt for a file that is there and is none, or that cannot be read;
// fault.Misconfigured when its folder is not there.
func (m Mark) Load(ctx context.Context) (history.Mark, error) {
	if err := ctx.Err(); err != nil {
		return history.Mark{}, fault.New(fault.Retryable, "read the high-water mark %s: %w", m.path, err)
	}
	encoded, err := read(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return history.Mark{}, m.absent()
	case err != nil:
		return history.Mark{}, fault.New(fault.Corrupt, "read the high-water mark: %w", err).
			WithHint("make the file readable for this account; it is not taken for one that was never written")
	}
	var found record
	if err := document.Decode("high-water mark", maxFile, encoded, &found); err != nil {
		return history.Mark{}, fault.New(fault.ClassOf(err), "%s: %w", m.path, err).
			WithHint("bring the file back from a copy; without it nobody knows what the newest backup was, and once it is removed " +
				"an archive that was turned back goes unnoticed")
	}
	return found.Mark, nil
}

// absent says whether there is really no mark: its folder is there and has none.
func (m Mark) absent() error {
	if info, err := os.Stat(filepath.Dir(m.path)); err != nil || !info.IsDir() {
		return fault.New(fault.Misconfigured, "read the high-water mark %s: its folder is not there", m.path).
			WithHint("mount it, or make the folder")
	}
	return nil
}

// read gives a regular file's content, at most one byte more than it may have.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened, since opening a pipe would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no regular file")}
	}
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	return content, errors.Join(err, file.Close())
}

// Raise remembers a newer mark, and returns when it is on disk. Errors: those of Load; fault.Retryable when the lock is held
// until ctx ends, or the disk fails; fault.Misconfigured when this account may not write.
func (m Mark) Raise(ctx context.Context, mark history.Mark) (err error) {
	if err := mark.Validate(); err != nil {
		return fault.New(fault.Bug, "raise the high-water mark: %w", err)
	}
	if err := m.absent(); err != nil {
		return err
	}
	lock, err := hold(ctx, m.path+".lock")
	if err != nil {
		return m.unwritten(err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // lets go of it
	known, err := m.Load(ctx)
	if err != nil || !known.Before(mark) {
		return err
	}
	encoded, err := document.Encode(record{Version: document.Version, Mark: mark})
	if err != nil {
		return fault.Wrap(fault.Bug, err)
	}
	return m.unwritten(replace(m.path, encoded))
}

func (m Mark) unwritten(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Misconfigured, "raise the high-water mark: %w", err).
			WithHint("let this account write in the folder of %s", m.path)
	}
	return fault.New(fault.Retryable, "raise the high-water mark: %w", err)
}
