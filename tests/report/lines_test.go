package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events writes lines of go test -json: "ACTION PACKAGE TEST OUTPUT" with "-" for no test.
func events(lines ...string) string {
	var text strings.Builder
	for _, line := range lines {
		parts := strings.SplitN(line, " ", 4)
		test, output := "", ""
		if len(parts) > 2 && parts[2] != "-" {
			test = parts[2]
		}
		if len(parts) > 3 {
			output = parts[3] + "\n"
		}
		fmt.Fprintf(&text, `{"Action":%q,"Package":%q,"Test":%q,"Output":%q}`+"\n", parts[0], parts[1], test, output)
	}
	return text.String()
}

var green = events(
	"start m/a", "run m/a TestA", "output m/a TestA === RUN   TestA", "output m/a TestA noise",
	"output m/a TestA --- PASS: TestA (0.00s)", "pass m/a TestA",
	"output m/a - PASS", "output m/a - ok  \tm/a\t0.1s", "pass m/a",
	"start m/b", "output m/b - ?   \tm/b\t[no test files]", "skip m/b",
)

func TestLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		events string
		want   string
		errors []string
	}{
		{
			name:   "PrintsTheClosingLinesOfPackagesThatPassed",
			events: green,
			want:   "ok  \tm/a\t0.1s\n?   \tm/b\t[no test files]\n1 passed, 0 failed, 0 skipped\n",
		},
		{
			name: "TellsAFailedTestAndKeepsItsPackageTogether",
			events: events("start m/a", "start m/b", "run m/a TestA", "run m/b TestB", "output m/a TestA     a.go:1: why",
				"output m/b TestB --- PASS: TestB (0.00s)", "pass m/b TestB",
				"output m/a TestA --- FAIL: TestA (0.00s)", "fail m/a TestA", "output m/a - FAIL",
				"output m/b - ok  \tm/b\t0.1s", "pass m/b", "output m/a - FAIL\tm/a\t0.1s", "fail m/a"),
			want: "ok  \tm/b\t0.1s\n--- FAIL: TestA (0.00s)\n    a.go:1: why\nFAIL\nFAIL\tm/a\t0.1s\n" +
				"1 passed, 1 failed, 0 skipped\n",
			errors: []string{"1 tests failed in 1 packages"},
		},
		{
			name: "FailsOnASkippedTest",
			events: events("run m/a TestA", "pass m/a TestA", "run m/a TestB", "output m/a TestB     a.go:1: no service",
				"output m/a TestB --- SKIP: TestB (0.00s)", "skip m/a TestB", "output m/a - ok  \tm/a\t0.1s", "pass m/a"),
			want:   "--- SKIP: TestB (0.00s)\n    a.go:1: no service\nok  \tm/a\t0.1s\n1 passed, 0 failed, 1 skipped\n",
			errors: []string{"1 tests were skipped"},
		},
		{
			name: "FailsOnAPackageThatDoesNotBuild",
			events: green + `{"ImportPath":"m/c [m/c.test]","Action":"build-output","Output":"c.go:1: undefined: x\n"}` + "\n" +
				events("start m/c", "output m/c - FAIL\tm/c [build failed]", "fail m/c"),
			want: "ok  \tm/a\t0.1s\n?   \tm/b\t[no test files]\nc.go:1: undefined: x\nFAIL\tm/c [build failed]\n" +
				"1 passed, 0 failed, 0 skipped\n",
			errors: []string{"0 tests failed in 1 packages"},
		},
		{
			name:   "FailsOnAPackageThatNeverEnds",
			events: green + events("start m/c", "run m/c TestC", "output m/c TestC working"),
			want: "ok  \tm/a\t0.1s\n?   \tm/b\t[no test files]\n--- DID NOT END: TestC\nworking\n" +
				"1 passed, 0 failed, 0 skipped\n",
			errors: []string{"package m/c did not end"},
		},
		{
			name:   "SaysWhatAPackageDidWhenItDied",
			events: events("start m/c", "run m/c TestC", "output m/c TestC panic: late", "output m/c - FAIL\tm/c\t0.1s", "fail m/c"),
			want:   "--- DID NOT END: TestC\npanic: late\nFAIL\tm/c\t0.1s\n0 passed, 0 failed, 0 skipped\n",
			errors: []string{"0 tests failed in 1 packages", "no test passed"},
		},
		{
			name:   "FailsWhereNothingRan",
			events: "go: no such tool\n",
			want:   "go: no such tool\n0 passed, 0 failed, 0 skipped\n",
			errors: []string{"no test passed"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := lines(folder(t), strings.NewReader(c.events), &out, "")
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			wantErrors(t, err, c.errors)
		})
	}
}

func TestSavedRun(t *testing.T) {
	t.Parallel()
	t.Run("HoldsEveryEventOfAGreenRun", func(t *testing.T) {
		t.Parallel()
		tree := folder(t)
		if err := lines(tree, strings.NewReader(green), &strings.Builder{}, "build/test.json"); err != nil {
			t.Fatal(err)
		}
		got, err := tree.ReadFile("build/test.json")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(green, string(got)); diff != "" {
			t.Errorf("saved (-want +got):\n%s", diff)
		}
	})
	t.Run("IsGoneAfterARedRun", func(t *testing.T) {
		t.Parallel()
		tree := folder(t)
		if err := lines(tree, strings.NewReader(green), &strings.Builder{}, "test.json"); err != nil {
			t.Fatal(err)
		}
		red := green + events("start m/c", "fail m/c")
		wantErrors(t, lines(tree, strings.NewReader(red), &strings.Builder{}, "test.json"), []string{"1 packages"})
		for _, name := range []string{"test.json", "test.json" + draftSuffix} {
			if _, err := tree.Stat(name); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", name, err)
			}
		}
	})
}

// folder is an empty folder of the test's own.
func folder(t *testing.T) *os.Root {
	t.Helper()
	tree, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

// wantErrors checks that err says each of the texts, and that it is nil where there is none.
func wantErrors(t *testing.T, err error, texts []string) {
	t.Helper()
	if (err != nil) != (len(texts) > 0) {
		t.Fatalf("got error %v, want one with %q", err, texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got error %q, want %q in it", err, text)
		}
	}
}
