package main

import (
	"errors"
	"log/slog"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
)

// waits remembers where partitions wait for a record that has not been applied yet, and since when. Nearly always the other
// record comes with the next deliveries; when it does not, nothing but the log tells, because the event source delivers for
// ever. It lives as long as the process: another one begins to count anew.
type waits map[position.Partition]wait

type wait struct {
	at    position.Offset
	since time.Time
}

// patience is how long a record may wait for another one before a person should look.
const patience = 5 * time.Minute

// note takes in what became of a run, and says whether its partition waits at one record for longer than anybody should.
func (w waits) note(p *apply.PartitionOutcome, now time.Time) bool {
	if !errors.Is(p.Err, apply.ErrWaits) {
		delete(w, p.Partition)
		return false
	}
	known, ok := w[p.Partition]
	if !ok || known.at != p.Next {
		known = wait{at: p.Next, since: now}
		w[p.Partition] = known
	}
	return now.Sub(known.since) > patience
}

// levelOf is WARN for what the next delivery settles, ERROR for what somebody must look at.
func levelOf(err error, waitsLong bool) slog.Level {
	class := fault.ClassOf(err)
	if (class == fault.Retryable || class == fault.UnknownOutcome) && !waitsLong {
		return slog.LevelWarn
	}
	return slog.LevelError
}
