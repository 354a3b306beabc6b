package minio

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"tidemark/shared/fault"
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// compiler is a program in go's place.
func compiler(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nset -e\n"+script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return file
}

func TestInstallBinary(t *testing.T) {
	t.Parallel()
	calls := filepath.Join(t.TempDir(), "calls")
	builds := compiler(t, `mkdir -p "$GOBIN"; echo "$@" >>"`+calls+`"; echo built >"$GOBIN/minio"`+"\n")
	cache := filepath.Join(t.TempDir(), "cache")
	var together sync.WaitGroup
	for range 3 {
		together.Go(func() {
			binary, err := installBinary(t.Context(), builds, cache)
			if err != nil || filepath.Base(filepath.Dir(binary)) != "minio-"+version {
				t.Errorf("got %q, %v, want a folder that is named after the version", binary, err)
			}
		})
	}
	together.Wait()
	before := read(t, calls)
	if want := "install " + module + "@" + version + "\n"; !strings.HasPrefix(before, want) {
		t.Errorf("got go called with %q, want %q", before, want)
	}
	binary, err := installBinary(t.Context(), builds, cache)
	if err != nil || read(t, binary) != "built\n" {
		t.Errorf("got %q, %v, want the program that was built", binary, err)
	}
	if read(t, calls) != before {
		t.Error("what is in the cache was built again")
	}
	if left := entries(t, cache); len(left) != 1 {
		t.Errorf("got %q in the cache, want the one program", left)
	}
}

func TestInstallBinaryLeavesNothingOfAFailedBuild(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	_, err := installBinary(t.Context(), compiler(t, "mkdir -p $GOBIN; echo x >$GOBIN/minio; echo no proxy >&2; exit 1\n"), cache)
	if !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "no proxy") {
		t.Errorf("got %v, want misconfigured and what go said", err)
	}
	if left := entries(t, cache); len(left) != 0 {
		t.Errorf("got %q in the cache, want nothing", left)
	}
}

func TestStartRefusesAMissingProgram(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Binary: filepath.Join(t.TempDir(), "none")})
	if !fault.Is(err, fault.Misconfigured) {
		t.Fatalf("got %v, want misconfigured", err)
	}
	for _, way := range []string{"Endpoint", "Binary", "module proxy"} {
		if !strings.Contains(fault.HintOf(err), way) {
			t.Errorf("got the hint %q, want it to name %s", fault.HintOf(err), way)
		}
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file) //nolint:gosec // in a test's folder
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
