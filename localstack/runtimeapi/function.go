// Package runtimeapi hosts one Lambda function as a local process: it serves the Lambda Runtime API on loopback, starts
// the function's real bootstrap binary against it and hands it one invocation at a time.
//
// It owns the life of that process (cold start on the first invocation, reuse, time-out, death) and the truth about each
// invocation: a reply that the function did not post is never made up, and every other end is an error with a name. It
// refuses payloads above Lambda's limits and does not poll, retry or schedule: callers do.
//
// Invariants: at most one process a Function; an invocation is handed to at most one process; each process has a listener
// of its own, so a process that was given up can never answer for its successor. A process whose host dies finds the
// Runtime API gone and ends.
//
// Invoke may be called from several goroutines and takes turns. The other methods may be called at any time, also in the
// middle of an invocation, also from Options.OnResponse.
package runtimeapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"tidemark/shared/fault"
)

// Options says which binary is the function and what its surroundings are.
type Options struct {
	Bootstrap string            // the function's binary
	Name      string            // the function's name; empty: the name of the binary's folder
	Env       map[string]string // the function's environment, beside what Lambda sets; nothing is inherited
	MemoryMB  int               // told to the function, not enforced; 0: 512

	Timeout     time.Duration // of one invocation; 0: Lambda's default of 3 s
	InitTimeout time.Duration // from the start of the process to its first request for work; 0: Lambda's 10 s
	Grace       time.Duration // between SIGTERM and SIGKILL; 0: 2 s

	// Output receives what the function writes to its standard output and error. Nil discards it.
	Output io.Writer
	// OnResponse is called with each reply that the function posts, before the function learns that it was taken. When it
	// returns true the reply is dropped: the function sees success, Invoke returns ErrReplyDropped.
	OnResponse func(requestID string, body []byte) (drop bool)
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, filepath.Base(filepath.Dir(o.Bootstrap)))
	o.MemoryMB = cmp.Or(o.MemoryMB, 512)
	o.Timeout = cmp.Or(o.Timeout, 3*time.Second)
	o.InitTimeout = cmp.Or(o.InitTimeout, 10*time.Second)
	o.Grace = cmp.Or(o.Grace, 2*time.Second)
	if o.Output == nil {
		o.Output = io.Discard
	}
	return o
}

func (o Options) validate() error {
	info, err := os.Stat(o.Bootstrap)
	if err != nil {
		return fault.New(fault.Misconfigured, "the function's binary: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return fault.New(fault.Misconfigured, "the function's binary %s: not an executable file", o.Bootstrap)
	}
	return nil
}

// Counts is what a Function did so far.
type Counts struct {
	ColdStarts  int // processes started
	Invocations int // invocations handed to a process
}

// Function is a function and, between its first invocation and its end, the process that runs it.
type Function struct {
	options Options
	output  *sharedWriter
	turn    chan struct{} // holds one token: whoever takes it may invoke

	mu       sync.Mutex
	instance *instance // nil while there is no process
	counts   Counts
	stopped  bool
}

// New makes a Function. Its process starts with the first Invoke.
func New(options Options) (*Function, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	f := &Function{options: options, output: &sharedWriter{target: options.Output}, turn: make(chan struct{}, 1)}
	f.turn <- struct{}{}
	return f, nil
}

// handOffs bounds how often one Invoke starts a process anew because the last one ended between two invocations.
const handOffs = 3

// Invoke runs the function once with payload and returns its reply. It waits for its turn, then, if there is no process,
// for a cold start, which the invocation's time limit does not count.
//
// Errors: *FunctionError when the function or its start reports one; ErrDied when the process ended in the invocation or
// before its first request for work; ErrTimedOut; ErrReplyDropped; ErrStopped; the context's error. After a time-out or
// the end of ctx the process is ended, because what it still does is unknown.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("invoke %s: a payload of %d bytes is above Lambda's limit of %d", f.options.Name, len(payload), maxPayload)
	}
	select {
	case <-f.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { f.turn <- struct{}{} }()
	for attempt := 1; ; attempt++ {
		reply, err := f.invokeOnce(ctx, payload)
		if errors.Is(err, errNotTaken) && attempt < handOffs {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("invoke %s: %w", f.options.Name, err)
		}
		return reply, nil
	}
}

func (f *Function) invokeOnce(ctx context.Context, payload []byte) ([]byte, error) {
	instance, err := f.warm(ctx)
	if err != nil {
		return nil, err
	}
	call := newInvocation(payload, time.Now().Add(f.options.Timeout))
	reply, err := instance.invoke(ctx, call, f.handedOver)
	if errors.Is(err, ErrTimedOut) || ctx.Err() != nil {
		instance.end(f.options.Grace)
	}
	return reply, err
}

func (f *Function) handedOver() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.Invocations++
}

// warm gives a process that asked for work at least once, starting one if need be.
func (f *Function) warm(ctx context.Context) (*instance, error) {
	current, err := f.ensure(ctx)
	if err != nil {
		return nil, err
	}
	if err := current.awaitReady(ctx, f.options.InitTimeout); err != nil {
		current.end(f.options.Grace)
		return nil, fmt.Errorf("cold start: %w", err)
	}
	return current, nil
}

func (f *Function) ensure(ctx context.Context) (*instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil, ErrStopped
	}
	if f.instance != nil && !f.instance.isDead() {
		return f.instance, nil
	}
	started, err := startInstance(ctx, f.options, f.output)
	if err != nil {
		return nil, fmt.Errorf("cold start: %w", err)
	}
	f.instance = started
	f.counts.ColdStarts++
	return started, nil
}

// live is the current process, or os.ErrProcessDone when there is none.
func (f *Function) live() (*instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.instance == nil || f.instance.isDead() {
		return nil, fmt.Errorf("function %s: %w", f.options.Name, os.ErrProcessDone)
	}
	return f.instance, nil
}

// Kill ends the process with SIGKILL, now, and returns when it is gone. An invocation in progress returns ErrDied; the
// next one starts a new process. os.ErrProcessDone says that there was no process to kill.
func (f *Function) Kill() error {
	instance, err := f.live()
	if err != nil {
		return err
	}
	instance.kill()
	return nil
}

// Freeze stops the process where it is, as Lambda does between invocations. On Linux it returns when the process stands
// still.
func (f *Function) Freeze() error {
	instance, err := f.live()
	if err != nil {
		return err
	}
	return instance.freeze()
}

// Thaw lets a frozen process go on.
func (f *Function) Thaw() error {
	instance, err := f.live()
	if err != nil {
		return err
	}
	return instance.signal(syscall.SIGCONT)
}

// Pid is the process's id, 0 while there is none.
func (f *Function) Pid() int {
	instance, err := f.live()
	if err != nil {
		return 0
	}
	return instance.pid()
}

// Counts is a snapshot of the counters.
func (f *Function) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// Stop ends the process, SIGTERM first and SIGKILL after the grace, also in the middle of an invocation, and lets no other
// start. It returns when the process is gone.
func (f *Function) Stop() {
	f.mu.Lock()
	f.stopped = true
	instance := f.instance
	f.mu.Unlock()
	if instance != nil {
		instance.end(f.options.Grace)
	}
}
