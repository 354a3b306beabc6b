package apply

import (
	"context"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/record"
)

// decoded is what a record means: a stretch of the set's changes, or why it has no meaning.
type decoded struct {
	from, until int
	identity    string // "" when the flow has none
	err         error
}

func (d decoded) rows() int { return d.until - d.from }

// decode reads every record before the first round trip, so that no lock is held meanwhile. What cannot be read keeps its
// error and its place: whether it matters is judged under the lock, because the target may have it already.
func (a *Applier) decode(ctx context.Context, runs []*run) change.Set {
	records := 0
	for _, r := range runs {
		records += len(r.records)
	}
	reading := reading{applier: a}
	reading.set.Expect(records)
	for _, r := range runs {
		r.decoded = make([]decoded, len(r.records))
		decoder := a.decoderOf(r.partition().Topic)
		for i := range r.records {
			r.decoded[i] = reading.record(ctx, decoder, r, i)
		}
	}
	return reading.set
}

func (a *Applier) decoderOf(topic string) Decoder {
	if own, ok := a.options.Decoders[topic]; ok {
		return own
	}
	return a.decoder
}

// reading is the decoding of one delivery.
type reading struct {
	applier *Applier
	set     change.Set
	fresh   bool  // the catalog was asked again in this call
	away    error // the catalog cannot be asked now: nor could it be for the records behind
}

func (g *reading) record(ctx context.Context, decoder Decoder, r *run, i int) decoded {
	if g.away != nil {
		return decoded{err: g.away}
	}
	d := g.attempt(ctx, decoder, &r.records[i])
	if fault.Is(d.err, fault.Misconfigured) && !g.fresh {
		// The table or column may have been made since the catalog was read.
		g.fresh = true
		g.applier.target.Forget()
		d = g.attempt(ctx, decoder, &r.records[i])
	}
	if fault.Is(d.err, fault.Retryable) {
		g.away = d.err
	}
	if d.err != nil {
		d.err = at(r.partition(), r.rangeOf(i, i+1), d.err)
	}
	return d
}

func (g *reading) attempt(ctx context.Context, decoder Decoder, rec *record.Record) decoded {
	from := len(g.set.Changes)
	err := rec.Malformed
	var identity string
	if err == nil {
		identity, err = g.applier.identify(rec)
	}
	if err == nil {
		err = decoder.Decode(ctx, rec, &g.set)
	}
	if err != nil {
		g.set.Changes = g.set.Changes[:from]
		return decoded{from: from, until: from, err: err}
	}
	for i := from; i < len(g.set.Changes); i++ {
		g.set.Changes[i].Offset = rec.Offset
	}
	return decoded{from: from, until: len(g.set.Changes), identity: identity}
}
