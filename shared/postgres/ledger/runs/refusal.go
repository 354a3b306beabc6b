package runs

import (
	"errors"
	"fmt"
	"time"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// ErrLost says that a claim is no more: its connection ended, and another process took the run for crashed.
var ErrLost = errors.New("the claim was lost")

// holder is a run that another process holds.
type holder struct {
	Run     manifest.RunID
	Seq     int64
	Attempt int
	Actor   string
	Since   time.Time
	Stuck   bool
	PID     int32 // of the server's process; 0: not known
}

func (h holder) refusal() error {
	running := fmt.Sprintf("run %s, number %d, attempt %d, by %q, since %s", h.Run, h.Seq, h.Attempt, h.Actor,
		h.Since.UTC().Format(time.RFC3339))
	session := "an unknown session"
	if h.PID != 0 {
		session = fmt.Sprintf("session %d", h.PID)
	}
	if h.Stuck {
		return fault.New(fault.Retryable, "%w: %s; it is stuck: no run may live longer than %s, and %s of the database still holds it",
			backup.ErrRunning, running, longestRun, session).
			WithHint("end its process; where that cannot be found, end its session: SELECT pg_terminate_backend(%d)", h.PID)
	}
	return fault.New(fault.Retryable, "%w: %s, held by %s of the database", backup.ErrRunning, running, session).
		WithHint("wait until it ends; the database finds out within half a minute when its process is gone")
}
