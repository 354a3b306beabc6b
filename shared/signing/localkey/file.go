package localkey

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark/shared/fault"
)

// maxFile is far above the largest file that holds one key.
const maxFile = 16 << 10

// Load reads the key in the file at path.
//
// Errors: fault.Misconfigured, which name the file and show nothing of what is in it; ErrNotPrivate for a file without a
// private key.
func Load(path string) (*Key, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, notRead(path, err)
	}
	defer func() { _ = file.Close() }() // read only: nothing is lost
	info, err := file.Stat()
	if err != nil {
		return nil, notRead(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, notRead(path, errors.New("it is no regular file"))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, notRead(path, err)
	}
	defer clear(text)
	if len(text) > maxFile {
		return nil, notRead(path, errors.New("it is too large for a file with one key"))
	}
	key, err := Parse(text)
	if errors.Is(err, ErrNotPrivate) { // nothing that must be hidden
		return nil, within(path, err)
	}
	const others = 0o077
	if mode := info.Mode().Perm(); mode&others != 0 {
		return nil, fault.New(fault.Misconfigured, "read key %s: others may use the file, its mode is %04o", path, mode).
			WithHint("run chmod 600 %q; if somebody may have read it, make a new key and revoke this one", path)
	}
	if err != nil {
		return nil, within(path, err)
	}
	return key, nil
}

// Write writes the key into a new file at path that nobody else may read, and returns when it is on the disk.
//
// Errors: fault.Misconfigured, also when there is a file already. What was there is untouched, and nothing is left of a
// file that could not be completed.
func (k *Key) Write(path string) error {
	text, err := k.encode()
	if err != nil {
		return err
	}
	defer clear(text)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Misconfigured, "write key %s: there is such a file already", path).
			WithHint("name another file: a key that is overwritten is lost")
	}
	if err != nil {
		return notWritten(path, err)
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return notWritten(path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

// syncFolder makes a new file's name as durable as its content.
func syncFolder(path string) error {
	folder, err := os.Open(path) //nolint:gosec // the folder of a file that the operator named
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// within names the file in an error of Parse.
func within(path string, err error) error {
	return fault.New(fault.Misconfigured, "%s: %w", path, err)
}

func notRead(path string, err error) error {
	return fault.New(fault.Misconfigured, "read key %s: %w", path, reason(err)).
		WithHint("name a file with a private key that this process may read; tidemark keys generate makes one")
}

func notWritten(path string, err error) error {
	return fault.New(fault.Misconfigured, "write key %s: %w", path, reason(err)).
		WithHint("name a file in a folder that exists, that this process may write to and that has room")
}

// reason is what the system says, without the path that the message names already.
func reason(err error) error {
	if found, ok := errors.AsType[*fs.PathError](err); ok {
		return found.Err
	}
	return err
}
