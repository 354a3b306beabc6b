package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/layout"
	"tidemark/shared/signing/localkey"
)

// stranger is a key that nobody trusts.
func (a *archivist) stranger() {
	a.t.Helper()
	key, err := localkey.Generate()
	if err != nil {
		a.t.Fatal(err)
	}
	path := filepath.Join(a.t.TempDir(), "stranger.pem")
	if err := key.Write(path); err != nil {
		a.t.Fatal(err)
	}
	a.env["TIDEMARK_SIGNING_KEYS"] = path
}

// put puts a file into the primary, as somebody else might.
func (a *archivist) put(key, content string) {
	a.t.Helper()
	path := filepath.Join(a.primary, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	t.Run("IsContent", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop)
		k.says(3, []string{
			"warn primary create-only not probed: nothing is written yet", "fix: tidemark doctor --write-probe", "warn backups newest there is no backup yet",
			"fix: tidemark backup", "ok keys signing", "ok database readable PostgreSQL", "ok database target test-target is live, life 1",
		}, "doctor")
		if found, err := os.ReadDir(k.primary); err != nil || len(found) > 0 {
			t.Errorf("a doctor wrote %v, %v", found, err)
		}
		k.backUp(0)
		before := tree(t, k.primary)
		k.says(0, []string{
			"ok primary reachable belongs to target test-target", "ok secondary create-only", "ok backups newest manifest 1/1 verifies", "ok backups copies",
			"ok backups freshness", "ok backups mark readable; the newest that was committed is 1/1", "ok database captured", "0 failed",
		}, "doctor")
		if diff := cmp.Diff(before, tree(t, k.primary)); diff != "" {
			t.Error("a doctor changed the archive: " + diff)
		}
		k.says(0, []string{"ok primary writing an object was written and read back"}, "doctor", "--write-probe")
		k.says(0, []string{"1/1", "verified"}, "manifests", "list")
		k.says(0, []string{"primary: a sweep would name 1 object that nothing refers to"}, "expire")
	})
	t.Run("TellsProgramsInJSON", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop)
		delete(k.env, "TIDEMARK_HIGH_WATER")
		k.backUp(0)
		var told struct {
			Checks         []struct{ About, Check, Verdict, Saw, Fix string }
			Warned, Failed int
		}
		code, printed := k.split("doctor", "--json")
		k.decode(printed, &told)
		if code != 3 || told.Warned != 1 || told.Failed != 0 || len(told.Checks) < 12 {
			t.Errorf("exit code %d, got %+v", code, told)
		}
		for _, c := range told.Checks {
			if c.Verdict == "warn" && (c.Check != "freshness" || c.Fix != "set TIDEMARK_HIGH_WATER") {
				t.Errorf("got %+v", c)
			}
		}
	})
	for name, c := range map[string]struct {
		prepare func(*keeper)
		code    int
		parts   []string
	}{
		"ASecondBucketBehind": {
			func(k *keeper) {
				if err := os.RemoveAll(filepath.Join(k.secondary, layout.Manifests)); err != nil {
					k.t.Fatal(err)
				}
			}, 3, []string{"warn backups copies the secondary bucket lacks 1 of 1 manifests, the newest 1/1", "fix: tidemark copy"},
		},
		"ADamagedObject": {
			func(k *keeper) {
				for _, folder := range []string{k.primary, k.secondary} {
					if err := os.RemoveAll(filepath.Join(folder, layout.Objects)); err != nil {
						k.t.Fatal(err)
					}
				}
			}, 13, []string{"FAIL backups newest none of 1 manifests may be used"},
		},
		"AnArchiveThatWasTurnedBack": {
			func(k *keeper) {
				for _, folder := range []string{k.primary, k.secondary} {
					if err := os.RemoveAll(filepath.Join(folder, layout.Manifests)); err != nil {
						k.t.Fatal(err)
					}
				}
			}, 13, []string{"FAIL backups freshness no manifest is listed, and 1/1 was committed"},
		},
		"AForeignArchive": {
			func(k *keeper) { k.damage(layout.Owner, `{"version":1,"target_id":"other"}`) }, 15,
			[]string{"FAIL primary reachable", "other"},
		},
		"AFolderThatIsNotThere": {
			func(k *keeper) { k.env["TIDEMARK_ARCHIVE"] += "/unmounted" }, 20, []string{"FAIL archive configured", "fix: mount it", "ok database readable"},
		},
		"AStrangersKey": {
			func(k *keeper) { k.stranger() }, 12, []string{"FAIL keys signing", "nobody would believe it", "TIDEMARK_TRUSTED_KEYS"},
		},
		"NoSigningKey": {func(k *keeper) { delete(k.env, "TIDEMARK_SIGNING_KEYS") }, 3, []string{"warn keys signing no key signs here"}},
		"AWrongPassword": {
			func(k *keeper) { k.env["TIDEMARK_DATABASE_PASSWORD"] = secret }, 30, []string{"FAIL database readable", "28P01"},
		},
		"ADatabaseThatIsAway": {
			func(k *keeper) { k.env["TIDEMARK_DATABASE_URL"] = "postgres://me@127.0.0.1:1/x?sslmode=disable" }, 30,
			[]string{"FAIL database readable", "ok backups newest"},
		},
		"ATargetThatIsHeld": {
			func(k *keeper) { k.db.Exec(k.t, "UPDATE tidemark.target SET state = 'held'") }, 11, []string{"FAIL database target target test-target is held"},
		},
		"WhatIsNotCaptured": {
			func(k *keeper) { k.db.Exec(k.t, "CREATE PUBLICATION everything FOR ALL TABLES") }, 30,
			[]string{"FAIL database captured", "publication everything", "TIDEMARK_ALLOW_UNCAPTURED"},
		},
		"AHighWaterMarkThatIsGarbage": {
			func(k *keeper) {
				if err := os.WriteFile(strings.TrimPrefix(k.env["TIDEMARK_HIGH_WATER"], "file://"), []byte("{"), 0o600); err != nil {
					k.t.Fatal(err)
				}
			}, 13, []string{"FAIL backups mark", "bring the file back"},
		},
	} {
		t.Run("Finds"+name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, shop)
			k.backUp(0)
			c.prepare(k)
			k.says(c.code, c.parts, "doctor")
		})
	}
}
