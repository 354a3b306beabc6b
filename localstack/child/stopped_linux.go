package child

import (
	"errors"
	"syscall"
)

// AwaitStopped returns when every thread of a child that was sent SIGSTOP has stopped, or the child has ended. The signal
// alone promises neither: it returns while threads still run, and one of them could answer after that. The state is looked at and
// left as it is (WNOWAIT), so whoever waits for the process's end still gets to see it.
func AwaitStopped(pid int) error {
	const idIsPid, stopped, exited, noWait = 1, 0x2, 0x4, 0x01000000
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idIsPid, uintptr(pid), 0, stopped|exited|noWait, 0, 0)
		switch {
		case errno == 0, errors.Is(errno, syscall.ECHILD): // stopped or ended; ended and collected
			return nil
		case errors.Is(errno, syscall.EINTR):
			continue
		}
		return errno
	}
}
