//go:build integration

package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestBinaries builds what a deployment packages and reads it.
func TestBinaries(t *testing.T) {
	t.Parallel()
	const version = "v0.0.0-stamped"
	out, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("keys: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // fixed words
	output(t, exec.CommandContext(t.Context(), "make", "-C", "../..", "build", "OUT="+out, "VERSION="+version, "KEYS="+keys))
	machines := map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64}
	for path, b := range map[string]struct{ arch, tags string }{
		"apply/bootstrap":               {"arm64", "lambda.norpc"},
		"linux-arm64/apply/bootstrap":   {"arm64", "lambda.norpc"},
		"linux-amd64/apply/bootstrap":   {"amd64", "lambda.norpc"},
		"backup/bootstrap":              {"arm64", "lambda.norpc"},
		"linux-arm64/backup/bootstrap":  {"arm64", "lambda.norpc"},
		"linux-amd64/backup/bootstrap":  {"amd64", "lambda.norpc"},
		"verify/bootstrap":              {"arm64", "lambda.norpc"},
		"recover/bootstrap":             {"arm64", "lambda.norpc"},
		"linux-amd64/recover/bootstrap": {"amd64", "lambda.norpc"},
		"linux-arm64/tidemark":          {"arm64", ""},
		"linux-amd64/tidemark":          {"amd64", ""},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(out, path)
			isStatic(t, path, machines[b.arch])
			info, err := buildinfo.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			for key, want := range map[string]string{
				"GOOS": "linux", "GOARCH": b.arch, "CGO_ENABLED": "0", "-trimpath": "true", "-tags": b.tags,
			} {
				if settings[key] != want {
					t.Errorf("%s: got %q, want %q", key, settings[key], want)
				}
			}
			if !bytes.Contains([]byte(read(t, path)), []byte(version)) {
				t.Errorf("it does not name its version %s", version)
			}
		})
	}
	t.Run("PackagesHoldTheirFiles", func(t *testing.T) {
		t.Parallel()
		flow, trusted := map[string]string{"flow.yaml": read(t, sampleFlow)}, map[string]string{"trusted-keys.yaml": read(t, keys)}
		both := map[string]string{"flow.yaml": read(t, sampleFlow), "trusted-keys.yaml": read(t, keys)}
		for name, files := range map[string]map[string]string{"apply": flow, "backup": trusted, "verify": both, "recover": both} {
			holds(t, filepath.Join(out, name), files)
		}
	})
}

// holds checks that a package is the binary and files with that content.
func holds(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for file, want := range files {
		if got := read(t, filepath.Join(dir, file)); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1+len(files) {
		t.Errorf("got %v in the package %s, want bootstrap and %d files", entries, dir, len(files))
	}
}

// isStatic checks that the binary is one for the machine and asks for no loader and no library.
func isStatic(t *testing.T, path string, machine elf.Machine) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // read only: nothing is lost
	if file.Machine != machine || file.Class != elf.ELFCLASS64 {
		t.Errorf("got a program for %s %s, want %s", file.Machine, file.Class, machine)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a segment %s: it is not static", segment.Type)
		}
	}
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it asks for the libraries %v (%v)", libraries, err)
	}
}
