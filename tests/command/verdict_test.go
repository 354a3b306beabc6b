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

func TestVerdicts(t *testing.T) {
	t.Parallel()
	t.Run("KeepAndUnkeep", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t).mirrored()
		old := a.backUp(1, 1, a.primary, a.secondary)
		a.backUp(2, 1, a.primary, a.secondary)
		a.must(0, []string{old.String(), "is kept", "written to: primary, secondary"}, "keep", old.Run.String(), "--reason", "audit 2026")
		a.must(0, []string{"was kept already"}, "keep", old.Run.String(), "--reason", "audit 2027")
		a.expect(0, []string{"kept"}, "expire", "--confirm")
		if len(a.listed(a.primary)) != 2 || len(a.listed(a.secondary)) != 2 {
			t.Error("a kept backup went")
		}
		a.must(0, []string{"is let go", "tidemark expire --confirm"}, "unkeep", old.Run.String(), "--reason", "audits are over")
		a.must(0, []string{"was not kept"}, "unkeep", old.Run.String(), "--reason", "again")
		a.expect(0, []string{"policy"}, "expire", "--confirm")
		if len(a.listed(a.primary)) != 1 || len(a.listed(a.secondary)) != 1 {
			t.Error("a backup that was let go stays")
		}
	})
	t.Run("Revoke", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t).mirrored()
		a.backUp(1, 1, a.primary, a.secondary)
		wrong := a.backUp(2, 1, a.primary, a.secondary)
		a.must(0, []string{wrong.String(), "is withdrawn", "written to: primary, secondary"}, "revoke", wrong.Run.String(), "--reason", "wrong rows")
		a.must(0, []string{"was withdrawn already"}, "revoke", wrong.Run.String(), "--reason", "wrong rows")
		a.expect(0, []string{"revoked"}, "expire")
		a.expect(0, nil, "expire", "--confirm")
		if left := a.listed(a.primary); len(left) != 1 || left[0].Run == wrong.Run {
			t.Errorf("left are %v", left)
		}
	})
	t.Run("RevokeLetsAnExpiryThatIsStuckGoOn", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t)
		a.backUp(1, 1, a.primary)
		broken := a.backUp(2, 1, a.primary)
		a.damage(layout.Manifest(broken), "garbage")
		a.expect(13, []string{"tidemark revoke " + broken.Run.String(), "unusable", "1/2"}, "expire", "--confirm")
		a.must(0, nil, "revoke", broken.Run.String(), "--reason", "its bytes rotted")
		a.expect(0, []string{"revoked"}, "expire", "--confirm")
	})
	t.Run("UnkeepByWhoeverMayWriteLetsNothingGo", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t)
		old := a.backUp(1, 1, a.primary)
		a.backUp(2, 1, a.primary)
		a.must(0, nil, "keep", old.Run.String(), "--reason", "audit 2026")
		forged := `{"version":1,"run_id":"` + old.Run.String() +
			`","number":"2","keep":false,"actor":"nobody","reason":"gone","created":"2026-07-01T12:00:00Z"}`
		a.damage(layout.Keep(old.Run, 2), forged)
		a.expect(3, []string{"kept", "count for nothing"}, "expire", "--confirm")
		if len(a.listed(a.primary)) != 2 {
			t.Error("a kept backup went")
		}
		a.must(0, []string{"is let go"}, "unkeep", old.Run.String(), "--reason", "audits are over")
		a.expect(0, []string{"policy"}, "expire", "--confirm")
		if len(a.listed(a.primary)) != 1 {
			t.Error("a backup that was let go stays behind garbage")
		}
	})
	t.Run("RefusesASignatureThatNobodyBelieves", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t)
		id := a.backUp(1, 1, a.primary)
		before := tree(t, a.primary)
		stranger, err := localkey.Generate()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "stranger.pem")
		if err := stranger.Write(path); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"keep", "unkeep", "revoke"} {
			arguments := []string{verb, id.Run.String(), "--reason", "wrong rows"}
			a.env["TIDEMARK_SIGNING_KEYS"] = ""
			a.must(2, []string{"TIDEMARK_SIGNING_KEYS is not set", "tidemark keys generate"}, arguments...)
			a.env["TIDEMARK_SIGNING_KEYS"] = path
			a.expect(12, []string{"would not be believed", "trusted keys"}, arguments...)
			a.env["TIDEMARK_SIGNING_KEYS"] = path + ".none"
			a.must(2, []string{"TIDEMARK_SIGNING_KEYS", path + ".none"}, arguments...)
		}
		if diff := cmp.Diff(before, tree(t, a.primary)); diff != "" {
			t.Error("a refused verb wrote: " + diff)
		}
	})
	for name, c := range map[string]struct {
		arguments []string
		parts     []string
	}{
		"NoRun":               {[]string{"--reason", "x"}, []string{"accepts 1 arg", "--help"}},
		"NoReason":            {[]string{runID(1).String()}, []string{"reason", "--help"}},
		"AnEmptyReason":       {[]string{runID(1).String(), "--reason", ""}, []string{"say why"}},
		"ABlankReason":        {[]string{runID(1).String(), "--reason", "  "}, []string{"say why"}},
		"AReasonTooLong":      {[]string{runID(1).String(), "--reason", strings.Repeat("x", 1001)}, []string{"1001 bytes", "1 to 1000"}},
		"WhatIsNoRun":         {[]string{"1/1", "--reason", "x"}, []string{"want a UUID", "tidemark expire"}},
		"ARunThatIsNotListed": {[]string{runID(99).String(), "--reason", "x"}, []string{"no manifest of run " + runID(99).String()}},
		"AnUnknownFlag":       {[]string{runID(1).String(), "--reason", "x", "--force"}, []string{"unknown flag"}},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			a := newArchivist(t)
			a.backUp(1, 1, a.primary)
			before := tree(t, a.primary)
			for _, verb := range []string{"keep", "unkeep", "revoke"} {
				a.must(2, c.parts, append([]string{verb}, c.arguments...)...)
			}
			if diff := cmp.Diff(before, tree(t, a.primary)); diff != "" {
				t.Error("a refused verb wrote: " + diff)
			}
		})
	}
}

// damage puts other bytes where an object of the primary is.
func (a *archivist) damage(key, content string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.primary, key), []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
}
