package dirbucket_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/dirbucket"
	"tidemark/shared/fault"
)

var any1M = archive.Span{Limit: 1 << 20}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantClass(t *testing.T, err error, class fault.Class, hint string) {
	t.Helper()
	if !fault.Is(err, class) || !strings.Contains(fault.HintOf(err), hint) {
		t.Errorf("got %v of class %s with hint %q, want class %s and %q in the hint", err, fault.ClassOf(err), fault.HintOf(err),
			class, hint)
	}
}

func keysOf(t *testing.T, bucket archive.Bucket, prefix string) []string {
	t.Helper()
	var keys []string
	for info, err := range bucket.List(t.Context(), prefix) {
		must(t, err)
		keys = append(keys, info.Key)
	}
	return keys
}

// partials are the names of unfinished files.
func partials(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".partial~", "*"))
	must(t, err)
	return found
}

func TestOpenRefusesWhatIsNoFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "mnt", "backup")
	_, err := dirbucket.Open(missing)
	wantClass(t, err, fault.Misconfigured, "never made here")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("open left %v, %v behind", entries, err)
	}
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err = dirbucket.Open(file)
	wantClass(t, err, fault.Misconfigured, "a file stands where a folder should be")
	_, err = dirbucket.Open("")
	wantClass(t, err, fault.Misconfigured, "")
}

func TestOpenWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bucket := open(t, dir)
	if keys := keysOf(t, bucket, ""); len(keys) > 0 {
		t.Errorf("list: got %v", keys)
	}
	must(t, bucket.Delete(t.Context(), "a/b"))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("reading left %v, %v behind", entries, err)
	}
}

func TestBucketKeepsItsFilesPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, open(t, dir).Create(t.Context(), "a/b/c", []byte("content")))
	got := map[string]os.FileMode{}
	for _, name := range []string{"a", "a/b", "a/b/c", ".partial~"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		must(t, err)
		got[name] = info.Mode()
	}
	want := map[string]os.FileMode{"a": 0o700 | os.ModeDir, "a/b": 0o700 | os.ModeDir, "a/b/c": 0o600, ".partial~": 0o700 | os.ModeDir}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
	if left := partials(t, dir); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

// TestBucketRefusesAFolderThatWentAway: an empty archive and a lost disk must never look the same.
func TestBucketRefusesAFolderThatWentAway(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(dir string) error{
		"Removed":  os.RemoveAll,
		"Renamed":  func(dir string) error { return os.Rename(dir, dir+".old") },
		"Replaced": func(dir string) error { return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bucket")
			must(t, os.Mkdir(dir, 0o700))
			bucket := open(t, dir)
			must(t, bucket.Create(t.Context(), "a", []byte("content")))
			must(t, lose(dir))
			_, readErr := bucket.Read(t.Context(), "a", any1M)
			_, statErr := bucket.Stat(t.Context(), "a")
			var listErr error
			for _, listErr = range bucket.List(t.Context(), "") {
			}
			for _, err := range []error{readErr, statErr, listErr, bucket.Create(t.Context(), "b", nil), bucket.Delete(t.Context(), "a")} {
				wantClass(t, err, fault.Retryable, "mount the disk again")
				if errors.Is(err, archive.ErrNotFound) {
					t.Errorf("got %v: nothing is known about the object", err)
				}
			}
		})
	}
}

func TestBucketRefusesAKeyThatIsTheFolderOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bucket := open(t, dir)
	must(t, bucket.Create(t.Context(), "a/b", []byte("content")))
	for _, key := range []string{"a", "a/b/c", "a/b/c/d"} {
		err := bucket.Create(t.Context(), key, []byte("other"))
		wantClass(t, err, fault.Misconfigured, "take it away")
		if errors.Is(err, archive.ErrExists) {
			t.Errorf("create %s: got %v: there is no such object", key, err)
		}
	}
	if keys := keysOf(t, bucket, ""); !slices.Equal(keys, []string{"a/b"}) {
		t.Errorf("list: got %v", keys)
	}
	if left := partials(t, dir); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

func TestBucketLeavesStrangersAlone(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	bucket := open(t, dir)
	must(t, bucket.Create(t.Context(), "a/b", []byte("content")))
	for _, name := range []string{"README", ".DS_Store", "lost+found", "a/b~", "a/ü"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, os.Symlink(secret, filepath.Join(dir, "link")))
	must(t, os.Symlink("a", filepath.Join(dir, "in")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if keys := keysOf(t, bucket, ""); !slices.Equal(keys, []string{"a/b"}) {
		t.Errorf("list: got %v, want the object alone", keys)
	}
	for _, key := range []string{"out/secret", "out/new", "link", "pipe"} {
		content, err := bucket.Read(t.Context(), key, any1M)
		wantClass(t, err, fault.Misconfigured, "")
		_, err = bucket.Stat(t.Context(), key)
		wantClass(t, err, fault.Misconfigured, "")
		wantClass(t, bucket.Create(t.Context(), key, []byte("x")), fault.Misconfigured, "")
		wantClass(t, bucket.Delete(t.Context(), key), fault.Misconfigured, "")
		if len(content) > 0 {
			t.Errorf("read %s: got %q", key, content)
		}
	}
	if content, err := os.ReadFile(secret); err != nil || string(content) != "secret" { //nolint:gosec // the test's own file
		t.Errorf("the file outside has %q, %v", content, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside there are %v, %v", entries, err)
	}
}

// TestBucketRemovesAbandonedPartials: a day by the clock of the file system, and only what is in the folder of partials.
func TestBucketRemovesAbandonedPartials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".partial~"), 0o700))
	now := time.Now()
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": 23 * time.Hour, "future": -time.Hour} {
		file := filepath.Join(dir, ".partial~", name)
		must(t, os.WriteFile(file, []byte("half"), 0o600))
		must(t, os.Chtimes(file, now.Add(-age), now.Add(-age)))
	}
	bucket := open(t, dir)
	if keys := keysOf(t, bucket, ""); len(keys) > 0 {
		t.Errorf("list: got %v", keys)
	}
	must(t, bucket.Create(t.Context(), "a", []byte("content")))
	var left []string
	for _, name := range partials(t, dir) {
		left = append(left, filepath.Base(name))
	}
	if !slices.Equal(left, []string{"future", "young"}) {
		t.Errorf("left are %v, want the two that are young", left)
	}
}

func TestBucketSeesWhatAnotherProcessWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine, other := open(t, dir), open(t, dir)
	must(t, mine.Create(t.Context(), "a/b", []byte("mine")))
	if err := other.Create(t.Context(), "a/b", []byte("other")); !errors.Is(err, archive.ErrExists) {
		t.Errorf("got %v, want %v", err, archive.ErrExists)
	}
	must(t, other.Delete(t.Context(), "a/b"))
	must(t, os.Remove(filepath.Join(dir, "a"))) // mine believes that the folder is there
	must(t, mine.Create(t.Context(), "a/b", []byte("again")))
	if got, err := other.Read(t.Context(), "a/b", any1M); err != nil || string(got) != "again" {
		t.Errorf("read: got %q, %v", got, err)
	}
}

// TestBucketDoesAsTheModel runs generated acts on a folder and on the bucket in memory.
func TestBucketDoesAsTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		folder, model := open(t, t.TempDir()), archivetest.NewMemory(time.Now)
		key := rapid.SampledFrom([]string{"a/b", "a/b.c", "a-b", "a.b", "a0", "b/c/d", "b/c-d", "b/c.d/e"})
		both := func(act func(archive.Bucket) (any, error)) {
			got, gotErr := act(folder)
			want, wantErr := act(model)
			if diff := cmp.Diff(want, got); diff != "" || !sameKind(gotErr, wantErr) {
				r.Fatalf("folder: %v, model: %v (-model +folder):\n%s", gotErr, wantErr, diff)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"create": func(r *rapid.T) {
				key, content := key.Draw(r, "key"), rapid.SliceOf(rapid.Byte()).Draw(r, "content")
				both(func(b archive.Bucket) (any, error) { return nil, b.Create(t.Context(), key, content) })
			},
			"delete": func(r *rapid.T) {
				key := key.Draw(r, "key")
				both(func(b archive.Bucket) (any, error) { return nil, b.Delete(t.Context(), key) })
			},
			"read": func(r *rapid.T) {
				key, size := key.Draw(r, "key"), rapid.Int64Range(0, 12)
				span := archive.Span{From: size.Draw(r, "from"), Length: size.Draw(r, "length"), Limit: size.Draw(r, "limit") + 1}
				both(func(b archive.Bucket) (any, error) {
					content, err := b.Read(t.Context(), key, span)
					return bytes.Clone(append([]byte("="), content...)), err
				})
			},
			"": func(r *rapid.T) {
				prefix := rapid.SampledFrom([]string{"", "a", "a/", "a/b", "b", "b/c", "b/c.", "b/c/", "c"}).Draw(r, "prefix")
				both(func(b archive.Bucket) (any, error) { return keysOf(t, b, prefix), nil })
			},
		})
	})
}

// sameKind says whether two buckets gave the same answer.
func sameKind(x, y error) bool {
	for _, kind := range []error{archive.ErrNotFound, archive.ErrExists, archive.ErrTooLarge} {
		if errors.Is(x, kind) != errors.Is(y, kind) {
			return false
		}
	}
	return (x == nil) == (y == nil) && fault.ClassOf(x) == fault.ClassOf(y)
}
