package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// hunt runs the guard without and with the mutant. The verdict names the guard.
func (m mutant) hunt(ctx context.Context) (string, error) {
	name := m.guard.folder + " " + m.guard.test
	if output, err := m.guard.run(ctx); err != nil {
		return "", fmt.Errorf("%s is red without the mutant: %w\n%s", name, err, output)
	}
	dir, err := os.MkdirTemp("", "tidemark-mutant-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	output, err := m.guard.run(ctx, "-overlay="+overlay)
	switch {
	case err == nil:
		return "", fmt.Errorf("survived %s", name)
	case !bytes.Contains(output, []byte("--- FAIL: "+m.guard.test+" (")):
		return "", fmt.Errorf("%s did not run: %w\n%s", name, err, output)
	}
	return "red: " + name, nil
}

// overlay writes the mutant's files into dir and returns the path of the list that the go tool wants.
func (m mutant) overlay(dir string) (string, error) {
	replace := map[string]string{}
	for n, e := range m.edits {
		original, err := filepath.Abs(e.file)
		if err != nil {
			return "", err
		}
		source := original
		if edited, again := replace[original]; again {
			source = edited
		}
		text, err := os.ReadFile(source) //nolint:gosec // a file of this module
		if err != nil {
			return "", err
		}
		if count := strings.Count(string(text), e.text); count != 1 {
			return "", fmt.Errorf("%s holds %q %d times, want once: correct the mutant", e.file, e.text, count)
		}
		edited := filepath.Join(dir, fmt.Sprintf("%d-%s", n, filepath.Base(e.file)))
		mutated := []byte(strings.Replace(string(text), e.text, e.with, 1))
		if err := os.WriteFile(edited, mutated, 0o600); err != nil { //nolint:gosec // below our own folder
			return "", err
		}
		replace[original] = edited
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// run runs the guard alone. An error means that it is red or did not run.
func (g guard) run(ctx context.Context, flags ...string) ([]byte, error) {
	pattern := "^" + strings.ReplaceAll(g.test, "/", "$/^") + "$"
	arguments := append([]string{"test", "-count=1", "-run", pattern, "-v"}, flags...)
	output, err := exec.CommandContext(ctx, "go", append(arguments, "./"+g.folder)...).CombinedOutput() //nolint:gosec // fixed words
	if err == nil && !bytes.Contains(output, []byte("--- PASS: "+g.test+" (")) {
		err = errors.New("there is no such test")
	}
	return output, err
}
