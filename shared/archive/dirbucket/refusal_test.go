package dirbucket

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

func TestRefusalOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		class  fault.Class
		is     error
		hinted bool
	}{
		"NoRight":          {syscall.EACCES, fault.Misconfigured, archive.ErrDenied, true},
		"NotPermitted":     {syscall.EPERM, fault.Misconfigured, archive.ErrDenied, true},
		"MountedReadOnly":  {syscall.EROFS, fault.Misconfigured, archive.ErrDenied, true},
		"DiskFull":         {syscall.ENOSPC, fault.Retryable, nil, true},
		"QuotaReached":     {syscall.EDQUOT, fault.Retryable, nil, true},
		"FileTooLarge":     {syscall.EFBIG, fault.Retryable, nil, true},
		"FileIsNoFolder":   {syscall.ENOTDIR, fault.Misconfigured, nil, true},
		"FolderIsNoFile":   {syscall.EISDIR, fault.Misconfigured, nil, true},
		"NameTooLong":      {syscall.ENAMETOOLONG, fault.Misconfigured, nil, true},
		"LinksInACircle":   {syscall.ELOOP, fault.Misconfigured, nil, true},
		"DiskFails":        {syscall.EIO, fault.Retryable, nil, false},
		"ServerForgot":     {syscall.ESTALE, fault.Retryable, nil, false},
		"TooManyOpenFiles": {syscall.EMFILE, fault.Retryable, nil, false},
		"Cancelled":        {context.Canceled, fault.Retryable, nil, false},
		"TimedOut":         {context.DeadlineExceeded, fault.Retryable, nil, false},
		"Closed":           {os.ErrClosed, fault.Bug, nil, false},
		"LeadsOut":         {errors.New("said by os.Root"), fault.Misconfigured, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := classed(&fs.PathError{Op: "openat", Path: "a", Err: test.err}, "create %s", "a")
			hinted := fault.HintOf(err) != ""
			if !fault.Is(err, test.class) || hinted != test.hinted || !errors.Is(err, test.err) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("got %v of class %s, with a hint: %t", err, fault.ClassOf(err), hinted)
			}
			if again := classed(err, "list"); !fault.Is(again, test.class) || (fault.HintOf(again) != "") != test.hinted {
				t.Errorf("said again it is %v of class %s", again, fault.ClassOf(again))
			}
		})
	}
}

// TestPublishGivesTheTimeOfNow: a writer that slept before its object could be seen did not store it when it fell asleep.
func TestPublishGivesTheTimeOfNow(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"Full": "content", "Empty": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket, partial, file := begun(t, content)
			now, err := file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			old := now.ModTime().Add(-20 * time.Hour)
			if err := os.Chtimes(filepath.Join(bucket.dir, partial), old, old); err != nil {
				t.Fatal(err)
			}
			if err := bucket.publish(file, partial, "a"); err != nil {
				t.Fatalf("publish: %v", err)
			}
			info, err := bucket.Stat(t.Context(), "a")
			if err != nil || info.StoredAt.Before(now.ModTime().Truncate(time.Second)) {
				t.Errorf("stored at %s, %v, want %s or later", info.StoredAt, err, now.ModTime())
			}
			if got, err := bucket.Read(t.Context(), "a", archive.Span{Limit: 10}); err != nil || string(got) != content {
				t.Errorf("read: got %q, %v, want %q", got, err, content)
			}
		})
	}
}

// begun is a bucket with one partial file that is written.
func begun(t *testing.T, content string) (bucket *Bucket, partial string, file *os.File) {
	t.Helper()
	bucket, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	partial = partials + "/partial"
	file, err = bucket.begin(partial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := fill(t.Context(), file, []byte(content)); err != nil {
		t.Fatal(err)
	}
	return bucket, partial, file
}

func TestPublishKnowsItsOwnWork(t *testing.T) {
	t.Parallel()
	bucket, partial, file := begun(t, "content")
	if err := bucket.root.Link(partial, "a"); err != nil { // and the reply was lost
		t.Fatal(err)
	}
	if err := bucket.publish(file, partial, "a"); err != nil {
		t.Errorf("got %v, want no error: the object is ours", err)
	}
}

func TestPublishOfARemovedPartialCreatesNothing(t *testing.T) {
	t.Parallel()
	bucket, partial, file := begun(t, "content")
	if err := bucket.root.Remove(partial); err != nil {
		t.Fatal(err)
	}
	if err := bucket.publish(file, partial, "a/b"); !fault.Is(err, fault.Retryable) || fault.HintOf(err) == "" {
		t.Errorf("got %v of class %s", err, fault.ClassOf(err))
	}
	if _, err := bucket.Stat(t.Context(), "a/b"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("stat: got %v, want %v", err, archive.ErrNotFound)
	}
}

func TestTakenByADeletedObjectIsAConflict(t *testing.T) {
	t.Parallel()
	bucket, _, _ := begun(t, "")
	if err := bucket.taken("a"); !errors.Is(err, archive.ErrConflict) || !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v of class %s, want %v", err, fault.ClassOf(err), archive.ErrConflict)
	}
}
