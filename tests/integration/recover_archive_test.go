//go:build integration

package integration_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/signing/localkey/localkeytest"
)

// archives holds the command against archives that are not what they were: each variant is a copy of one archive with two
// backups, of a target whose log has a tail behind the second.
func archives(t *testing.T, l *loss) {
	t.Helper()
	l = l.entriesLoss(t, 2)
	secondary := t.TempDir()
	l.env["TIDEMARK_ARCHIVE_SECONDARY"] = "file://" + secondary
	l.publish(t, 0, entries(0, 10)...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.publish(t, 1, entries(10, 20)...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.publish(t, 0, entries(20, 30)...)
	made := manifests(t, l.archive)
	if len(made) != 2 {
		t.Fatalf("got %v, want two manifests", made)
	}
	alone := map[string]string{"TIDEMARK_ARCHIVE_SECONDARY": ""}
	unmarked := map[string]string{"TIDEMARK_ARCHIVE_SECONDARY": "", "TIDEMARK_HIGH_WATER": ""}
	for name, variant := range map[string]func(t *testing.T){
		"NoBackup": func(t *testing.T) {
			t.Helper()
			l.variant(map[string]string{"TIDEMARK_ARCHIVE": "file://" + t.TempDir(), "TIDEMARK_ARCHIVE_SECONDARY": "", "TIDEMARK_HIGH_WATER": ""}).
				refuses(t, 10, []string{"no_backup", "there is nothing to recover from"})
		},
		"ANameThatIsNoFolder": func(t *testing.T) {
			t.Helper()
			l.variant(map[string]string{"TIDEMARK_ARCHIVE": "file://" + filepath.Join(t.TempDir(), "misspelt"), "TIDEMARK_ARCHIVE_SECONDARY": ""}).
				refuses(t, 20, []string{"misspelt"})
		},
		"Untrusted": func(t *testing.T) {
			t.Helper()
			_, strangers := localkeytest.Files(t)
			l.variant(map[string]string{"TIDEMARK_TRUSTED_KEYS": strangers}).refuses(t, 12, []string{"untrusted"})
		},
		"OfAnotherTarget": func(t *testing.T) {
			t.Helper()
			l.variant(map[string]string{"TIDEMARK_TARGET_ID": "staging"}).refuses(t, 15, []string{"test-target", "staging"})
		},
		"TargetNotEmpty": func(t *testing.T) {
			t.Helper()
			db := postgrestest.Empty(t)
			db.Exec(t, "CREATE TABLE somebodys (id int)")
			l.tidemark(t, db, 15, []string{"target_not_empty", "somebodys"}, "recover")
			untouched(t, db)
		},
		"TheNewestManifestIsGone": func(t *testing.T) {
			t.Helper()
			v := l.copied(t, alone)
			v.remove(t, made[1])
			v.refuses(t, 13, []string{"older_than_seen", "--allow-older"})
			shows(t, v.recovers(t, 3, []string{"accepted: the bucket was cleaned by hand"}, "--allow-older", "the bucket was cleaned by hand"), [2]int{0, 30})
		},
		"TheNewestWasWrittenOver": func(t *testing.T) {
			t.Helper()
			v := l.copied(t, unmarked)
			flip(t, filepath.Join(v.archive, made[1]))
			shows(t, v.recovers(t, 3, []string{"was passed over", "freshness_unproven"}), [2]int{0, 30})
		},
		"TheOnlyOneWasWrittenOver": func(t *testing.T) {
			t.Helper()
			v := l.copied(t, unmarked)
			v.remove(t, made[1])
			flip(t, filepath.Join(v.archive, made[0]))
			v.refuses(t, 12, []string{"untrusted", "does not fit"})
		},
		"ObjectsAreGone": func(t *testing.T) {
			t.Helper()
			v := l.copied(t, unmarked)
			v.remove(t, "objects")
			v.refuses(t, 13, []string{"corrupt"})
		},
		"AnObjectIsCorrupt": func(t *testing.T) {
			t.Helper()
			v := l.copied(t, alone)
			v.flipObjects(t)
			db := v.recovers(t, 13, []string{"corrupt"})
			v.tidemark(t, db, 13, []string{"corrupt"}, "recover")
			if got := db.Copy(t, "SELECT state FROM tidemark.target"); got != "restoring\n" {
				t.Errorf("the target is %q, want it restoring", got)
			}
			v = v.variant(map[string]string{"TIDEMARK_ARCHIVE_SECONDARY": "file://" + copyTree(t, secondary)})
			v.tidemark(t, db, 0, []string{"goes on with run", "is live in life 2"}, "recover") // the same one, when a bucket has it whole
			shows(t, db, [2]int{0, 30})
		},
		"ObjectsAreGoneFromThePrimaryAlone": func(t *testing.T) {
			t.Helper()
			v := l.copied(t, map[string]string{"TIDEMARK_ARCHIVE_SECONDARY": "file://" + copyTree(t, secondary)})
			v.remove(t, "objects")
			shows(t, v.recovers(t, 0, nil), [2]int{0, 30})
		},
		"ThePrimaryIsAway": func(t *testing.T) {
			t.Helper()
			v := l.variant(map[string]string{
				"TIDEMARK_ARCHIVE":            "minio://" + nobody(t) + "/gone?region=us-east-1&tls=false",
				"TIDEMARK_ARCHIVE_ACCESS_KEY": "nobody", "TIDEMARK_ARCHIVE_SECRET_KEY": "nobodys",
				"TIDEMARK_ARCHIVE_SECONDARY": "file://" + copyTree(t, secondary),
			})
			db := v.recovers(t, 21, []string{"primary"}) // whose word decides which life is taken
			v.tidemark(t, db, 0, []string{"is live in life 2"}, "recover", "--mint-in-secondary")
			shows(t, db, [2]int{0, 30})
		},
		"ThePrimaryIsStale": func(t *testing.T) {
			t.Helper()
			v := l.copied(t, map[string]string{"TIDEMARK_ARCHIVE_SECONDARY": "file://" + copyTree(t, secondary)})
			v.remove(t, made[1])
			shows(t, v.recovers(t, 0, []string{"manifest 1/2", "replay about 10 records"}), [2]int{0, 30})
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); variant(t) })
	}
}

// flipObjects changes a byte of each object of rows: the large ones are documents.
func (l *loss) flipObjects(t *testing.T) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.archive, "objects", "*", "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("got the objects %v, %v", found, err)
	}
	const mostRows = 400
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.Size() < mostRows {
			flip(t, path)
		}
	}
}

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // it is for its number alone
	return listener.Addr().String()
}

// remove takes files away from the archive.
func (l *loss) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(l.archive, name)); err != nil {
		t.Fatal(err)
	}
}
