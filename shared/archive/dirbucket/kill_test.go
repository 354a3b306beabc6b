package dirbucket_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/dirbucket"
	"tidemark/shared/manifest"
)

// The test binary is its own victim: with -writer it writes into that folder until it dies.
var (
	writerDir   = flag.String("writer", "", "write objects into this folder until killed")
	writerLooks = flag.Int("looks", 0, "die when the context is looked at for the nth time; 0: never")
)

func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": "25", "rapid.nofailfile": "true"} { // each act waits for the disk
		if err := flag.Set(name, value); !given[name] && err != nil {
			panic(err)
		}
	}
	if *writerDir != "" {
		if err := writeUntilKilled(*writerDir, *writerLooks); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// mine is a context that kills the process when it is looked at for the nth time.
type mine struct {
	context.Context //nolint:containedctx // it is a context
	left            int
}

func (m *mine) Err() error {
	if m.left--; m.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal comes
	}
	return m.Context.Err()
}

// writeUntilKilled creates objects whose keys are the digests of what they hold, and prints every key that is created. With
// looks it writes one.
func writeUntilKilled(dir string, looks int) error {
	bucket, err := dirbucket.Open(dir)
	if err != nil {
		return err
	}
	for {
		content := make([]byte, 5<<20+7)
		if _, err := rand.Read(content); err != nil {
			return err
		}
		digest := manifest.DigestOf(content).String()
		key := "objects/" + digest[:2] + "/" + digest
		if err := bucket.Create(&mine{Context: context.Background(), left: looks}, key, content); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, key); err != nil {
			return err
		}
		if looks > 0 {
			return nil
		}
	}
}

// writer starts the victim, which must be waited for.
func writer(t *testing.T, dir string, looks int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-writer", dir, "-looks", fmt.Sprint(looks)) //nolint:gosec // the test itself
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// wasKilled waits for the victim's end.
func wasKilled(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status, ok := exit.Sys().(syscall.WaitStatus)
		return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	}
	must(t, err)
	return false
}

// mustBeWhole checks that every listed object has what its key says, and that every promised one is there.
func mustBeWhole(t *testing.T, dir string, promised []string) (objects int) {
	t.Helper()
	bucket := open(t, dir)
	for info, err := range bucket.List(t.Context(), "") {
		must(t, err)
		content, err := bucket.Read(t.Context(), info.Key, archive.Span{Limit: 16 << 20})
		if err != nil || manifest.DigestOf(content).String() != path.Base(info.Key) || info.Size != int64(len(content)) {
			t.Errorf("%s has %d bytes that are not it: %v", info.Key, len(content), err)
		}
		objects++
	}
	for _, key := range promised {
		if _, err := bucket.Stat(t.Context(), key); err != nil {
			t.Errorf("the killed process had created %s: %v", key, err)
		}
	}
	return objects
}

// TestCreateKilledAtEveryChunk kills the writer between any two chunks, before the first and after the last.
func TestCreateKilledAtEveryChunk(t *testing.T) {
	t.Parallel()
	halves := 0
	for looks := 1; ; looks++ {
		dir := t.TempDir()
		cmd, _ := writer(t, dir, looks)
		if !wasKilled(t, cmd) {
			if objects := mustBeWhole(t, dir, nil); objects != 1 {
				t.Errorf("a writer that lived left %d objects, want 1", objects)
			}
			break
		}
		if objects := mustBeWhole(t, dir, nil); objects != 0 {
			t.Errorf("look %d: a writer that was killed before it published left %d objects", looks, objects)
		}
		halves += len(partials(t, dir))
		// Nothing that it left is in the way of the next writer.
		next, _ := writer(t, dir, 1_000)
		if wasKilled(t, next) || mustBeWhole(t, dir, nil) != 1 {
			t.Errorf("look %d: the next writer did not create the object", looks)
		}
	}
	t.Logf("%d writers died with a partial file", halves)
	if halves < 6 { // 5 MiB in chunks of one, and the end
		t.Errorf("%d writers died with a partial file, want at least 6", halves)
	}
}

// TestCreateKilledAtAnyTime kills a busy writer from outside, wherever it is.
func TestCreateKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 12 {
		sub := t.TempDir()
		if round%2 == 0 {
			sub = dir // it also goes on where others died
		}
		cmd, lines := writer(t, sub, 0)
		var promised []string
		for len(promised) < round && lines.Scan() {
			if key := lines.Text(); strings.HasPrefix(key, "objects/") {
				promised = append(promised, key)
			}
			if sub == dir {
				break
			}
		}
		must(t, cmd.Process.Kill())
		for lines.Scan() {
			promised = append(promised, lines.Text())
		}
		if !wasKilled(t, cmd) {
			t.Fatal("the writer ended before it was killed")
		}
		mustBeWhole(t, sub, promised)
	}
}
