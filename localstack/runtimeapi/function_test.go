package runtimeapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/localstack/runtimeapi"
	"tidemark/shared/fault"
)

var bootstrapDir string

// TestMain builds the function that the tests host.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bootstrapDir, err = os.MkdirTemp("", "tidemark-bootstrap-"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(bootstrapDir) }()
		build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", binary(), "./testdata/bootstrap") //nolint:gosec,noctx // a constant command that ends by itself
		if output, err := build.CombinedOutput(); err != nil {
			panic(string(output))
		}
		code := m.Run()
		if err := goleak.Find(); err != nil && code == 0 {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			return 1
		}
		return code
	}())
}

func binary() string { return filepath.Join(bootstrapDir, "echo", "bootstrap") }

// function makes a Function with generous limits whose process is gone when the test ends.
func function(t *testing.T, change func(*runtimeapi.Options)) *runtimeapi.Function {
	t.Helper()
	options := runtimeapi.Options{Bootstrap: binary(), Timeout: 30 * time.Second, InitTimeout: 30 * time.Second}
	if change != nil {
		change(&options)
	}
	f, err := runtimeapi.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f
}

type answer struct {
	Text, Name, ARN, Own, Home string
	Pid                        int
	Deadline                   int64
}

func echo(t *testing.T, f *runtimeapi.Function, text string) answer {
	t.Helper()
	payload, _ := json.Marshal(map[string]string{"verb": "echo", "text": text})
	reply, err := f.Invoke(t.Context(), payload)
	if err != nil {
		t.Fatalf("echo: %v", err)
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		t.Fatalf("echo: %v in %s", err, reply)
	}
	if a.Text != text {
		t.Fatalf("echo: got %q, want %q", a.Text, text)
	}
	return a
}

// watched is an output that tells when a text has been written.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	seen chan struct{}
}

func watch(want string) *watched { return &watched{want: want, seen: make(chan struct{})} }

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Contains(w.text.String(), w.want)
	w.text.Write(p)
	if !before && strings.Contains(w.text.String(), w.want) {
		close(w.seen)
	}
	return len(p), nil
}

func (w *watched) await(t *testing.T) {
	t.Helper()
	select {
	case <-w.seen:
	case <-time.After(30 * time.Second):
		t.Fatalf("the function never wrote %q", w.want)
	}
}

func TestFunction(t *testing.T) {
	t.Parallel()

	t.Run("StartsWithTheFirstInvocationAndStaysWarm", func(t *testing.T) {
		t.Parallel()
		f := function(t, func(o *runtimeapi.Options) { o.Env = map[string]string{"OWN": "yes"} })
		if f.Pid() != 0 {
			t.Errorf("got pid %d before the first invocation, want none", f.Pid())
		}
		before := time.Now().UnixMilli()
		first, second := echo(t, f, "one"), echo(t, f, "two")
		if first.Pid != second.Pid || first.Pid != f.Pid() {
			t.Errorf("got pids %d, %d and %d, want one process", first.Pid, second.Pid, f.Pid())
		}
		want := runtimeapi.Counts{ColdStarts: 1, Invocations: 2}
		if got := f.Counts(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if first.Name != "echo" || !strings.HasSuffix(first.ARN, ":function:echo") {
			t.Errorf("got name %q and ARN %q, want echo", first.Name, first.ARN)
		}
		if first.Own != "yes" || first.Home != "" {
			t.Errorf("got OWN=%q HOME=%q, want the caller's variable and nothing inherited", first.Own, first.Home)
		}
		if limit := before + 30_000; first.Deadline < limit || first.Deadline > limit+20_000 {
			t.Errorf("got deadline %d, want about %d", first.Deadline, limit)
		}
	})

	t.Run("TakesTurns", func(t *testing.T) {
		t.Parallel()
		f := function(t, nil)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := f.Invoke(t.Context(), []byte(`{"verb":"echo"}`)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got, want := f.Counts(), (runtimeapi.Counts{ColdStarts: 1, Invocations: 8}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})

	t.Run("ReportsTheFunctionsError", func(t *testing.T) {
		t.Parallel()
		f := function(t, nil)
		_, err := f.Invoke(t.Context(), []byte(`{"verb":"fail","text":"row 7 is wrong"}`))
		reported, ok := errors.AsType[*runtimeapi.FunctionError](err)
		if !ok || reported.Message != "row 7 is wrong" || reported.Type != "errorString" {
			t.Fatalf("got %v, want the function's error", err)
		}
		echo(t, f, "still there")
		if got := f.Counts().ColdStarts; got != 1 {
			t.Errorf("got %d cold starts, want 1: an error does not end the process", got)
		}
	})

	t.Run("ReportsAPanicAndStartsAnew", func(t *testing.T) {
		t.Parallel()
		f := function(t, nil)
		_, err := f.Invoke(t.Context(), []byte(`{"verb":"panic","text":"boom"}`))
		reported, ok := errors.AsType[*runtimeapi.FunctionError](err)
		if !ok || reported.Message != "boom" {
			t.Fatalf("got %v, want the panic's message", err)
		}
		echo(t, f, "anew")
		if got := f.Counts().ColdStarts; got != 2 {
			t.Errorf("got %d cold starts, want 2", got)
		}
	})

	t.Run("SaysThatTheProcessExited", func(t *testing.T) {
		t.Parallel()
		f := function(t, nil)
		_, err := f.Invoke(t.Context(), []byte(`{"verb":"exit"}`))
		if !errors.Is(err, runtimeapi.ErrDied) || !strings.Contains(err.Error(), "exit status 7") {
			t.Fatalf("got %v, want ErrDied with the status", err)
		}
		echo(t, f, "anew")
	})

	t.Run("RefusesAResponseAboveTheLimit", func(t *testing.T) {
		t.Parallel()
		f := function(t, nil)
		_, err := f.Invoke(t.Context(), []byte(`{"verb":"large"}`))
		reported, ok := errors.AsType[*runtimeapi.FunctionError](err)
		if !ok || reported.Type != "Function.ResponseSizeTooLarge" {
			t.Fatalf("got %v, want the limit", err)
		}
		echo(t, f, "after it")
	})

	t.Run("RefusesAPayloadAboveTheLimit", func(t *testing.T) {
		t.Parallel()
		f := function(t, nil)
		if _, err := f.Invoke(t.Context(), make([]byte, 6<<20+1)); err == nil || f.Pid() != 0 {
			t.Errorf("got %v and pid %d, want a refusal before any process starts", err, f.Pid())
		}
	})

	t.Run("RefusesAMissingBinary", func(t *testing.T) {
		t.Parallel()
		_, err := runtimeapi.New(runtimeapi.Options{Bootstrap: filepath.Join(t.TempDir(), "bootstrap")})
		if !fault.Is(err, fault.Misconfigured) {
			t.Errorf("got %v, want misconfigured", err)
		}
	})
}

func TestFunctionTimeout(t *testing.T) {
	t.Parallel()

	t.Run("SendsSIGTERMThenStartsAnew", func(t *testing.T) {
		t.Parallel()
		output := watch("saw SIGTERM")
		f := function(t, func(o *runtimeapi.Options) {
			o.Timeout, o.Grace, o.Output = time.Second, 30*time.Second, output
			o.Env = map[string]string{"BOOTSTRAP_SIGTERM": "1"}
		})
		if _, err := f.Invoke(t.Context(), []byte(`{"verb":"hang"}`)); !errors.Is(err, runtimeapi.ErrTimedOut) {
			t.Fatalf("got %v, want a time-out", err)
		}
		output.await(t)
		if f.Pid() != 0 {
			t.Errorf("got pid %d after a time-out, want none", f.Pid())
		}
		echo(t, f, "anew")
	})

	t.Run("KillsAProcessThatCannotObey", func(t *testing.T) {
		t.Parallel()
		f := function(t, func(o *runtimeapi.Options) {
			o.Timeout, o.Grace = time.Second, 10*time.Millisecond
		})
		echo(t, f, "warm")
		if err := f.Freeze(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Invoke(t.Context(), []byte(`{"verb":"hang"}`)); !errors.Is(err, runtimeapi.ErrTimedOut) {
			t.Fatalf("got %v, want a time-out", err)
		}
		echo(t, f, "anew")
	})

	t.Run("EndsTheProcessWhenTheCallerGoesAway", func(t *testing.T) {
		t.Parallel()
		output := watch("hanging")
		f := function(t, func(o *runtimeapi.Options) { o.Output = output })
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-output.seen
			cancel()
		}()
		if _, err := f.Invoke(ctx, []byte(`{"verb":"hang"}`)); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
		echo(t, f, "anew")
	})
}

func TestFunctionKill(t *testing.T) {
	t.Parallel()

	t.Run("InTheMiddleOfAnInvocation", func(t *testing.T) {
		t.Parallel()
		output := watch("hanging")
		f := function(t, func(o *runtimeapi.Options) { o.Output = output })
		killed := make(chan error, 1)
		go func() {
			<-output.seen
			killed <- f.Kill()
		}()
		_, err := f.Invoke(t.Context(), []byte(`{"verb":"hang"}`))
		if !errors.Is(err, runtimeapi.ErrDied) || !strings.Contains(err.Error(), "killed") {
			t.Errorf("got %v, want ErrDied by the signal", err)
		}
		if err := <-killed; err != nil {
			t.Error(err)
		}
		echo(t, f, "anew")
	})

	t.Run("BetweenInvocations", func(t *testing.T) {
		t.Parallel()
		f := function(t, nil)
		echo(t, f, "one")
		if err := f.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := f.Kill(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("got %v, want os.ErrProcessDone: nothing is left to kill", err)
		}
		echo(t, f, "two")
	})

	t.Run("AfterTheWorkBeforeTheReply", func(t *testing.T) {
		t.Parallel()
		var f *runtimeapi.Function
		kill := true
		f = function(t, func(o *runtimeapi.Options) {
			o.OnResponse = func(string, []byte) bool {
				if !kill {
					return false
				}
				kill = false
				if err := f.Kill(); err != nil {
					t.Error(err)
				}
				return true
			}
		})
		if _, err := f.Invoke(t.Context(), []byte(`{"verb":"echo"}`)); !errors.Is(err, runtimeapi.ErrDied) &&
			!errors.Is(err, runtimeapi.ErrReplyDropped) {
			t.Errorf("got %v, want no reply", err)
		}
		echo(t, f, "anew")
	})
}

func TestFunctionOnResponse(t *testing.T) {
	t.Parallel()
	var posted []string
	f := function(t, func(o *runtimeapi.Options) {
		o.OnResponse = func(_ string, body []byte) bool {
			posted = append(posted, string(body))
			return len(posted) == 1
		}
	})
	if _, err := f.Invoke(t.Context(), []byte(`{"verb":"echo"}`)); !errors.Is(err, runtimeapi.ErrReplyDropped) {
		t.Errorf("got %v, want ErrReplyDropped", err)
	}
	echo(t, f, "second")
	if len(posted) != 2 || f.Counts().ColdStarts != 1 {
		t.Errorf("got %d replies and %d cold starts, want 2 and 1", len(posted), f.Counts().ColdStarts)
	}
}

func TestFunctionFreeze(t *testing.T) {
	t.Parallel()
	f := function(t, nil)
	echo(t, f, "warm")
	if err := f.Freeze(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := f.Invoke(t.Context(), []byte(`{"verb":"echo"}`))
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("got an end (%v) from a frozen process", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := f.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFunctionFreezeThenStop(t *testing.T) {
	t.Parallel()
	output := watch("saw SIGTERM")
	f := function(t, func(o *runtimeapi.Options) {
		o.Output, o.Grace, o.Env = output, 30*time.Second, map[string]string{"BOOTSTRAP_SIGTERM": "1"}
	})
	echo(t, f, "warm")
	if err := f.Freeze(); err != nil {
		t.Fatal(err)
	}
	f.Stop()
	output.await(t)
	if err := f.Freeze(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("got %v, want os.ErrProcessDone: nothing is left to freeze", err)
	}
}

func TestFunctionColdStartFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want error
		text string
	}{
		"exit":   {want: runtimeapi.ErrDied, text: "the configuration is wrong"},
		"report": {text: "no flow file"},
		"hang":   {want: runtimeapi.ErrTimedOut, text: "no request for work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := function(t, func(o *runtimeapi.Options) {
				o.Env = map[string]string{"BOOTSTRAP_INIT": name}
				if name == "hang" {
					o.InitTimeout, o.Grace = 200*time.Millisecond, 10*time.Millisecond
				}
			})
			_, err := f.Invoke(t.Context(), []byte(`{}`))
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want %q", err, c.text)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			reported, ok := errors.AsType[*runtimeapi.FunctionError](err)
			if ok != (name == "report") || ok && reported.Type != "Config.Missing" {
				t.Errorf("got %v", err)
			}
			if got := f.Counts().Invocations; got != 0 {
				t.Errorf("got %d invocations, want none", got)
			}
		})
	}
}

func TestFunctionStop(t *testing.T) {
	t.Parallel()
	output := watch("hanging")
	f := function(t, func(o *runtimeapi.Options) { o.Output = output })
	go func() {
		<-output.seen
		f.Stop()
	}()
	if _, err := f.Invoke(t.Context(), []byte(`{"verb":"hang"}`)); !errors.Is(err, runtimeapi.ErrDied) {
		t.Errorf("got %v, want ErrDied", err)
	}
	if _, err := f.Invoke(t.Context(), []byte(`{"verb":"echo"}`)); !errors.Is(err, runtimeapi.ErrStopped) {
		t.Errorf("got %v, want ErrStopped", err)
	}
	f.Stop()
}
