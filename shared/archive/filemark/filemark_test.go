package filemark_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tidemark/shared/archive/filemark"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

// TestMain lets the test binary be the other process: raise PATH FROM UNTIL raises every second mark.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "raise" {
		os.Exit(raiseAll(os.Args[2], os.Args[3], os.Args[4]))
	}
	os.Exit(m.Run())
}

func raiseAll(path, from, until string) int {
	first, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return 2
	}
	last, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return 2
	}
	for seq := first; seq < last; seq += 2 {
		if err := filemark.At(path).Raise(context.Background(), mark(1, seq)); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func mark(lineage position.Lineage, seq int64) history.Mark {
	return history.Mark{Lineage: lineage, Seq: seq, Statement: manifest.DigestOf([]byte(fmt.Sprint(lineage, seq)))}
}

func load(t *testing.T, m filemark.Mark) history.Mark {
	t.Helper()
	found, err := m.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func raise(t *testing.T, m filemark.Mark, to history.Mark) {
	t.Helper()
	if err := m.Raise(t.Context(), to); err != nil {
		t.Fatal(err)
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	t.Run("IsZeroBeforeTheFirst", func(t *testing.T) {
		t.Parallel()
		if got := load(t, filemark.At(filepath.Join(t.TempDir(), "newest.json"))); !got.IsZero() {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("NeverGoesBack", func(t *testing.T) {
		t.Parallel()
		m := filemark.At(filepath.Join(t.TempDir(), "newest.json"))
		for _, step := range []struct{ raise, want history.Mark }{
			{mark(1, 5), mark(1, 5)}, {mark(1, 4), mark(1, 5)}, {mark(1, 6), mark(1, 6)}, {mark(2, 1), mark(2, 1)}, {mark(1, 9), mark(2, 1)},
		} {
			raise(t, m, step.raise)
			if got := load(t, m); got != step.want {
				t.Errorf("after %+v: got %+v, want %+v", step.raise, got, step.want)
			}
		}
	})
	t.Run("KeepsTheFirstOfTwoWithOneNumber", func(t *testing.T) {
		t.Parallel()
		m := filemark.At(filepath.Join(t.TempDir(), "newest.json"))
		raise(t, m, mark(1, 5))
		other := mark(1, 5)
		other.Statement = manifest.DigestOf([]byte("forged"))
		raise(t, m, other)
		if got := load(t, m); got != mark(1, 5) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OverwritesWhatADeadProcessLeft", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "newest.json")
		for _, left := range []string{path + ".new", path + ".lock"} {
			if err := os.WriteFile(left, []byte(strings.Repeat("half", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		raise(t, filemark.At(path), mark(1, 5))
		if got := load(t, filemark.At(path)); got != mark(1, 5) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestMarkUnderManyWriters(t *testing.T) {
	t.Parallel()
	const processes, perProcess, goroutines = 4, 50, 8
	path := filepath.Join(t.TempDir(), "newest.json")
	var group sync.WaitGroup
	for i := range processes {
		group.Go(func() {
			from := i*2*perProcess + 1
			command := exec.CommandContext(t.Context(), os.Args[0], "raise", path, strconv.Itoa(from), strconv.Itoa(from+2*perProcess)) //nolint:gosec // itself
			if output, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		var last history.Mark
		for {
			select {
			case <-stop:
				return
			default:
			}
			found, err := filemark.At(path).Load(t.Context())
			if err != nil || found.Before(last) {
				t.Errorf("went from %+v to %+v: %v", last, found, err)
				return
			}
			last = found
		}
	})
	for i := range goroutines {
		group.Go(func() {
			for seq := int64(i) + 1; seq < 2*processes*perProcess; seq += goroutines {
				if err := filemark.At(path).Raise(t.Context(), mark(1, seq)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	readers.Wait()
	if got, want := load(t, filemark.At(path)), mark(1, 2*processes*perProcess-1); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	whole := `{"version":1,"lineage":"1","seq":"5","statement":"` + string(mark(1, 5).Statement) + `"}`
	for name, content := range map[string]string{
		"AnEmptyFile": "", "Garbage": "garbage", "HalfAMark": whole[:len(whole)/2], "Null": "null", "NoMark": "{}", "AList": "[]",
		"NoVersion":  strings.Replace(whole, `"version":1,`, "", 1),
		"NoSeq":      strings.Replace(whole, `"seq":"5",`, "", 1),
		"SeqZero":    strings.Replace(whole, `"5"`, `"0"`, 1),
		"ANumber":    strings.Replace(whole, `"5"`, `5`, 1),
		"NoDigest":   strings.Replace(whole, string(mark(1, 5).Statement), "", 1),
		"AMember":    strings.Replace(whole, `{`, `{"x":1,`, 1),
		"TwoMarks":   whole + whole,
		"TooMuch":    whole + strings.Repeat(" ", 1<<20),
		"ZeroBytes":  strings.Repeat("\x00", 100),
		"AnOtherOne": `{"version":1,"target_id":"shop"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "newest.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := filemark.At(path).Load(t.Context())
			refused(t, err, fault.Corrupt, path)
			if !found.IsZero() {
				t.Errorf("got %+v beside the error", found)
			}
			refused(t, filemark.At(path).Raise(t.Context(), mark(1, 6)), fault.Corrupt, path)
			if left, err := os.ReadFile(path); err != nil || string(left) != content { //nolint:gosec // of the test's own folder
				t.Errorf("the evidence was changed: %q, %v", left, err)
			}
		})
	}
	t.Run("ANewerVersion", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "newest.json")
		if err := os.WriteFile(path, []byte(`{"version":2}`), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := filemark.At(path).Load(t.Context())
		refused(t, err, fault.Misconfigured, path)
	})
	t.Run("AFolderInItsPlace", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		_, err := filemark.At(path).Load(t.Context())
		refused(t, err, fault.Corrupt, path)
	})
	t.Run("APipeInItsPlace", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "newest.json")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := filemark.At(path).Load(t.Context())
		refused(t, err, fault.Corrupt, path)
	})
	t.Run("AFolderThatIsNotThere", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "unmounted", "newest.json")
		_, err := filemark.At(path).Load(t.Context())
		refused(t, err, fault.Misconfigured, path)
		refused(t, filemark.At(path).Raise(t.Context(), mark(1, 5)), fault.Misconfigured, path)
	})
	t.Run("AMarkOfNothing", func(t *testing.T) {
		t.Parallel()
		m := filemark.At(filepath.Join(t.TempDir(), "newest.json"))
		if err := m.Raise(t.Context(), history.Mark{}); !fault.Is(err, fault.Bug) {
			t.Errorf("got %v", err)
		}
	})
}

func TestRaiseWaitsForTheLockAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "newest.json")
	holder, err := os.Create(path + ".lock") //nolint:gosec // in the test's own folder
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(holder.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- filemark.At(path).Raise(ctx, mark(1, 5)) }()
	cancel()
	if err := <-done; !fault.Is(err, fault.Retryable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	go func() { done <- filemark.At(path).Raise(t.Context(), mark(1, 5)) }()
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := load(t, filemark.At(path)); got != mark(1, 5) {
		t.Errorf("got %+v", got)
	}
}

func refused(t *testing.T, err error, class fault.Class, says string) {
	t.Helper()
	if !fault.Is(err, class) || !strings.Contains(err.Error(), says) || fault.HintOf(err) == "" {
		t.Errorf("got %v of class %v with hint %q, want %v and %s in it", err, fault.ClassOf(err), fault.HintOf(err), class, says)
	}
}
