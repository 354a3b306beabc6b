package command_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/layout"
)

// TestBackupRefuses says with which code a backup ends that is not to be, and that nothing is listed then.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare   func(*keeper)
		code      int
		parts     []string
		arguments []string
	}{
		"AWrongPassword": {
			func(k *keeper) { k.env["TIDEMARK_DATABASE_PASSWORD"] = secret }, 30, []string{"28P01", "TIDEMARK_DATABASE_PASSWORD"}, nil,
		},
		"ADatabaseThatIsAway": {
			func(k *keeper) {
				k.env["TIDEMARK_DATABASE_URL"] = "postgres://me:" + secret + "@127.0.0.1:1/x?sslmode=disable"
			}, 30, []string{"retryable", "reach"}, nil,
		},
		"AnotherTarget": {
			func(k *keeper) { k.env["TIDEMARK_TARGET_ID"] = "other" }, 15, []string{"test-target", "other", "TIDEMARK_TARGET_ID"}, nil,
		},
		"ATargetThatIsHeld": {
			func(k *keeper) { k.db.Exec(k.t, "UPDATE tidemark.target SET state = 'held'") }, 11, []string{"held"}, nil,
		},
		"ALedgerThatIsNotThere": {
			func(k *keeper) { k.env["TIDEMARK_LEDGER_SCHEMA"] = "elsewhere" }, 30, []string{"tidemark migrate"}, nil,
		},
		"AFolderThatIsNotThere": {
			func(*keeper) {}, 20, []string{"TIDEMARK_ARCHIVE", "mount it"}, []string{"--primary", "file:///none/archive"},
		},
		"OneFolderTwice": {
			func(k *keeper) { k.env["TIDEMARK_ARCHIVE_SECONDARY"] = k.env["TIDEMARK_ARCHIVE"] }, 2, []string{"same place"}, nil,
		},
		"AForeignArchive": {
			func(k *keeper) { k.put(layout.Owner, `{"version":1,"target_id":"other"}`) }, 15, []string{"other"}, nil,
		},
		"AStrangersKey": {func(k *keeper) { k.stranger() }, 12, []string{"would not be believed", "trusted keys"}, nil},
		"NoSigningKey": {
			func(k *keeper) { delete(k.env, "TIDEMARK_SIGNING_KEYS") }, 2, []string{"TIDEMARK_SIGNING_KEYS is not set"}, nil,
		},
		"AStoreThatDeniesAccess": {
			func(k *keeper) {
				k.env["TIDEMARK_ARCHIVE_ACCESS_KEY"], k.env["TIDEMARK_ARCHIVE_SECRET_KEY"] = "me", secret
				k.env["TIDEMARK_ARCHIVE"] = "minio://" + refusing(k.t, 403, "AccessDenied") + "/shop?tls=false"
			}, 20, []string{"AccessDenied"}, nil,
		},
		"AStoreThatIsAway": {
			func(k *keeper) {
				k.env["TIDEMARK_ARCHIVE_ACCESS_KEY"], k.env["TIDEMARK_ARCHIVE_SECRET_KEY"] = "me", secret
				k.env["TIDEMARK_ARCHIVE"] = "minio://127.0.0.1:1/shop?tls=false"
				delete(k.env, "TIDEMARK_ARCHIVE_SECONDARY")
			}, 21, []string{"retryable"}, nil,
		},
		"TooManyJobs":       {func(*keeper) {}, 2, []string{"TIDEMARK_BACKUP_JOBS"}, []string{"--jobs", "1000"}},
		"AnImpossibleLevel": {func(*keeper) {}, 2, []string{"TIDEMARK_COMPRESSION_LEVEL"}, []string{"--compress", "99"}},
		"AnArgument":        {func(*keeper) {}, 2, []string{"--help"}, []string{"everything"}},
		"AReadOnlyFolder":   {func(k *keeper) { k.lockOut() }, 20, []string{"denied", "mount it writable"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, shop)
			c.prepare(k)
			k.says(c.code, c.parts, append([]string{"backup"}, c.arguments...)...)
			if listed := count(t, k.primary, layout.Manifests+"*/*"); listed != 0 {
				t.Errorf("%d manifests are listed", listed)
			}
		})
	}
}

// lockOut takes from the operator the right to write into the primary. Root has every right, so it becomes nobody.
func (k *keeper) lockOut() {
	k.t.Helper()
	const nobody = 65534
	for _, folder := range []string{k.primary, filepath.Dir(k.primary)} {
		if err := os.Chmod(folder, 0o555); err != nil { //nolint:gosec // read-only is the point
			k.t.Fatal(err)
		}
		k.t.Cleanup(func() { _ = os.Chmod(folder, 0o700) }) //nolint:gosec // or it cannot be removed
	}
	if os.Getuid() != 0 {
		return
	}
	k.as = &syscall.Credential{Uid: nobody, Gid: nobody}
	for _, path := range []string{k.env["TIDEMARK_SIGNING_KEYS"], k.env["TIDEMARK_TRUSTED_KEYS"], k.secondary} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			k.t.Fatal(err)
		}
		for folder := filepath.Dir(path); folder != os.TempDir(); folder = filepath.Dir(folder) {
			if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // so that nobody comes here
				k.t.Fatal(err)
			}
		}
	}
}

// TestManifests says what an operator sees of an archive that is not as it should be.
func TestManifests(t *testing.T) {
	t.Parallel()
	t.Run("LeavesGarbageAlone", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop)
		k.backUp(0)
		for _, key := range []string{
			"README.txt", "manifests/notes.json", "manifests/0000000001/x.json", "objects/00/half", "objects/zz/x", "runs/.hidden", "lost+found/UPPER",
			layout.Objects + "ab/ab" + "00000000000000000000000000000000000000000000000000000000000000",
		} {
			k.put(key, "garbage")
		}
		m := k.backUp(0)
		if m.Manifest != "1/2" || len(m.Warnings) > 0 {
			t.Errorf("got %+v", m)
		}
		k.says(0, []string{"1/2", "1/1", "verified"}, "manifests", "list")
	})
	t.Run("NamesWhatCannotBeUsed", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t).mirrored()
		good, withdrawn := a.backUp(1, 1, a.primary, a.secondary), a.backUp(2, 1, a.primary)
		broken := a.backUp(3, 1, a.primary)
		a.must(0, nil, "keep", good.Run.String(), "--reason", "audit")
		a.must(0, nil, "revoke", withdrawn.Run.String(), "--reason", "wrong rows")
		a.damage(layout.Manifest(broken), "garbage")
		a.expect(3, []string{"1/3", "corrupt: manifest", "1/2", "revoked", "verified, kept", "primary+secondary", "1 of 3 manifests cannot be used"},
			"manifests", "list")
		a.expect(0, []string{"1/1"}, "manifests", "list", "--bucket", "secondary")
		a.expect(13, []string{"problem", "1/3"}, "manifests", "show", "1/3")
		a.expect(13, nil, "manifests", "diff", "1/1", "1/3")
		a.expect(0, []string{"revoked"}, "manifests", "show", "1/2")
		a.damage(layout.Manifest(good), "garbage")
		a.damage(layout.Manifest(withdrawn), "garbage")
		a.env["TIDEMARK_ARCHIVE_SECONDARY"] = ""
		a.expect(13, []string{"1/1"}, "manifests", "show", good.Run.String())
	})
	for name, c := range map[string]struct {
		prepare   func(*archivist)
		code      int
		parts     []string
		arguments []string
	}{
		"AnEmptyArchive": {
			func(a *archivist) {
				a.env["TIDEMARK_ARCHIVE"] = a.env["TIDEMARK_ARCHIVE_SECONDARY"]
				delete(a.env, "TIDEMARK_ARCHIVE_SECONDARY")
			},
			10,
			[]string{"no backup", "TIDEMARK_ARCHIVE"},
			[]string{"list"},
		},
		"ABucketThatIsNone":     {func(*archivist) {}, 2, []string{"primary"}, []string{"list", "--bucket", "tertiary"}},
		"ARunThatIsNone":        {func(*archivist) {}, 2, []string{"9999", "tidemark manifests list"}, []string{"show", "9999"}},
		"ARunThatIsAnyOfTwo":    {func(*archivist) {}, 2, []string{"give more of the run"}, []string{"show", "11111111"}},
		"NoRun":                 {func(*archivist) {}, 2, []string{"accepts 1 arg"}, []string{"show"}},
		"OneRunToCompare":       {func(*archivist) {}, 2, []string{"accepts 2 arg"}, []string{"diff", "1/1"}},
		"AnotherTargetsArchive": {func(a *archivist) { a.env["TIDEMARK_TARGET_ID"] = "other" }, 15, []string{"other"}, []string{"list"}},
		"AStrangersKey": {
			func(a *archivist) { a.env["TIDEMARK_TRUSTED_KEYS"] = newArchivist(a.t).env["TIDEMARK_TRUSTED_KEYS"] }, 12,
			[]string{"not signed by a trusted key"},
			[]string{"list"},
		},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			a := newArchivist(t).mirrored()
			a.backUp(1, 1, a.primary)
			a.backUp(2, 1, a.primary)
			c.prepare(a)
			before := tree(t, a.primary)
			a.expect(c.code, c.parts, append([]string{"manifests"}, c.arguments...)...)
			if diff := cmp.Diff(before, tree(t, a.primary)); diff != "" {
				t.Error("a verb that shows wrote: " + diff)
			}
		})
	}
}
