// Package childtest holds what the tests of servers that are child processes have in common: waiting for what comes sooner or
// later, and the promise that a server dies with the process that started it.
//
// It refuses to know what a server is. It keeps a flag in the test binary, by which a test runs a second time in a process of
// its own.
package childtest

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Deadline is for what happens at once and may take long on a busy machine.
const Deadline = 30 * time.Second

//nolint:gochecknoglobals // a flag is there before main begins
var asHelper = flag.Bool("child.helper", false, "start a server, print its address and a path of its own, and wait to be killed")

// Eventually waits until it is so, and fails the test at the deadline.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	Within(t, Deadline, what, is)
}

// Within is Eventually with a deadline of the caller's. It asks often: what is waited for may pass.
func Within(t *testing.T, deadline time.Duration, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	after := time.After(deadline)
	for !is() {
		select {
		case <-tick.C:
		case <-after:
			t.Fatalf("never: %s", what)
		}
	}
}

// DiesWithItsProcess runs the calling test, which must be of the top level, once more in a second process, where start starts a
// server and gives its address and a path that goes with it, and kills that process: nobody is left to stop the server.
func DiesWithItsProcess(t *testing.T, start func() (address, path string), isGone func(address string) bool) {
	t.Helper()
	if *asHelper {
		address, path := start()
		_, _ = fmt.Fprintf(os.Stdout, "%s\n%s\n", address, path) // nobody reads it once this process is to die
		select {
		case <-time.After(time.Minute):
		case <-t.Context().Done():
		}
		return
	}
	address, path := orphan(t)
	Eventually(t, "the server is gone", func() bool { return isGone(address) })
	Eventually(t, "its path is gone", func() bool {
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist)
	})
}

// orphan starts the second process and kills it as soon as it has said what it started.
func orphan(t *testing.T) (address, path string) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable, "-test.run=^"+t.Name()+"$", "-child.helper") //nolint:gosec // this binary
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	var printed []string
	for len(printed) < 2 && lines.Scan() {
		printed = append(printed, lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || len(printed) < 2 {
		t.Fatalf("got %v after the lines %q, want a killed process and its server's address", err, printed)
	}
	return printed[0], printed[1]
}
