package dirbucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// refusal is what an error of the file system asks of the caller.
type refusal struct {
	class fault.Class
	is    error // of archive, if one fits
	hint  string
}

// refusalOf is the table of the file system's errors.
func refusalOf(err error) refusal {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refusal{class: fault.Retryable}
	case errors.Is(err, os.ErrClosed):
		return refusal{class: fault.Bug}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return refusal{fault.Misconfigured, archive.ErrDenied, "let this account read and write in the folder, and mount it writable"}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return refusal{class: fault.Retryable, hint: "make room on the disk of the folder, or raise its quota"}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return refusal{class: fault.Misconfigured, hint: "a file stands where a folder should be, or the other way round"}
	case errors.Is(err, syscall.ENAMETOOLONG):
		return refusal{class: fault.Misconfigured, hint: "the file system takes only shorter names: use another, or a shorter folder"}
	case errors.Is(err, syscall.ELOOP):
		return refusal{class: fault.Misconfigured, hint: "a symbolic link in the folder leads in a circle: take it away"}
	}
	if _, known := errors.AsType[syscall.Errno](err); known {
		return refusal{class: fault.Retryable} // the disk, the network or the kernel, which may come back
	}
	// What the kernel did not say is said by os.Root alone: the way leads out of the folder.
	return refusal{class: fault.Misconfigured, hint: "a symbolic link leads out of the folder: mount the other disk there instead"}
}

// classed gives an error its class, unless it has one, and says what was being done.
func classed(err error, format string, args ...any) error {
	doing := fmt.Sprintf(format, args...)
	if class := fault.ClassOf(err); class != fault.Unclassified {
		return fault.New(class, "%s: %w", doing, err)
	}
	r := refusalOf(err)
	refused := fault.New(r.class, "%s: %w", doing, bare(err))
	if r.is != nil {
		refused = fault.New(r.class, "%s: %w: %w", doing, r.is, bare(err))
	}
	if r.hint == "" {
		return refused
	}
	return refused.WithHint("%s", r.hint)
}

// bare takes off the call and the path that package os puts around an error: the caller's words say more.
func bare(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	if wrapped, ok := errors.AsType[*os.LinkError](err); ok {
		return wrapped.Err
	}
	return err
}

// isAbsent says whether nothing has the name. Where a file has the name of a folder above, there is nothing beneath it.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
