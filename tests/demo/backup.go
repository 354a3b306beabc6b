package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tidemark runs the operator's command and gives what it printed.
func (s *stage) tidemark(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, s.command(), arguments...) //nolint:gosec // fixed words
	for name, value := range s.environment() {
		command.Env = append(command.Env, name+"="+value)
	}
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("tidemark %s: %w: %s", strings.Join(arguments, " "), err, complaint.String())
	}
	return out.String(), nil
}

// archive is what the operator's command is told of the archive: a folder that stands for a bucket, and keys made for it.
func (s *stage) archive() map[string]string {
	return map[string]string{
		"TIDEMARK_ARCHIVE":      "file://" + filepath.Join(s.dir, "archive"),
		"TIDEMARK_TRUSTED_KEYS": filepath.Join(s.dir, "trusted.pem"),
		"TIDEMARK_SIGNING_KEYS": filepath.Join(s.dir, "signing.pem"),
		"TIDEMARK_HIGH_WATER":   "file://" + filepath.Join(s.dir, "newest.json"),
	}
}

// makeArchive makes the folder and the keys.
func (s *stage) makeArchive(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(s.dir, "archive"), 0o700); err != nil {
		return err
	}
	trusted, err := s.tidemark(ctx, "keys", "generate", "--out", s.archive()["TIDEMARK_SIGNING_KEYS"])
	if err != nil {
		return err
	}
	return os.WriteFile(s.archive()["TIDEMARK_TRUSTED_KEYS"], []byte(trusted), 0o600)
}

// backUp makes two backups of the same state and shows the manifests: the second has the first one's objects.
func (s *stage) backUp(ctx context.Context, report *report) error {
	report.line("")
	report.line("tidemark backup, twice")
	for range 2 {
		out, err := s.tidemark(ctx, "backup")
		if err != nil {
			return err
		}
		report.indented(out)
	}
	report.line("")
	report.line("tidemark manifests list")
	out, err := s.tidemark(ctx, "manifests", "list")
	if err != nil {
		return err
	}
	report.indented(out)
	return nil
}

// indented prints what a command printed.
func (r *report) indented(text string) {
	for line := range strings.Lines(text) {
		r.line("  " + strings.TrimRight(line, "\n"))
	}
}
