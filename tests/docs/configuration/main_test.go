package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/shared/config"
)

func TestReference(t *testing.T) {
	t.Parallel()
	t.Run("IsCurrent", func(t *testing.T) {
		t.Parallel()
		var stderr bytes.Buffer
		if code := run([]string{"-check", "-file", "../../../docs/configuration.md"}, &stderr); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
	})
	t.Run("NamesTheFirstStaleLine", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "page.md")
		var stderr bytes.Buffer
		if code := run([]string{"-check", "-file", path}, &stderr); code != 1 {
			t.Errorf("missing file: exit code %d", code)
		}
		if code := run([]string{"-file", path}, &stderr); code != 0 {
			t.Fatalf("write: exit code %d: %s", code, stderr.String())
		}
		if code := run([]string{"-check", "-file", path}, &stderr); code != 0 {
			t.Errorf("fresh file: exit code %d: %s", code, stderr.String())
		}
		stale := strings.Replace(page(), "## Variables", "## Variable", 1)
		if err := os.WriteFile(path, []byte(stale), 0o600); err != nil {
			t.Fatal(err)
		}
		stderr.Reset()
		if code := run([]string{"-check", "-file", path}, &stderr); code != 1 {
			t.Errorf("stale file: exit code %d", code)
		}
		want := path + ":9 is stale; run go run ./tests/docs/configuration\n- ## Variable\n+ ## Variables\n"
		if got := stderr.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("RefusesUnknownFlags", func(t *testing.T) {
		t.Parallel()
		var stderr bytes.Buffer
		if code := run([]string{"-chek"}, &stderr); code != 2 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("NamesEverySetting", func(t *testing.T) {
		t.Parallel()
		content := page()
		settings := union(config.ApplySettings(), config.Backup{}.Settings(), config.Command{}.Settings(), config.Archivist{}.Settings(),
			config.Recovery{}.Settings(), config.FlowSettings(), config.Plain{}.Settings())
		for _, s := range settings {
			if strings.Count(content, "\n| `"+s.Name+"` |") != 1 {
				t.Errorf("%s does not have its one row", s.Name)
			}
			if s.Meaning == "" || s.Takes == "" {
				t.Errorf("%s says not what it means and takes", s.Name)
			}
		}
	})
}
