package eventsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// delivery is an event that is delivered until it is settled. Its records are in flight.
type delivery struct {
	batch    record.Batch
	payload  []byte
	attempts int       // that failed, without any progress between them
	due      time.Time // the earliest moment of the next
}

// listed is what a function's reply lists as failed, per partition.
type listed map[position.Partition]map[position.Offset]bool

var errListed = errors.New("the function listed records as failed")

// deliver invokes the function once and settles what it answered.
func (p *poller) deliver(ctx context.Context, d *delivery) error {
	event := p.announce(d)
	reply, err := p.Handler.Invoke(ctx, d.payload)
	if ctx.Err() != nil {
		return ctx.Err() // whatever it answered, nobody was there to take it
	}
	var failed listed
	if err == nil {
		failed, err = p.verdict(d.batch, reply)
	}
	now := time.Now()
	if err != nil {
		p.hold(d, now)
		p.Events.settled(event, event.Records(), err)
		return nil
	}
	again, err := p.settle(d, failed, now)
	if err != nil {
		return err
	}
	p.Events.settled(event, again, errListed)
	return nil
}

// announce tells Events of the delivery and notes how far each partition has been delivered.
func (p *poller) announce(d *delivery) Event {
	event := Event{Batch: d.batch, Bytes: len(d.payload), Attempt: d.attempts + 1}
	for _, run := range d.batch {
		end := p.owner.delivered[run.Partition]
		for i := range run.Records {
			if run.Records[i].Offset.Before(end) {
				event.Redelivered++
			}
		}
		p.owner.delivered[run.Partition] = max(end, run.Range().Until)
		event.Attempt = max(event.Attempt, p.byPartition[run.Partition].attempts+1)
	}
	p.Events.delivered(event)
	return event
}

// verdict reads a reply. An error fails the whole event: the reply has another form, or names what was not in the event.
func (p *poller) verdict(batch record.Batch, reply []byte) (listed, error) {
	if !p.ReportBatchItemFailures {
		return nil, nil //nolint:nilnil // nil lists nothing
	}
	failures, err := kafkaevent.ParseReply(reply)
	if err != nil {
		return nil, err
	}
	failed := listed{}
	for _, f := range failures {
		if !holds(batch, f) {
			return nil, fault.New(fault.Misconfigured, "the reply lists %s@%s, which was not in the event", f.Partition, f.Offset)
		}
		if failed[f.Partition] == nil {
			failed[f.Partition] = map[position.Offset]bool{}
		}
		failed[f.Partition][f.Offset] = true
	}
	return failed, nil
}

func holds(batch record.Batch, f kafkaevent.Failure) bool {
	for _, run := range batch {
		if run.Partition == f.Partition {
			_, found := slices.BinarySearchFunc(run.Records, f.Offset, func(r record.Record, offset position.Offset) int {
				return cmp.Compare(r.Offset, offset)
			})
			return found
		}
	}
	return false
}

// hold keeps the delivery as it is for another attempt.
func (p *poller) hold(d *delivery, now time.Time) {
	d.attempts++
	d.due = now.Add(p.backoff(d.attempts))
	p.held = append(p.held, d)
}

// settle acknowledges what is not listed, arranges for the rest to come again and says how many records that are.
func (p *poller) settle(d *delivery, failed listed, now time.Time) (int, error) {
	var rest record.Batch
	again := 0
	for _, run := range d.batch {
		l, offsets := p.byPartition[run.Partition], failed[run.Partition]
		isListed := func(r record.Record) bool { return offsets[r.Offset] }
		switch {
		case len(offsets) == 0:
			l.acknowledge()
		case p.Redelivery == Rewind:
			from := slices.IndexFunc(run.Records, isListed)
			again += len(run.Records) - from
			l.rewind(from, now, p.backoff)
		default:
			l.inFlight = slices.DeleteFunc(slices.Clone(run.Records), func(r record.Record) bool { return !isListed(r) })
			again += len(l.inFlight)
			rest = append(rest, record.Run{Partition: run.Partition, Records: l.inFlight})
		}
	}
	if len(rest) == 0 {
		return again, nil
	}
	return again, p.holdListed(d, rest, now)
}

// holdListed makes a delivery of the listed records alone. Their attempts begin anew when others went through.
func (p *poller) holdListed(d *delivery, rest record.Batch, now time.Time) error {
	payload, err := kafkaevent.Encode(p.Source, rest)
	if err != nil {
		return fmt.Errorf("deliver again: %w", err)
	}
	attempts := d.attempts
	if count(rest) < count(d.batch) {
		attempts = 0
	}
	p.hold(&delivery{batch: rest, payload: payload, attempts: attempts}, now)
	return nil
}
