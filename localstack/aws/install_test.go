package aws

import (
	"context"
	"flag"
	"os"
	"os/exec"
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

// DirOf is the folder of a stand-in.
func DirOf(s *Server) string { return s.host.dir }

// python is a program in an interpreter's place. It says which version it is; "-m venv DIR" copies it into DIR/bin, and
// "-m pip" writes down what it is told, its standard input included.
func python(t *testing.T, version string) (file, calls string) {
	t.Helper()
	dir := t.TempDir()
	file, calls = filepath.Join(dir, "python3"), filepath.Join(dir, "calls")
	script := "#!/bin/sh\nset -e\n" +
		`case "$1 $2" in` + "\n" +
		`"-m venv") mkdir -p "$3/bin"; cp "` + file + `" "$3/bin/python" ;;` + "\n" +
		`"-m pip") { echo "$@"; cat; } >>"` + calls + `" ;;` + "\n" +
		`*) echo "` + version + " " + file + `" ;;` + "\n" +
		"esac\n"
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return file, calls
}

func testProgram() program {
	return program{name: "Stand-in", version: "1.0", oldest: 12, packages: "standin==1.0 --hash=sha256:00\n"}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	found, calls := python(t, "3 13")
	p, options := testProgram(), Options{Python: found, CacheDir: filepath.Join(t.TempDir(), "cache")}
	var together sync.WaitGroup
	for range 3 {
		together.Go(func() {
			if _, err := p.install(t.Context(), options); err != nil {
				t.Error(err)
			}
		})
	}
	together.Wait()
	before := read(t, calls)
	for _, want := range []string{"--require-hashes", "--no-build-isolation", setupPackages, p.packages} {
		if !strings.Contains(before, want) {
			t.Errorf("got pip called with %q, want %q in it", before, want)
		}
	}
	// What is there needs no interpreter but its own.
	options.Python = filepath.Join(t.TempDir(), "none")
	installed, err := p.install(t.Context(), options)
	if err != nil || read(t, calls) != before {
		t.Errorf("got %q, %v, want what is in the cache, not installed again", installed, err)
	}
	if left := entries(t, options.CacheDir); len(left) != 1 {
		t.Errorf("got %q in the cache, want the one installation", left)
	}

	// Another list has a folder of its own.
	options.Python = found
	changed := p
	changed.packages = "standin==1.1 --hash=sha256:00\n"
	other, err := changed.install(t.Context(), options)
	if err != nil || other == installed {
		t.Errorf("got %q, %v, want another folder than that of the first list", other, err)
	}
}

// TestInstallReplacesOneWhoseInterpreterIsGone has a folder that points to a Python which was removed from the machine.
func TestInstallReplacesOneWhoseInterpreterIsGone(t *testing.T) {
	t.Parallel()
	found, _ := python(t, "3 13")
	p, options := testProgram(), Options{Python: found, CacheDir: t.TempDir()}
	installed, err := p.install(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(installed); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "none"), installed); err != nil {
		t.Fatal(err)
	}
	if again, err := p.install(t.Context(), options); err != nil || read(t, again) != read(t, found) {
		t.Errorf("got %q, %v, want it installed again", again, err)
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	old, _ := python(t, "3 11")
	two, _ := python(t, "2 7")
	offline := filepath.Join(t.TempDir(), "python3")
	script := "#!/bin/sh\nif [ \"$1\" = -c ]; then echo 3 12 $0; else echo no index >&2; exit 1; fi\n"
	if err := os.WriteFile(offline, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ python, text string }{
		"AnOldInterpreter":     {old, "is Python 3.11"},
		"AnOlderInterpreter":   {two, "is Python 2.7"},
		"AMissingInterpreter":  {filepath.Join(t.TempDir(), "none"), "Python 3.12 or later"},
		"WhatIsNoInterpreter":  {"/bin/true", "it says"},
		"ToGoOnWithoutAnIndex": {offline, "no index"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			_, err := testProgram().install(t.Context(), Options{Python: c.python, CacheDir: cache})
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want misconfigured and %q", err, c.text)
			}
			for _, way := range []string{"Endpoint", "install Python 3.12", "package index"} {
				if !strings.Contains(fault.HintOf(err), way) {
					t.Errorf("got the hint %q, want it to name %s", fault.HintOf(err), way)
				}
			}
			if left := entries(t, cache); len(left) != 0 {
				t.Errorf("got %q in the cache, want nothing", left)
			}
		})
	}
}

func TestPackagesArePinned(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]program{"localstack-core": localStack(), "ministack": miniStack()} {
		if !strings.Contains("\n"+p.packages, "\n"+name+"=="+p.version+" ") {
			t.Errorf("the packages have no %s %s", name, p.version)
		}
		for line := range strings.Lines(p.packages) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "--hash=sha256:") {
				continue
			}
			if !strings.Contains(line, "==") || !strings.HasSuffix(line, `\`) {
				t.Errorf("%s: the line %q pins nothing", name, line)
			}
		}
	}
}

// TestLauncherRefusesOtherAddresses binds sockets under the launcher's rule, as a later version of a stand-in might.
func TestLauncherRefusesOtherAddresses(t *testing.T) {
	t.Parallel()
	found, err := testProgram().findPython(t.Context(), "")
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "loopback.py"), []byte(launcher), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		`("127.0.0.1", 0)`: true, `("localhost", 0)`: true, `("", 0)`: false, `("0.0.0.0", 0)`: false, `("192.0.2.1", 0)`: false,
	} {
		const rule = "import sys, socket; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True; import loopback\n" +
			"sys.addaudithook(loopback.refuse_other_addresses); socket.socket().bind(eval(sys.argv[2]))"
		output, err := exec.CommandContext(t.Context(), found, "-c", rule, dir, address).CombinedOutput() //nolint:gosec // an interpreter
		if (err == nil) != want || !want && !strings.Contains(string(output), "only loopback is allowed here") {
			t.Errorf("bind %s: got %v, %s, want success to be %v", address, err, output, want)
		}
	}
}

// TestStartShowsWhyItEnded has a program that ends at once: its last words are in the error, and nothing is left.
func TestStartShowsWhyItEnded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho no room here >&2\nexit 1\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startDeadline)
	defer cancel()
	_, err := newHost(ctx, miniStack(), file, Region)
	if err == nil || !strings.Contains(err.Error(), "no room here") {
		t.Errorf("got %v, want what the program said", err)
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
