package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"tidemark/localstack/child"
)

// host is a program that is up: its folder and its process.
type host struct {
	program

	dir     string // holds everything: what it keeps, its temporary files, its log
	port    int
	guard   *child.Guard
	process *child.Process
}

var errDied = errors.New("it ended while starting")

const (
	shutdownDeadline = 15 * time.Second
	killDeadline     = 10 * time.Second
	readyPoll        = 20 * time.Millisecond
	readyRequest     = 5 * time.Second // bounds one question to a program that is not up yet
)

// newHost runs the program in a new folder and returns when it answers.
func newHost(ctx context.Context, p program, python, region string) (_ *host, err error) {
	h := &host{program: p}
	if h.dir, err = os.MkdirTemp("", "tidemark-"+p.module+"-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if h.guard, err = child.StartGuard(h.dir, syscall.SIGTERM); err != nil {
		return nil, errors.Join(err, os.RemoveAll(h.dir))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.remove(ctx))
		}
	}()
	if h.port, err = child.FreePort(ctx); err != nil {
		return nil, err
	}
	if err := os.WriteFile(h.path("loopback.py"), []byte(launcher), 0o600); err != nil {
		return nil, fmt.Errorf("write the launcher: %w", err)
	}
	if err := h.start(ctx, python, region); err != nil {
		return nil, err
	}
	if err := h.awaitReady(ctx); err != nil {
		return nil, fmt.Errorf("%w: %s", err, h.logged())
	}
	return h, nil
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *host) endpoint() string {
	return "http://" + net.JoinHostPort(child.Loopback, strconv.Itoa(h.port))
}

// start runs the program away from terminals' signals (own process group), with all its files in the folder, and without
// this process's environment, whose AWS_* and other variables would change it.
func (h *host) start(ctx context.Context, python, region string) error {
	log, err := os.Create(h.path("log"))
	if err != nil {
		return fmt.Errorf("make a log: %w", err)
	}
	defer func() { _ = log.Close() }() // the program has its own descriptor
	// The program outlives ctx, which bounds the start alone.
	//nolint:gosec // the interpreter that was installed
	cmd := exec.CommandContext(context.WithoutCancel(ctx), python, h.path("loopback.py"), h.module)
	cmd.Dir, cmd.Stdout, cmd.Stderr = h.dir, log, log
	cmd.Env = append([]string{"LC_ALL=C.UTF-8", "TZ=UTC", "PATH=/usr/bin:/bin", "HOME=" + h.dir, "TMPDIR=" + h.dir},
		h.settings(h.port, h.dir, region)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if h.process, err = child.Start(cmd); err != nil {
		return err
	}
	return h.guard.Watch(h.process.PID())
}

// awaitReady asks for the program's health until it has an answer.
func (h *host) awaitReady(ctx context.Context) error {
	// A client of its own: connections to a program that is not up yet stay in no pool.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: readyRequest}
	for {
		err := askHealth(ctx, client, h.endpoint()+"/_localstack/health")
		if h.process.EndsWithin(readyPoll) {
			return errDied
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for its health: %w", err)
		}
	}
}

func askHealth(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// remove ends the program, removes its folder and dismisses the guard. A program that does not obey in time is killed.
func (h *host) remove(ctx context.Context) error {
	return errors.Join(h.end(ctx), os.RemoveAll(h.dir), h.guard.Dismiss())
}

func (h *host) end(ctx context.Context) error {
	if h.process == nil {
		return nil
	}
	if err := h.process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("ask %s to stop: %w", h.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownDeadline)
	defer cancel()
	ended := false
	for !ended && ctx.Err() == nil {
		ended = h.process.EndsWithin(readyPoll)
	}
	if !ended {
		if err := h.process.Signal(syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill %s: %w", h.name, err)
		}
		if !h.process.EndsWithin(killDeadline) {
			return fmt.Errorf("kill %s: it is still there after %s", h.name, killDeadline)
		}
	}
	h.process.Reap()
	h.process = nil
	return h.guard.Watch(0)
}

// logged is the end of the program's log, for an error message.
func (h *host) logged() string {
	content, _ := os.ReadFile(h.path("log")) // no more than a message depends on it
	return tail(content)
}
