package services

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// process is a child and all that it forked, seen through a pipe: every member of the family holds the write end, so the
// read end reports end of file exactly when the last of them is gone. Waiting is a read with a deadline. That needs no
// goroutine for as long as the family lives, and it sees grandchildren, which waiting for the child does not.
type process struct {
	cmd   *exec.Cmd
	alive *os.File
}

func startProcess(cmd *exec.Cmd) (*process, error) {
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
	return &process{cmd: cmd, alive: alive}, nil
}

// signal tells the child; a child that is gone already needs no telling.
func (p *process) signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// endsWithin waits until the whole family is gone, at most d, and says whether it is.
func (p *process) endsWithin(d time.Duration) bool {
	if err := p.alive.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false
	}
	_, err := p.alive.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// reap collects the child after endsWithin. How it ended does not matter to anybody: it was told to.
func (p *process) reap() {
	_ = p.cmd.Wait()
	_ = p.alive.Close()
}
