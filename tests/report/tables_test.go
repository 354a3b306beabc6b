package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestTables(t *testing.T) {
	t.Parallel()
	run := events("run m/shared/a TestA", "run m/shared/a TestA/Sub", "pass m/shared/a TestA/Sub", "pass m/shared/a TestA",
		"run m/shared/a TestRed", "fail m/shared/a TestRed", "run m/shared/a TestSkipped", "skip m/shared/a TestSkipped",
		"run m/shared/a TestHung", "run m/shared/a TestTwice", "fail m/shared/a TestTwice", "run m/shared/a TestTwice",
		"pass m/shared/a TestTwice")
	for _, c := range []struct {
		name   string
		text   string
		want   string
		errors []string
	}{
		{
			name: "FindsTestsWithTheirPackage",
			text: "| promise | test |\n|---|---|\n| x | `shared/a TestA/Sub`, `./shared/a TestA` |\n",
			want: "2 tests named in tables of 1 documents: all ran, all passed\n",
		},
		{
			name: "TakesThePackageFromItsColumn",
			text: "| Package | `a\\|b` | Test |\n|:--|--|--:|\n| `shared/a` | b | `TestA` |\n",
			want: "1 tests named in tables of 1 documents: all ran, all passed\n",
		},
		{
			name: "LeavesOtherTablesAndCodeAlone",
			text: "| what | how |\n|---|---|\n| x | `TestGone` |\n\n```\n| test |\n|---|\n| `TestGone` |\n```\n\n" +
				"| test |\n|---|\n| `shared/a TestA` |\n",
			want: "1 tests named in tables of 1 documents: all ran, all passed\n",
		},
		{
			name:   "RefusesATestThatDoesNotExist",
			text:   "| test |\n|---|\n| `shared/a TestGone` |\n",
			errors: []string{"doc.md:3: shared/a TestGone did not run"},
		},
		{
			name:   "RefusesATestOfAnotherPackage",
			text:   "| test |\n|---|\n| `a TestA` |\n",
			errors: []string{"doc.md:3: a TestA did not run"},
		},
		{
			name:   "RefusesAFailedTest",
			text:   "| test |\n|---|\n| `shared/a TestRed` |\n",
			errors: []string{"shared/a TestRed did not pass: fail"},
		},
		{
			name:   "RefusesASkippedTest",
			text:   "| test |\n|---|\n| `shared/a TestSkipped` |\n",
			errors: []string{"shared/a TestSkipped did not pass: skip"},
		},
		{
			name:   "RefusesATestThatNeverEnded",
			text:   "| test |\n|---|\n| `shared/a TestHung` |\n",
			errors: []string{"shared/a TestHung did not pass: it never ended"},
		},
		{
			name:   "RefusesATestThatPassedOnlyOnce",
			text:   "| test |\n|---|\n| `shared/a TestTwice` |\n",
			errors: []string{"shared/a TestTwice did not pass: fail"},
		},
		{
			name:   "RefusesARowWithoutATest",
			text:   "| promise | test |\n|---|---|\n| x | `shared/a TestA` |\n| y | later |\n| z |\n",
			errors: []string{"doc.md:4: the row names no test", "doc.md:5: the row ends before"},
		},
		{
			name:   "RefusesACellThatNamesSomethingElse",
			text:   "| test |\n|---|\n| `TestA` |\n| `shared/a testify` |\n",
			errors: []string{"doc.md:3: `TestA` names no test", "doc.md:4: `shared/a testify` names no test"},
		},
		{
			name:   "RefusesDocumentsWithoutAnyTable",
			text:   "nothing here\n",
			errors: []string{"no table of docs names a test"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{
				"test.json":      {Data: []byte(run)},
				"docs/doc.md":    {Data: []byte(c.text)},
				"docs/other.txt": {Data: []byte("| test |\n|---|\n| none |\n")},
			}
			var out strings.Builder
			err := tables(tree, &out, "m", "test.json", []string{"docs"})
			if got := out.String(); got != c.want {
				t.Errorf("printed %q, want %q", got, c.want)
			}
			wantErrors(t, err, c.errors)
		})
	}
	t.Run("RefusesARunThatWasNotSaved", func(t *testing.T) {
		t.Parallel()
		err := tables(fstest.MapFS{}, &strings.Builder{}, "m", "test.json", nil)
		wantErrors(t, err, []string{"make test writes it"})
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"nothing"}, {"lines", "-nothing"}} {
		if err := run(folder(t), args, strings.NewReader(""), &strings.Builder{}); err == nil {
			t.Errorf("run %q: got no error", args)
		}
	}
}
