package eventsource

import (
	"slices"
	"time"

	"tidemark/shared/position"
	"tidemark/shared/record"
)

// lane is one partition on its way through the source. A record is in the queue, then in flight, then gone; only a
// rewind takes records back from flight into the queue.
type lane struct {
	partition position.Partition
	queue     []record.Record // fetched, to be delivered, in offset order
	inFlight  []record.Record // in a delivery that is not settled: the lane waits
	read      position.Offset // what the broker sends next
	attempts  int             // failures in a row without progress
	notBefore time.Time       // end of the lane's backoff
	paused    bool            // the client does not fetch it
}

// position is the first record that is not acknowledged. With nothing left to acknowledge that is what is read next,
// beyond transaction markers and other holes.
func (l *lane) position() position.Offset {
	switch {
	case len(l.inFlight) > 0:
		return l.inFlight[0].Offset
	case len(l.queue) > 0:
		return l.queue[0].Offset
	}
	return l.read
}

// ready says whether the lane has records to deliver now.
func (l *lane) ready(now time.Time) bool {
	return len(l.inFlight) == 0 && len(l.queue) > 0 && !now.Before(l.notBefore)
}

// take moves the next records, at most n, into flight.
func (l *lane) take(n int) record.Run {
	n = min(n, len(l.queue))
	l.inFlight, l.queue = l.queue[:n:n], l.queue[n:]
	return record.Run{Partition: l.partition, Records: l.inFlight}
}

// giveBack returns all but the first n records in flight to the queue.
func (l *lane) giveBack(n int) {
	l.queue = slices.Concat(l.inFlight[n:], l.queue)
	l.inFlight = l.inFlight[:n]
}

// acknowledge ends the flight: all of it is done.
func (l *lane) acknowledge() {
	l.inFlight = nil
	l.attempts = 0
}

// rewind acknowledges the first n records in flight and queues the others again, to be delivered after the backoff.
func (l *lane) rewind(n int, now time.Time, backoff func(attempts int) time.Duration) {
	if n > 0 {
		l.attempts = 0
	}
	l.attempts++
	l.notBefore = now.Add(backoff(l.attempts))
	l.inFlight = l.inFlight[n:]
	l.giveBack(0)
	l.inFlight = nil
}
