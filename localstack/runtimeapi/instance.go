package runtimeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"tidemark/localstack/child"
)

// instance is one process and the Runtime API that it alone speaks to.
type instance struct {
	cmd    *exec.Cmd
	output *tailWriter
	onPost func(requestID string, body []byte) (drop bool)

	ready      chan struct{} // closed at the first request for work
	readyOnce  sync.Once
	initFailed chan *FunctionError // holds the first error that the start reported
	work       chan *invocation    // unbuffered: given to a request for work that is waiting
	dead       chan struct{}       // closed when the process is gone and its API closed
	exit       error               // how it ended; read after dead

	mu      sync.Mutex
	current *invocation // the one whose reply is awaited
}

// startInstance opens a listener, then starts the process. The process outlives ctx.
func startInstance(ctx context.Context, options Options, output *sharedWriter) (*instance, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the Runtime API: %w", err)
	}
	i := &instance{
		output: &tailWriter{shared: output}, onPost: options.OnResponse,
		ready: make(chan struct{}), initFailed: make(chan *FunctionError, 1),
		work: make(chan *invocation), dead: make(chan struct{}),
	}
	i.cmd = exec.Command(options.Bootstrap) //nolint:gosec,noctx // the caller's binary; ended by end and kill
	i.cmd.Dir = filepath.Dir(options.Bootstrap)
	i.cmd.Env = environment(options, listener.Addr().String())
	i.cmd.Stdout, i.cmd.Stderr = i.output, i.output
	i.cmd.WaitDelay = time.Second // a grandchild may hold the output open
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := i.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the process: %w", err), listener.Close())
	}
	server := &http.Server{Handler: i.api(options), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends by Close
	}()
	go func() {
		i.exit = i.cmd.Wait()
		_ = server.Close() // the process is gone: nobody is left to tell
		<-served
		close(i.dead)
	}()
	return i, nil
}

// environment is what Lambda sets, then what the caller adds.
func environment(options Options, address string) []string {
	root := filepath.Dir(options.Bootstrap)
	env := []string{
		"AWS_LAMBDA_RUNTIME_API=" + address,
		"AWS_LAMBDA_FUNCTION_NAME=" + options.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(options.MemoryMB),
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + options.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=local",
		"AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023",
		"AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region,
		"LAMBDA_TASK_ROOT=" + root, "LAMBDA_RUNTIME_DIR=" + root,
		"_HANDLER=bootstrap", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=en_US.UTF-8", "TZ=:UTC",
	}
	for name, value := range options.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// awaitReady waits until the process asks for work.
func (i *instance) awaitReady(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-i.ready:
		return nil
	case reported := <-i.initFailed:
		return reported
	case <-i.dead:
		return i.startDied()
	case <-timer.C:
		return fmt.Errorf("no request for work within %s: %w: %s", limit, ErrTimedOut, i.output.tail())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startDied explains a process that ended in its start: by the error that it reported, if it came to that.
func (i *instance) startDied() error {
	select {
	case reported := <-i.initFailed:
		return reported
	default:
		return i.died()
	}
}

func (i *instance) died() error {
	return fmt.Errorf("%w (%s): %s", ErrDied, exitText(i.exit), bytes.TrimSpace([]byte(i.output.tail())))
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// invoke hands the invocation over and waits for its end. handedOver is called once the process has it.
func (i *instance) invoke(ctx context.Context, call *invocation, handedOver func()) ([]byte, error) {
	timer := time.NewTimer(time.Until(call.deadline))
	defer timer.Stop()
	select {
	case i.work <- call:
		handedOver()
	case <-i.dead:
		return nil, errNotTaken
	case <-timer.C:
		return nil, fmt.Errorf("the process did not ask for work: %w", ErrTimedOut)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case end := <-call.end:
		return end.reply, end.err
	case <-i.dead:
		return i.lastWord(call)
	case <-timer.C:
		return nil, ErrTimedOut
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lastWord prefers what the process posted before it died: after a panic it reports the error and then exits.
func (i *instance) lastWord(call *invocation) ([]byte, error) {
	select {
	case end := <-call.end:
		return end.reply, end.err
	default:
		return nil, i.died()
	}
}

func (i *instance) isDead() bool {
	select {
	case <-i.dead:
		return true
	default:
		return false
	}
}

func (i *instance) pid() int { return i.cmd.Process.Pid }

// signal reaches the process and all that it started.
func (i *instance) signal(signal syscall.Signal) error {
	if err := syscall.Kill(-i.pid(), signal); err != nil {
		return fmt.Errorf("signal the function's process: %w", err)
	}
	return nil
}

func (i *instance) freeze() error {
	if err := i.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if err := child.AwaitStopped(i.pid()); err != nil {
		return fmt.Errorf("wait for the function's process to stand still: %w", err)
	}
	return nil
}

// kill sends SIGKILL and waits until the process is gone.
func (i *instance) kill() {
	if !i.isDead() {
		_ = i.signal(syscall.SIGKILL) // fails only when the process is gone, which is what is waited for
	}
	<-i.dead
}

// end asks the process to stop, waits for the grace and then insists. SIGCONT first: a frozen process cannot obey.
func (i *instance) end(grace time.Duration) {
	if i.isDead() {
		return
	}
	_ = i.signal(syscall.SIGTERM) // as in kill
	_ = i.signal(syscall.SIGCONT)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-i.dead:
	case <-timer.C:
		i.kill()
	}
}
