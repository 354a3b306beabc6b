package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/layout"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	t.Run("BringsWhatIsMissing", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t).mirrored()
		one, two := a.backUp(1, 1, a.primary), a.backUp(2, 1, a.primary)
		before := tree(t, a.primary)
		a.must(0, []string{"copied " + one.String(), "copied " + two.String(), "primary to secondary: 2 copied, 0 there already"}, "copy")
		a.must(0, []string{"0 copied, 2 there already"}, "copy")
		a.must(0, []string{"secondary to primary: 0 copied, 2 there already"}, "copy", "--from", "secondary")
		if diff := cmp.Diff([]layout.ID{two, one}, a.listed(a.secondary)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, tree(t, a.primary)); diff != "" {
			t.Error("copying changed its source: " + diff)
		}
		// The copy alone is an archive.
		a.env["TIDEMARK_ARCHIVE"], a.env["TIDEMARK_ARCHIVE_SECONDARY"] = "file://"+a.secondary, ""
		a.expect(0, []string{"1/2", "verified"}, "expire")
	})
	t.Run("NamesWhatItLeavesOut", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t).mirrored()
		broken, withdrawn, good := a.backUp(1, 1, a.primary), a.backUp(2, 1, a.primary), a.backUp(3, 1, a.primary)
		a.damage(layout.Manifest(broken), "garbage")
		a.must(0, nil, "revoke", withdrawn.Run.String(), "--reason", "wrong rows")
		a.expect(3, []string{
			"copied " + good.String(), "not copied " + broken.String(), "1 copied, 0 there already, 1 withdrawn and left out, 1 failed", "with warnings",
		}, "copy")
		var report struct {
			From, To           string
			Already, Withdrawn []string
			Failed             []struct{ Manifest, Reason string }
		}
		_, output := a.split("copy", "--json")
		if err := json.Unmarshal([]byte(output), &report); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		if report.From != "primary" || report.To != "secondary" || len(report.Failed) != 1 || report.Failed[0].Manifest != broken.String() ||
			!cmp.Equal(report.Already, []string{good.String()}) || !cmp.Equal(report.Withdrawn, []string{withdrawn.String()}) {
			t.Errorf("got %+v", report)
		}
		if diff := cmp.Diff([]layout.ID{good}, a.listed(a.secondary)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("FailsWhenNothingCouldBeCopied", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t).mirrored()
		a.damage(layout.Manifest(a.backUp(1, 1, a.primary)), "garbage")
		a.expect(13, []string{"none of 1 manifests"}, "copy")
	})
	for name, c := range map[string]struct {
		prepare   func(*archivist)
		code      int
		parts     []string
		arguments []string
	}{
		"NoSecondBucket": {func(a *archivist) { a.env["TIDEMARK_ARCHIVE_SECONDARY"] = "" }, 2, []string{"TIDEMARK_ARCHIVE_SECONDARY"}, nil},
		"ASecondFolderThatIsNotThere": {
			func(a *archivist) { a.env["TIDEMARK_ARCHIVE_SECONDARY"] += "/unmounted" }, 20,
			[]string{"TIDEMARK_ARCHIVE_SECONDARY", "is not there", "mount it"},
			nil,
		},
		"OneFolderTwice": {
			func(a *archivist) { a.env["TIDEMARK_ARCHIVE_SECONDARY"] = a.env["TIDEMARK_ARCHIVE"] }, 2, []string{"same place"}, nil,
		},
		"OneFolderUnderTwoNames": {
			func(a *archivist) {
				link := filepath.Join(a.t.TempDir(), "link")
				if err := os.Symlink(a.primary, link); err != nil {
					a.t.Fatal(err)
				}
				a.env["TIDEMARK_ARCHIVE_SECONDARY"] = "file://" + link
			}, 2, []string{"TIDEMARK_ARCHIVE_SECONDARY", "under another name"}, nil,
		},
		"AnUnknownSource":        {func(*archivist) {}, 2, []string{"primary or secondary"}, []string{"--from", "tertiary"}},
		"ASourceWithoutABackup":  {func(*archivist) {}, 10, []string{"no backup", "--from"}, []string{"--from", "secondary"}},
		"AnArgument":             {func(*archivist) {}, 2, []string{"--help"}, []string{"all"}},
		"AnotherTargetsArchive":  {func(a *archivist) { a.env["TIDEMARK_TARGET_ID"] = "other" }, 15, []string{"shop", "other"}, nil},
		"AnotherLifeOfTheTarget": {func(a *archivist) { a.backUp(1, 2, a.secondary) }, 11, []string{"life 1"}, nil},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			a := newArchivist(t).mirrored()
			a.backUp(1, 1, a.primary)
			c.prepare(a)
			before := tree(t, a.secondary)
			a.must(c.code, c.parts, append([]string{"copy"}, c.arguments...)...)
			if diff := cmp.Diff(before, tree(t, a.secondary)); diff != "" {
				t.Error("a refused verb wrote: " + diff)
			}
		})
	}
}
