package apply

import (
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// run is the rest of one partition's records in a delivery: what is neither applied nor given up.
type run struct {
	call    *call
	records []record.Record
	decoded []decoded // one for each of records
	outcome *PartitionOutcome
}

func (r *run) partition() position.Partition { return r.outcome.Partition }

func (r *run) isDone() bool { return len(r.records) == 0 || r.outcome.Err != nil || r.call.over != nil }

// conclude says of a run that the end of the call stopped why it did.
func (r *run) conclude() {
	if len(r.records) > 0 {
		r.stop(r.call.over)
	}
}

// stop gives up the rest of the run: it is reported unapplied with err.
func (r *run) stop(err error) {
	if r.outcome.Err == nil {
		r.outcome.Err = err
	}
}

// advance takes the first n records off the run as being in the target.
func (r *run) advance(n int) {
	if n == 0 {
		return
	}
	r.outcome.Next = r.records[n-1].Offset.Next()
	r.records, r.decoded = r.records[n:], r.decoded[n:]
}

func (r *run) rangeOf(from, until int) position.Range {
	return position.Range{From: r.records[from].Offset, Until: r.records[until-1].Offset.Next()}
}

// piece is the first n records of a run, offered to one transaction.
type piece struct {
	run *run
	n   int
}

// nextPieces fills one transaction up to the limits, run by run. A record is never cut, so the first may exceed them.
func nextPieces(runs []*run, maxRows, maxBytes int) []piece {
	var pieces []piece
	rows, bytes := 0, 0
	for _, r := range runs {
		if r.isDone() {
			continue
		}
		n := 0
		for n < len(r.records) {
			rows += r.decoded[n].rows()
			bytes += r.records[n].Size()
			if (rows > maxRows || bytes > maxBytes) && (n > 0 || len(pieces) > 0) {
				break
			}
			n++
		}
		if n > 0 {
			pieces = append(pieces, piece{run: r, n: n})
		}
		if n < len(r.records) {
			break
		}
	}
	return pieces
}

func stopAll(pieces []piece, err error) {
	for _, p := range pieces {
		p.run.stop(err)
	}
}

// plan is what a transaction will do with a piece, judged under the lock: records[:skip] are in the target, records
// [skip:until] follow the checkpoint without a hole, and stop says why what comes next cannot follow.
type plan struct {
	piece
	skip, until int
	absorbed    int             // of records[skip:until], those whose identity the target had before
	from        position.Offset // where the checkpoint stands
	generation  int64           // of the checkpoint
	stop        error           // nil when nothing else is in the way, or when it comes up again by itself
}

// covers is the span of the records that the plan takes off its run.
func (p *plan) covers() position.Range { return p.run.rangeOf(0, p.until) }

// writes says whether the plan has something to write.
func (p *plan) writes() bool { return p.skip < p.until }

// settle takes the plan's records off the run as being in the target.
func (p *plan) settle() {
	p.run.outcome.Skipped += p.skip
	p.run.outcome.Applied += p.until - p.skip
	p.run.outcome.Absorbed += p.absorbed
	p.run.advance(p.until)
	if p.stop != nil {
		p.run.stop(p.stop)
	}
}

// judge compares a piece with the checkpoint. Nothing above a hole is applied before the hole is resolved (A1), and
// what lies below the checkpoint counts as applied only if it is not newer than what was applied (A2): a topic that was
// made anew starts below the old checkpoint and must not be taken for old news.
//
// What stops a plan that has something to write is left out: the next transaction meets it again.
func judge(p piece, checkpoint Checkpoint) plan {
	made := plan{piece: p, from: checkpoint.Next, generation: checkpoint.Generation}
	records := p.run.records[:p.n]
	for made.skip < len(records) && records[made.skip].Offset.Before(checkpoint.Next) {
		rec := &records[made.skip]
		if LedgerTime(rec.Time).After(checkpoint.RecordTime) {
			return plan{piece: p, stop: errUnprovenSkip(p.run, rec, checkpoint)}
		}
		made.skip++
	}
	expected := checkpoint.Next
	for made.until = made.skip; made.until < len(records); made.until++ {
		if err := follows(p.run, made.until, expected); err != nil {
			if !made.writes() {
				made.stop = err
			}
			return made
		}
		expected = expected.Next()
	}
	return made
}

// follows says why the i-th record of the run cannot be applied at expected; nil when it can.
func follows(r *run, i int, expected position.Offset) error {
	offset := r.records[i].Offset
	switch {
	case expected.Before(offset):
		hole := position.Range{From: expected, Until: offset}
		return fault.New(fault.Gap, "%s: the log jumps over %s, which the target never got", r.partition(), hole).
			WithHint("the flow declares log: dense, so a hole is lost data until proven otherwise: check the topic's " +
				"retention, compaction, filters and the event source's settings; nothing above the hole was applied")
	case offset.Before(expected):
		return fault.New(fault.Bug, "%s: offset %s after %s", r.partition(), offset, expected)
	}
	return r.decoded[i].err
}

func errUnprovenSkip(r *run, rec *record.Record, checkpoint Checkpoint) error {
	return fault.New(fault.Gap, "%s: record %s is below the checkpoint %s, yet newer (%s) than all that was applied (%s)",
		r.partition(), rec.Offset, checkpoint.Next, rec.Time.UTC().Format(time.RFC3339Nano),
		checkpoint.RecordTime.UTC().Format(time.RFC3339Nano)).
		WithHint("the topic was probably deleted and made anew: nothing was applied or skipped; compare the topic's id and " +
			"start with the ledger before you move the checkpoint with tidemark flow start")
}
