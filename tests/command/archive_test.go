package command_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/dirbucket"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/signing"
	"tidemark/shared/signing/localkey"
)

// archivist is an operator with an archive in folders: no database is near.
type archivist struct {
	*operator
	key       *localkey.Key
	primary   string
	secondary string
}

const target = position.TargetID("shop")

func newArchivist(t *testing.T) *archivist {
	t.Helper()
	key, err := localkey.Generate()
	if err != nil {
		t.Fatal(err)
	}
	a := &archivist{operator: &operator{t: t}, key: key, primary: t.TempDir(), secondary: t.TempDir()}
	private := filepath.Join(t.TempDir(), "key.pem")
	if err := key.Write(private); err != nil {
		t.Fatal(err)
	}
	a.env = map[string]string{
		"TIDEMARK_TARGET_ID": target.String(), "TIDEMARK_ARCHIVE": "file://" + a.primary, "TIDEMARK_SIGNING_KEYS": private,
		"TIDEMARK_TRUSTED_KEYS": a.file("trusted.pem", string(key.Key().PEM())),
		"TIDEMARK_KEEP_LAST":    "1", "TIDEMARK_KEEP_WITHIN": "0", "TIDEMARK_KEEP_DAILY": "0", "TIDEMARK_KEEP_WEEKLY": "0",
		"TIDEMARK_KEEP_MONTHLY": "0", "TIDEMARK_MIN_VERIFIED": "1",
	}
	return a
}

// mirrored has the second folder too.
func (a *archivist) mirrored() *archivist {
	a.env["TIDEMARK_ARCHIVE_SECONDARY"] = "file://" + a.secondary
	return a
}

func (a *archivist) file(name, content string) string {
	a.t.Helper()
	path := filepath.Join(a.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// places opens the folders.
func (a *archivist) places(folders ...string) []archive.Place {
	a.t.Helper()
	var places []archive.Place
	for i, folder := range folders {
		bucket, err := dirbucket.Open(folder)
		if err != nil {
			a.t.Fatal(err)
		}
		a.t.Cleanup(func() { _ = bucket.Close() })
		places = append(places, archive.Place{Name: []string{"primary", "secondary"}[i], Bucket: bucket})
	}
	return places
}

// life is an incarnation by its last digit.
func life(n int) position.Incarnation {
	return position.Incarnation(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
}

// backUp writes the nth backup into folders, as the life of that number, with a chunk of its own and one that all share.
func (a *archivist) backUp(n, incarnation int, folders ...string) layout.ID {
	a.t.Helper()
	ctx := a.t.Context()
	options := writer.Options{
		Archive: &archive.Archive{
			Target: target, Places: a.places(folders...), Trusted: signing.Keyring{{Key: a.key.Key()}},
			Unpack: func([]byte, manifest.Object, int64) ([]byte, error) {
				return nil, fault.New(fault.Bug, "a writer of the test reads nothing")
			},
		},
		Signers: []signing.Signer{a.key}, Pack: pack, Now: time.Now,
	}
	run, err := writer.Begin(ctx, options, notice.Run{
		Lineage: 1, RunID: runID(n), Seq: int64(n), Life: life(incarnation), Attempt: 1, Actor: "test", Tool: "test",
	})
	if err != nil {
		a.t.Fatal(fault.Line(err))
	}
	table := body.Table{
		Name: body.Name{Schema: "public", Name: "orders"}, Columns: []body.Column{{Name: "id", Type: "text", OID: 25}}, Key: []string{},
	}
	for _, plain := range []string{"shared", fmt.Sprintf("own %d %s", n, strings.Repeat("x", n))} {
		packed, err := pack([]byte(plain))
		if err != nil {
			a.t.Fatal(err)
		}
		object, err := run.Store(ctx, packed)
		if err != nil {
			a.t.Fatal(fault.Line(err))
		}
		table.Chunks, table.Rows = append(table.Chunks, body.Chunk{Rows: 1, Object: object}), table.Rows+1
	}
	c, err := run.Commit(ctx, body.Body{
		Snapshot: body.Snapshot{
			SystemIdentifier: "7000000000000000001", Database: "shop", ServerVersion: 150018, Encoding: "UTF8", LedgerSchema: "tidemark",
			LedgerVersion: 2, LSN: "0/16B3748", Taken: time.Date(2026, 7, n, 12, 0, 0, 0, time.UTC),
		},
		Cut:  body.Cut{{Flow: "shop", Topic: "orders", NextOffset: position.Offset(n), Generation: 1}},
		Gaps: []body.Gap{}, Definitions: []body.Definition{}, Tables: []body.Table{table}, Sequences: []body.Sequence{},
		Uncaptured: []string{}, Warnings: []string{},
	})
	if err != nil || len(c.Warnings) > 0 {
		a.t.Fatal(err, c.Warnings)
	}
	return c.ID
}

func runID(n int) manifest.RunID {
	return manifest.RunID(fmt.Sprintf("11111111-0000-4000-8000-%012d", n))
}

func pack(plain []byte) (packing.Packed, error) {
	packer, err := packing.NewPacker(packing.Options{})
	if err != nil {
		return packing.Packed{}, err
	}
	return packer.Pack(plain)
}

// expect is must for verbs that print a report beside their error.
func (a *archivist) expect(code int, parts []string, arguments ...string) string {
	a.t.Helper()
	got, output := a.run(arguments...)
	if got != code {
		a.t.Errorf("tidemark %s: exit code %d, want %d: %s", strings.Join(arguments, " "), got, code, output)
	}
	for _, part := range parts {
		if !strings.Contains(output, part) {
			a.t.Errorf("tidemark %s: %q is not in: %s", strings.Join(arguments, " "), part, output)
		}
	}
	return output
}

// split runs a verb and gives what it prints to standard output apart.
func (a *archivist) split(arguments ...string) (code int, output string) {
	a.t.Helper()
	path, err := tidemark()
	if err != nil {
		a.t.Fatalf("build the command: %v", err)
	}
	command := exec.CommandContext(a.t.Context(), path, arguments...) //nolint:gosec // the binary under test
	for name, value := range a.env {
		command.Env = append(command.Env, name+"="+value)
	}
	printed, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		a.t.Fatal(err)
	}
	return code, string(printed)
}

// tree is everything in a folder: names, contents, modes and times.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			read, err := os.ReadFile(path) //nolint:gosec // of the test's own folder
			if err != nil {
				return err
			}
			content = string(read)
		}
		found[path] = fmt.Sprintf("%s %s %q", info.Mode(), info.ModTime(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// aDayLater lets the grace of every sweep in a folder be over, by the clock that the bucket goes by.
func (a *archivist) aDayLater(folder string) {
	a.t.Helper()
	sweeps, err := filepath.Glob(filepath.Join(folder, layout.Sweeps, "*.json"))
	if err != nil || len(sweeps) == 0 {
		a.t.Fatalf("no sweeps in %s: %v", folder, err)
	}
	for _, sweep := range sweeps {
		before := time.Now().Add(-25 * time.Hour)
		if err := os.Chtimes(sweep, before, before); err != nil {
			a.t.Fatal(err)
		}
	}
}

// listed gives the manifests that a folder lists.
func (a *archivist) listed(folder string) []layout.ID {
	a.t.Helper()
	h, err := history.Read(a.t.Context(), &archive.Archive{
		Target: target, Places: a.places(folder), Trusted: signing.Keyring{{Key: a.key.Key()}},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	var ids []layout.ID
	for _, e := range h.Entries {
		ids = append(ids, e.ID)
	}
	return ids
}

func count(t *testing.T, folder, pattern string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestExpire(t *testing.T) {
	t.Parallel()
	t.Run("ChangesNothingWithoutConfirm", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t)
		for n := 1; n <= 3; n++ {
			a.backUp(n, 1, a.primary)
		}
		before := tree(t, a.primary)
		for range 2 {
			a.expect(0, []string{
				"MANIFEST", "1/3", "keep", "newest", "1/1", "expire", "policy", "verified", "2026-07-01 12:00", runID(2).String(),
				"primary: a sweep would name 4 objects that nothing refers to", "dry run", "tidemark expire --confirm",
			}, "expire")
		}
		if diff := cmp.Diff(before, tree(t, a.primary)); diff != "" {
			t.Error("a dry run changed the archive: " + diff)
		}
	})
	t.Run("RemovesInTwoSteps", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t).mirrored()
		var ids []layout.ID
		for n := 1; n <= 3; n++ {
			ids = append(ids, a.backUp(n, 1, a.primary, a.secondary))
		}
		whole := count(t, a.primary, "objects/*/*")
		a.expect(0, []string{"primary: named 4 objects", "secondary: named 4 objects", "removed 0 objects"}, "expire", "--confirm")
		for _, folder := range []string{a.primary, a.secondary} {
			if diff := cmp.Diff([]layout.ID{ids[2]}, a.listed(folder)); diff != "" {
				t.Error(diff)
			}
			if got := count(t, folder, "objects/*/*"); got != whole {
				t.Errorf("%d objects before the day is over, want %d", got, whole)
			}
			a.aDayLater(folder)
		}
		var report struct {
			Confirmed bool
			Manifests []struct {
				Manifest, Run, State string
				Expires              bool
				Reasons              []string
			}
			Places []struct {
				Place                           string
				Named, Removed, Locked, Waiting int
			}
		}
		output := a.expect(0, nil, "expire", "--confirm", "--json")
		if err := json.Unmarshal([]byte(output), &report); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		if !report.Confirmed || len(report.Manifests) != 1 || report.Manifests[0].Manifest != "1/3" || report.Manifests[0].Expires ||
			len(report.Places) != 2 || report.Places[1].Removed != 4 || report.Places[1].Place != "secondary" {
			t.Errorf("got %+v", report)
		}
		if got := count(t, a.primary, "objects/*/*"); got != 3 { // its own chunk, the shared one, the body
			t.Errorf("%d objects are left, want 3", got)
		}
		a.expect(0, []string{"1/3", "verified"}, "expire")
	})
	t.Run("LeavesGarbageAlone", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t)
		a.backUp(1, 1, a.primary)
		a.backUp(2, 1, a.primary)
		garbage := map[string]string{
			"README.txt": "read me", "manifests/notes.json": "{", "manifests/0000000001/x.json": "x", "objects/00/half": "x",
			"objects/zz/" + strings.Repeat("0", 64): "x", "sweeps/last.json": "x", "keeps/a/b.json": "x", "runs/.hidden": "x", "lost+found/UPPER": "x",
		}
		for name, content := range garbage {
			path := filepath.Join(a.primary, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(a.secondary, filepath.Join(a.primary, "objects", "link")); err != nil {
			t.Fatal(err)
		}
		a.expect(0, []string{"named 2 objects"}, "expire", "--confirm")
		a.aDayLater(a.primary)
		a.expect(0, []string{"removed 2 objects"}, "expire", "--confirm")
		for name, content := range garbage {
			if left, err := os.ReadFile(filepath.Join(a.primary, name)); err != nil || string(left) != content { //nolint:gosec // of the test's own folder
				t.Errorf("%s: %q, %v", name, left, err)
			}
		}
	})
}
