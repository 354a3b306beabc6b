package eventsource

import "tidemark/shared/record"

// Event describes one delivery of one event to the function.
type Event struct {
	Batch       record.Batch
	Bytes       int // of the payload
	Attempt     int // 1 for records that were not refused in this company before
	Redelivered int // records that were in an event before
}

// Records is the number of records in the event.
func (e Event) Records() int { return count(e.Batch) }

// Events are called by Run, in order, from its goroutine; each may be nil. What they are given must not be changed.
type Events struct {
	// OnDelivered is called before the function is.
	OnDelivered func(Event)
	// OnAcknowledged is called after the function, if it acknowledged records.
	OnAcknowledged func(event Event, records int)
	// OnFailed is called after the function, if records will come again; cause says why.
	OnFailed func(event Event, records int, cause error)
}

func (e Events) delivered(event Event) {
	if e.OnDelivered != nil {
		e.OnDelivered(event)
	}
}

func (e Events) settled(event Event, again int, cause error) {
	if done := event.Records() - again; done > 0 && e.OnAcknowledged != nil {
		e.OnAcknowledged(event, done)
	}
	if again > 0 && e.OnFailed != nil {
		e.OnFailed(event, again, cause)
	}
}

func count(batch record.Batch) int {
	records := 0
	for _, run := range batch {
		records += len(run.Records)
	}
	return records
}
