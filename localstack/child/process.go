// Package child owns servers that are child processes of this one: on which port they listen, how they are started, seen to
// stop and to end, and taken along when this process ends, however it does.
//
// It knows nothing of what the servers serve. It refuses goroutines: nothing here runs in the background of this process,
// so leak detectors stay quiet, and waiting is a read with a deadline.
//
// A Process and a Guard belong to one goroutine at a time.
package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Process is a child and all that it forked, seen through a pipe: every member of the family holds the write end, so the
// read end reports end of file exactly when the last of them is gone. That sees grandchildren, which waiting for the child
// does not.
type Process struct {
	cmd   *exec.Cmd
	alive *os.File
}

// Start starts cmd as the head of a family.
func Start(cmd *exec.Cmd) (*Process, error) {
	alive, held, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	cmd.ExtraFiles = []*os.File{held}
	err = cmd.Start()
	if closed := held.Close(); err == nil && closed != nil {
		err = closed
	}
	if err != nil {
		return nil, errors.Join(err, alive.Close())
	}
	return &Process{cmd: cmd, alive: alive}, nil
}

// PID is the child's id, for a Guard.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal tells the child; a child that is gone already needs no telling.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// EndsWithin waits until the whole family is gone, at most d, and says whether it is.
func (p *Process) EndsWithin(d time.Duration) bool {
	if err := p.alive.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false
	}
	_, err := p.alive.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// Reap collects the child after EndsWithin. How it ended does not matter to anybody: it was told to.
func (p *Process) Reap() {
	_ = p.cmd.Wait()
	_ = p.alive.Close()
}
