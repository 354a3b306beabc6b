package services

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// guard ends a server and removes its folder when this process ends without doing so: on a crash, a kill -9, a test that
// exits early. It is a shell that reads process ids from a pipe whose other end only this process holds; the kernel
// closes that end however this process ends, and then the shell acts on the last id it read, 0 for none.
//
// Linux's parent death signal would be the other way. It is sent when the *thread* that forked ends, so it needs a thread
// locked for the server's life, it does not exist elsewhere, and it leaves the folder behind.
type guard struct {
	cmd *exec.Cmd
	ids io.WriteCloser
}

// guardScript sends SIGQUIT, PostgreSQL's immediate shutdown, gives it five seconds, then SIGKILL.
const guardScript = `
trap '' HUP INT TERM
pid=0
while read -r line; do pid=$line; done
if [ "$pid" -gt 0 ] && kill -QUIT "$pid" 2>/dev/null; then
  for wait in 1 2 3 4 5 6; do
    kill -0 "$pid" 2>/dev/null || break
    [ "$wait" = 6 ] && kill -KILL "$pid" 2>/dev/null
    sleep 1
  done
fi
rm -rf -- "$1"
`

func startGuard(dir string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "tidemark-guard", dir) //nolint:gosec,noctx // outlives every context
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ids, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &guard{cmd: cmd, ids: ids}, nil
}

// watch names the process that the guard ends, 0 for none.
func (g *guard) watch(pid int) error {
	if _, err := io.WriteString(g.ids, strconv.Itoa(pid)+"\n"); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	return nil
}

// dismiss ends the guard. The server must be down: whatever was named last is ended.
func (g *guard) dismiss() error {
	return errors.Join(g.ids.Close(), g.cmd.Wait())
}
