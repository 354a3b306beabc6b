package dirbucket

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

func TestFillSaysThatTheDiskIsFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = full.Close() })
	err = classed(fill(t.Context(), full, []byte("content")), "create a")
	if !errors.Is(err, syscall.ENOSPC) || !fault.Is(err, fault.Retryable) || !strings.Contains(fault.HintOf(err), "make room") {
		t.Errorf("got %v of class %s with hint %q", err, fault.ClassOf(err), fault.HintOf(err))
	}
}

// TestSyncFolderLetsFileSystemsBeThatCannot: one that is not on a disk refuses to bring a folder there.
func TestSyncFolderLetsFileSystemsBeThatCannot(t *testing.T) {
	t.Parallel()
	bucket, err := Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	if err := bucket.syncFolder("."); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

// nobody is an account that owns no file of the test.
const nobody = 65534

// TestBucketRefusesAReadOnlyFolder: rights are those of the thread, which gives up root's if it has them.
func TestBucketRefusesAReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bucket, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	if err := bucket.Create(t.Context(), "a/b", []byte("content")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"a", partials, ".", ".."} { // the last one lets others come here at all
		if err := os.Chmod(filepath.Join(dir, folder), 0o555); err != nil { //nolint:gosec // read-only is the point
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, folder), 0o700) }) //nolint:gosec // or it cannot be removed
	}
	if err := os.Chmod(filepath.Join(dir, "a/b"), 0o444); err != nil { //nolint:gosec // read-only is the point
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		if os.Getuid() == 0 {
			if err := syscall.Setfsuid(nobody); err != nil {
				t.Errorf("give up rights: %v", err)
				return
			}
		}
		for method, err := range map[string]error{
			"create": bucket.Create(t.Context(), "a/c", []byte("content")), "delete": bucket.Delete(t.Context(), "a/b"),
		} {
			if !errors.Is(err, archive.ErrDenied) || !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
				t.Errorf("%s: got %v of class %s, want %v", method, err, fault.ClassOf(err), archive.ErrDenied)
			}
		}
		if err := bucket.Create(t.Context(), "a/b", []byte("content")); !errors.Is(err, archive.ErrExists) {
			t.Errorf("create what is there: got %v, want %v", err, archive.ErrExists)
		}
		if got, err := bucket.Read(t.Context(), "a/b", archive.Span{Limit: 10}); err != nil || string(got) != "content" {
			t.Errorf("read: got %q, %v", got, err)
		}
	}()
	<-done
}
