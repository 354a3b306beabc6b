package child

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// Guard ends a server and removes its folder when this process ends without doing so: on a crash, a kill -9, a test that
// exits early. It is a shell that reads process ids from a pipe whose other end only this process holds; the kernel
// closes that end however this process ends, and then the shell acts on the last id it read, 0 for none.
//
// Linux's parent death signal would be the other way. It is sent when the *thread* that forked ends, so it needs a thread
// locked for the server's life, it does not exist elsewhere, and it leaves the folder behind.
type Guard struct {
	cmd *exec.Cmd
	ids io.WriteCloser
}

// guardScript sends the signal $2, gives it five seconds, then SIGKILL.
const guardScript = `
trap '' HUP INT TERM
pid=0
while read -r line; do pid=$line; done
if [ "$pid" -gt 0 ] && kill -"$2" "$pid" 2>/dev/null; then
  for wait in 1 2 3 4 5 6; do
    kill -0 "$pid" 2>/dev/null || break
    [ "$wait" = 6 ] && kill -KILL "$pid" 2>/dev/null
    sleep 1
  done
fi
rm -rf -- "$1"
`

// StartGuard starts a guard of the folder. signal is how the server is told to end at once: SIGKILL needs no mercy, others
// are followed by it.
func StartGuard(dir string, signal syscall.Signal) (*Guard, error) {
	//nolint:gosec,noctx // a constant script; it outlives every context
	cmd := exec.Command("/bin/sh", "-c", guardScript, "tidemark-guard", dir, strconv.Itoa(int(signal)))
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
	return &Guard{cmd: cmd, ids: ids}, nil
}

// Watch names the process that the guard ends, 0 for none.
func (g *Guard) Watch(pid int) error {
	if _, err := io.WriteString(g.ids, strconv.Itoa(pid)+"\n"); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	return nil
}

// Dismiss ends the guard. The server must be down: whatever was named last is ended.
func (g *Guard) Dismiss() error {
	return errors.Join(g.ids.Close(), g.cmd.Wait())
}
