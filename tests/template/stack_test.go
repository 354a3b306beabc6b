//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/shared/config"
)

// TestStack transforms the template as a deployment does, fills it in and holds it to the rules.
func TestStack(t *testing.T) {
	t.Parallel()
	deployed := transform(t, []string{original(t)})[0]
	if deployed.Error != "" {
		t.Fatal(deployed.Error)
	}
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, finding := range rule(deployed.fill(readFlow(t))) {
				t.Error(finding)
			}
		})
	}
}

// TestStackRefuses shows each rule a template that breaks it.
func TestStackRefuses(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, m := range mutants() {
		text := strings.Replace(original(t), m.old, m.new, 1)
		if text == original(t) {
			t.Fatalf("%s: the template has no %q to change", m.name, m.old)
		}
		texts = append(texts, text)
	}
	results := transform(t, texts)
	broken := map[string]bool{}
	for i, m := range mutants() {
		broken[m.rule] = true
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if results[i].Error != "" {
				t.Fatalf("the translator refuses it already: %s", results[i].Error)
			}
			findings := strings.Join(rules()[m.rule](results[i].fill(readFlow(t))), "\n")
			if !strings.Contains(findings, m.want) {
				t.Errorf("got findings %q, want %q in them", findings, m.want)
			}
		})
	}
	for name := range rules() {
		if !broken[name] {
			t.Errorf("no mutant breaks %s: nothing shows that it looks", name)
		}
	}
}

// TestLint asks cfn-lint about the template and about what a deployment makes of it, where alone wrong properties show.
func TestLint(t *testing.T) {
	t.Parallel()
	python := interpreter(t)
	t.Run("FindsNothing", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{realTemplate, transformedFile(t, original(t))} {
			if output, err := lint(t, python, path); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		}
	})
	t.Run("SeesWrongProperties", func(t *testing.T) {
		t.Parallel()
		wrong := strings.Replace(original(t), "StartingPosition: TRIM_HORIZON", "StartingPosition: OLDEST", 1)
		output, err := lint(t, python, transformedFile(t, wrong))
		if failed := new(exec.ExitError); !errors.As(err, &failed) || !strings.Contains(output, "'OLDEST' does not match") {
			t.Errorf("got %v with %q, want a finding about OLDEST", err, output)
		}
	})
}

func lint(t *testing.T, python, path string) (string, error) {
	t.Helper()
	program := "import sys; from cfnlint.runner import main; sys.exit(main())"
	//nolint:gosec // the test's own interpreter
	command := exec.CommandContext(t.Context(), python, "-c", program, "-r", "eu-central-1", "-t", path)
	said, err := command.CombinedOutput()
	return string(said), err
}

// transformedFile is a file with what a deployment makes of the text.
func transformedFile(t *testing.T, text string) string {
	t.Helper()
	result := transform(t, []string{text})[0]
	path := filepath.Join(t.TempDir(), "stack.json")
	if err := os.WriteFile(path, result.Template, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// transformation is what the translator makes of one template.
type transformation struct {
	Template json.RawMessage
	Error    string
}

// transform runs the translator on all texts at once.
func transform(t *testing.T, texts []string) []transformation {
	t.Helper()
	arguments := []string{"transform.py"}
	dir := t.TempDir()
	for i, text := range texts {
		path := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, path)
	}
	//nolint:gosec // the test's own interpreter
	printed := output(t, exec.CommandContext(t.Context(), interpreter(t), arguments...))
	var results []transformation
	if err := json.Unmarshal(printed, &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != len(texts) {
		t.Fatalf("got %d results, want %d", len(results), len(texts))
	}
	return results
}

// interpreter is the Python that has the translator and the linter. The Makefile knows where it is and puts it there.
func interpreter(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", "-s", "-C", "../..", "template-python")
	return strings.TrimSpace(string(output(t, command)))
}

// output is what the command prints. A command that fails ends the test with what it had to say.
func output(t *testing.T, command *exec.Cmd) []byte {
	t.Helper()
	var complaint bytes.Buffer
	command.Stderr = &complaint
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command.Args, err, complaint.String())
	}
	return printed
}

func original(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(realTemplate)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readFlow(t *testing.T) config.Flow {
	t.Helper()
	flow, err := config.ReadFlow(sampleFlow)
	if err != nil {
		t.Fatal(err)
	}
	return flow
}
