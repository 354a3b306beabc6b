package kafkaevent

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Failure names one record that a function did not apply.
type Failure struct {
	Partition position.Partition
	Offset    position.Offset
}

// Unapplied lists, per partition of batch, the first record that next does not cover and every record behind it. A
// partition that next does not name is wholly unapplied. Only offsets of batch are listed, in its order.
//
// All later records are listed, not the first alone, because the service does not say whether it resumes a
// partition at the first offset reported or delivers again only the records reported. Under the second reading a
// shorter list would lose the rest; under the first the longer one changes nothing.
func Unapplied(batch record.Batch, next position.Cut) []Failure {
	var failures []Failure
	for _, run := range batch {
		for _, r := range run.Records[applied(run, next):] {
			failures = append(failures, Failure{Partition: run.Partition, Offset: r.Offset})
		}
	}
	return failures
}

// AllApplied says whether next covers every record of batch, which an empty batch's always are.
func AllApplied(batch record.Batch, next position.Cut) bool {
	return !slices.ContainsFunc(batch, func(run record.Run) bool { return applied(run, next) < len(run.Records) })
}

// NoneApplied says whether batch has records and next covers none of them. The answer is then better an error than
// a list: the service counts it as a failed invocation.
func NoneApplied(batch record.Batch, next position.Cut) bool {
	records := slices.ContainsFunc(batch, func(run record.Run) bool { return len(run.Records) > 0 })
	return records && !slices.ContainsFunc(batch, func(run record.Run) bool { return applied(run, next) > 0 })
}

// applied is the number of records at the run's start that next covers.
func applied(run record.Run, next position.Cut) int {
	until, known := next[run.Partition]
	if !known {
		return 0
	}
	first := slices.IndexFunc(run.Records, func(r record.Record) bool { return !r.Offset.Before(until) })
	if first < 0 {
		return len(run.Records)
	}
	return first
}

// Reply is the body that reports what Unapplied lists, {"batchItemFailures":[]} when that is nothing. It is an
// answer to an event only if Decode took the whole event, that is without an error.
func Reply(batch record.Batch, next position.Cut) []byte {
	const perFailure = 64
	failures := Unapplied(batch, next)
	w := writer{out: make([]byte, 0, perFailure*(len(failures)+1))}
	w.raw(`{"batchItemFailures":[`)
	for i, f := range failures {
		if i > 0 {
			w.raw(`,`)
		}
		// An offset is always written: without it, as some encoders leave out 0, the service retries the whole event.
		w.raw(`{"itemIdentifier":{"partition":`).quote(string(appendName(nil, f.Partition)))
		w.raw(`,"offset":`).number(int64(f.Offset)).raw(`}}`)
	}
	return w.raw(`]}`).out
}

// ParseReply reads a function's answer as the service does: an empty body, null, {} and an empty or null list mean
// that everything is done; any other shape than Reply's is an error, fault.Misconfigured, on which the service
// takes the whole event for failed. Whether the records were in the event is the caller's to check.
func ParseReply(body []byte) ([]Failure, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	var reply struct {
		Failures []struct {
			Item *struct {
				Partition *string        `json:"partition"`
				Offset    jsontext.Value `json:"offset"`
			} `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(body, &reply, json.RejectUnknownMembers(true)); err != nil {
		return nil, badReply("%w", err)
	}
	failures := make([]Failure, 0, len(reply.Failures))
	for i, f := range reply.Failures {
		if f.Item == nil || f.Item.Partition == nil {
			return nil, badReply("failure %d has no itemIdentifier with a partition", i)
		}
		partition, ok := parseName(*f.Item.Partition)
		if !ok {
			return nil, badReply("failure %d: partition %.80q is not TOPIC-NUMBER", i, *f.Item.Partition)
		}
		offset, ok := wholeNumber(f.Item.Offset, maxOffset)
		if !ok {
			return nil, badReply("failure %d: offset is not a whole number from 0", i)
		}
		failures = append(failures, Failure{Partition: partition, Offset: position.Offset(offset)})
	}
	return failures, nil
}

func badReply(reason string, args ...any) error {
	return fault.New(fault.Misconfigured, "parse reply: "+reason, args...).WithHint(
		`all counts as failed; want {"batchItemFailures":[{"itemIdentifier":{"partition":"orders-3","offset":5}}]}`)
}
