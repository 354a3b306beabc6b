package filemark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockWait is how long it takes until a lock that another holds is asked for again.
const lockWait = 5 * time.Millisecond

const private = 0o600

// hold takes a lock on a file of its own, because the mark's file is replaced and a lock on it would go with it. Closing the
// file gives the lock back; the file stays, since removing it would let two hold it. The kernel gives back the lock of a
// process that died.
func hold(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, private) //nolint:gosec // beside the file that the operator names
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(lockWait)
	defer ticker.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, ctx.Err()), file.Close())
		case <-ticker.C:
		}
	}
}

// replace makes content the whole of the file, on disk, or leaves it as it is. The caller holds the lock, so one name for
// what is being written is enough, and what a dead process left there is overwritten.
func replace(path string, content []byte) error {
	beside := path + ".new"
	file, err := os.OpenFile(beside, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, private) //nolint:gosec // as above
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	if err := os.Rename(beside, path); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder brings a folder's names to disk.
func syncFolder(path string) error {
	folder, err := os.Open(path) //nolint:gosec // as above
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
