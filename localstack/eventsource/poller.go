package eventsource

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// poller is one Run. It either delivers what is due or, when nothing is, waits for the brokers until something will be.
type poller struct {
	Options
	owner       *Source
	client      *kgo.Client
	lanes       []*lane // in lock order
	byPartition map[position.Partition]*lane
	until       position.Cut // empty without UntilEnd

	held      []*delivery // waiting to be delivered again as they are
	first     int         // the lane that the next event begins with: each gets its turn
	windowEnd time.Time   // when the records that wait are delivered at the latest; zero when none waits
}

// maxPayload is the service's limit of an event.
const maxPayload = 6 << 20

func (p *poller) run(ctx context.Context) error {
	for !p.finished() {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := time.Now()
		due, err := p.next(now)
		switch {
		case err != nil:
			return err
		case due != nil:
			err = p.deliver(ctx, due)
		default:
			err = p.fill(ctx, p.wake(now))
		}
		if err != nil {
			return err
		}
		p.owner.publish(p.lanes)
	}
	return nil
}

// finished says whether UntilEnd's end is acknowledged.
func (p *poller) finished() bool {
	if !p.UntilEnd {
		return false
	}
	return !slices.ContainsFunc(p.lanes, func(l *lane) bool { return l.position().Before(p.until[l.partition]) })
}

// next gives a delivery that is due now, or nil. One that failed goes first: after it fails again it is not due for a
// while, so it cannot keep others out.
func (p *poller) next(now time.Time) (*delivery, error) {
	if i := slices.IndexFunc(p.held, func(d *delivery) bool { return !now.Before(d.due) }); i >= 0 {
		due := p.held[i]
		p.held = slices.Delete(p.held, i, i+1)
		return due, nil
	}
	waiting := 0
	for _, l := range p.lanes {
		if l.ready(now) {
			waiting += len(l.queue)
		}
	}
	if waiting == 0 {
		p.windowEnd = time.Time{}
		return nil, nil //nolint:nilnil // nil is nothing due
	}
	if p.windowEnd.IsZero() {
		p.windowEnd = now.Add(p.Window)
	}
	if waiting < p.BatchSize && now.Before(p.windowEnd) {
		return nil, nil //nolint:nilnil // nil is nothing due
	}
	p.windowEnd = time.Time{}
	return p.assemble(now)
}

// assemble makes an event of what waits: lane after lane from the one whose turn it is, until it is full.
func (p *poller) assemble(now time.Time) (*delivery, error) {
	var batch record.Batch
	begin, room := p.first, p.BatchSize
	for i := 0; i < len(p.lanes) && room > 0; i++ {
		index := (begin + i) % len(p.lanes)
		if l := p.lanes[index]; l.ready(now) {
			run := l.take(room)
			room -= len(run.Records)
			batch = append(batch, run)
			p.first = (index + 1) % len(p.lanes)
		}
	}
	slices.SortFunc(batch, func(a, b record.Run) int { return a.Partition.Compare(b.Partition) })
	for {
		payload, err := kafkaevent.Encode(p.Source, batch)
		if err != nil || len(payload) <= maxPayload {
			return &delivery{batch: batch, payload: payload}, err
		}
		if count(batch) == 1 {
			return nil, fault.New(fault.Poison, "%s@%s makes an event of %d bytes, above the service's limit of %d",
				batch[0].Partition, batch[0].Records[0].Offset, len(payload), maxPayload).
				WithHint("the service would leave such a record out without a word; it must not be on the topic")
		}
		batch = p.shrink(batch)
	}
}

// shrink keeps the first half of an event's records; the others wait for the next.
func (p *poller) shrink(batch record.Batch) record.Batch {
	var kept record.Batch
	room := count(batch) / 2
	for _, run := range batch {
		n := min(room, len(run.Records))
		room -= n
		l := p.byPartition[run.Partition]
		l.giveBack(n)
		if n > 0 {
			kept = append(kept, record.Run{Partition: run.Partition, Records: l.inFlight})
		}
	}
	return kept
}

// wake is when something that waits is due, zero when only the brokers can bring more.
func (p *poller) wake(now time.Time) time.Time {
	earliest := p.windowEnd
	sooner := func(t time.Time) {
		if earliest.IsZero() || t.Before(earliest) {
			earliest = t
		}
	}
	for _, d := range p.held {
		sooner(d.due)
	}
	for _, l := range p.lanes {
		if len(l.inFlight) == 0 && len(l.queue) > 0 && now.Before(l.notBefore) {
			sooner(l.notBefore)
		}
	}
	return earliest
}

// backoff doubles with each attempt that failed, up to the limit.
func (p *poller) backoff(attempts int) time.Duration {
	wait := p.Backoff
	for i := 1; i < attempts && wait < p.MaxBackoff; i++ {
		wait *= 2
	}
	return min(wait, p.MaxBackoff)
}
