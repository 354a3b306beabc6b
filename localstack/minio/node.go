package minio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tidemark/localstack/child"
)

// node is a server's folder and, while it is up, its process.
type node struct {
	binary  string
	dir     string // holds everything: data, keys, log
	guard   *child.Guard
	process *child.Process // nil while the server is down
}

var errDied = errors.New("it ended while starting")

const (
	dataFolder = "data"
	keysFolder = "keys"

	shutdownDeadline = 15 * time.Second
	killDeadline     = 10 * time.Second
	readyPoll        = 20 * time.Millisecond
	readyRequest     = 2 * time.Second // bounds one question to a server that is not up yet
)

// newNode makes a server's folder. Nothing runs yet but the guard.
func newNode(binary string) (_ *node, err error) {
	n := &node{binary: binary}
	if n.dir, err = os.MkdirTemp("", "tidemark-minio-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if n.guard, err = child.StartGuard(n.dir, syscall.SIGKILL); err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.dir))
	}
	for _, name := range []string{dataFolder, keysFolder} {
		if err := os.Mkdir(n.path(name), 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("make a folder: %w", err), os.RemoveAll(n.dir), n.guard.Dismiss())
		}
	}
	return n, nil
}

func (n *node) path(names ...string) string {
	return filepath.Join(append([]string{n.dir}, names...)...)
}

// start starts the process, which then takes a while to serve. It runs away from terminals' signals (own process group)
// and without this process's environment, whose MINIO_* variables would change it. It shows no console, which would
// listen too, and asks nobody whether there is a newer version.
func (n *node) start(ctx context.Context, a access) error {
	log, err := os.OpenFile(n.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	// The server outlives ctx, which bounds the start alone.
	//nolint:gosec // the program that was named or built
	cmd := exec.CommandContext(context.WithoutCancel(ctx), n.binary, "server", "--quiet",
		"--address", a.endpoint, "--certs-dir", n.path(keysFolder), n.path(dataFolder))
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	cmd.Env = []string{
		"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin", "HOME=" + n.dir, "MINIO_BROWSER=off", "MINIO_UPDATE=off",
		"MINIO_DRIVE_MAX_TIMEOUT=10m", // or a loaded machine takes its drive offline
		"MINIO_ROOT_USER=" + a.accessKey, "MINIO_ROOT_PASSWORD=" + a.secretKey,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if n.process, err = child.Start(cmd); err != nil {
		return fmt.Errorf("run the server: %w", err)
	}
	if err := n.guard.Watch(n.process.PID()); err != nil {
		return errors.Join(err, n.kill())
	}
	return nil
}

// awaitReady asks until the answer is no error.
func (n *node) awaitReady(ctx context.Context, ask func(context.Context) error) error {
	for {
		err := askOnce(ctx, ask)
		if err == nil {
			return nil
		}
		if n.process.EndsWithin(readyPoll) {
			return errDied
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the first answer: %w", err)
		}
	}
}

func askOnce(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyRequest)
	defer cancel()
	return ask(ctx)
}

// pause returns when nothing of the server runs any more.
func (n *node) pause() error {
	if err := n.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return child.AwaitStopped(n.process.PID())
}

func (n *node) resume() error { return n.signal(syscall.SIGCONT) }

var errDown = errors.New("the server is down")

func (n *node) signal(signal syscall.Signal) error {
	if n.process == nil {
		return fmt.Errorf("%s: %w", signal, errDown)
	}
	return n.process.Signal(signal)
}

// shutdown lets the server finish what it does. One that does not obey in time is killed; a paused one runs again to obey.
func (n *node) shutdown(ctx context.Context) error {
	if n.process == nil {
		return nil
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := n.process.Signal(signal); err != nil {
			return fmt.Errorf("ask the server to stop: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownDeadline)
	defer cancel()
	for ctx.Err() == nil {
		if n.process.EndsWithin(readyPoll) {
			return n.reap()
		}
	}
	return n.kill()
}

func (n *node) kill() error {
	if n.process == nil {
		return nil
	}
	if err := n.process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	if !n.process.EndsWithin(killDeadline) {
		return fmt.Errorf("kill the server: it is still there after %s", killDeadline)
	}
	return n.reap()
}

func (n *node) reap() error {
	n.process.Reap()
	n.process = nil
	return n.guard.Watch(0)
}

// remove ends the server, removes its folder and dismisses the guard.
func (n *node) remove(ctx context.Context) error {
	return errors.Join(n.shutdown(ctx), os.RemoveAll(n.dir), n.guard.Dismiss())
}

const tailBytes = 1200

// logged is the end of the server's log, for an error message.
func (n *node) logged() string {
	content, _ := os.ReadFile(n.path("log")) // no more than a message depends on it
	return tail(content)
}

func tail(output []byte) string { return string(output[max(0, len(output)-tailBytes):]) }
