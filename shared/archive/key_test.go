package archive_test

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 90)
	for name, test := range map[string]struct {
		key   string
		legal bool
	}{
		"TakesADocument":          {"owner.json", true},
		"TakesADeepOne":           {"objects/0a/0a1b", true},
		"TakesTwoDotsInAName":     {"a..b/..c/d..", true},
		"TakesThreeDots":          {"...", true},
		"TakesADash":              {"-/_", true},
		"TakesTheLongestName":     {"a/" + long[:255], true},
		"TakesTheLongestKey":      {strings.Repeat("a/", 449) + "bc", true},
		"RefusesNothing":          {"", false},
		"RefusesASlash":           {"/", false},
		"RefusesASlashBefore":     {"/a", false},
		"RefusesASlashAfter":      {"a/", false},
		"RefusesTwoSlashes":       {"a//b", false},
		"RefusesHere":             {"./a", false},
		"RefusesHereInside":       {"a/./b", false},
		"RefusesTheFolderAbove":   {"../a", false},
		"RefusesALoop":            {"a/../b", false},
		"RefusesUpperCase":        {"A", false},
		"RefusesASpace":           {"a b", false},
		"RefusesABackslash":       {`a\b`, false},
		"RefusesAPercent":         {"a%2fb", false},
		"RefusesAColon":           {"c:", false},
		"RefusesATilde":           {"~", false},
		"RefusesALineEnd":         {"a\n", false},
		"RefusesAZero":            {"a\x00", false},
		"RefusesAnUmlaut":         {"ä", false},
		"RefusesBrokenText":       {"a\xff", false},
		"RefusesATooLongName":     {"a/" + long[:256], false},
		"RefusesATooLongKey":      {strings.Repeat("a/", 450) + "b", false},
		"RefusesWhatFollowsAName": {"a/B", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := archive.CheckKey(test.key)
			if test.legal && err != nil {
				t.Errorf("got %v, want no error", err)
			}
			if !test.legal && !fault.Is(err, fault.Bug) {
				t.Errorf("got %v of class %s, want class bug", err, fault.ClassOf(err))
			}
		})
	}
}

func TestCheckKeyKeepsInsideOfAFolder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a/._A~ -]{0,12}`).Draw(t, "key")
		if archive.CheckKey(key) != nil {
			return
		}
		if !fs.ValidPath(key) || !filepath.IsLocal(key) || path.Clean(key) != key {
			t.Errorf("%q is taken and is no plain path inside of a folder", key)
		}
	})
}
