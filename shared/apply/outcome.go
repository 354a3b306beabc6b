package apply

import (
	"tidemark/shared/fault"
	"tidemark/shared/position"
)

// Outcome says, partition by partition, what a call of Apply left behind. It is valid also beside an error, because a
// split batch commits part by part.
type Outcome struct {
	Partitions []PartitionOutcome // in lock order, one for each run of the batch
}

// PartitionOutcome is what became of one run.
type PartitionOutcome struct {
	Partition position.Partition
	// Next is the first offset of the run that is not known to be applied. Records below it are in the target.
	Next position.Offset
	// Applied counts the records that this call applied, Skipped those that were in the target before, by their offset,
	// and Absorbed those among Applied whose identity was in the target before under another offset: their position is
	// taken, their effect is not written again.
	Applied, Skipped, Absorbed int
	// Err says why the run stopped at Next; nil when all of it is applied.
	Err error
}

// Next is the cut that the outcome's partitions are known to stand at, for the reply to an event source.
func (o Outcome) Next() position.Cut {
	next := make(position.Cut, len(o.Partitions))
	for i := range o.Partitions {
		next[o.Partitions[i].Partition] = o.Partitions[i].Next
	}
	return next
}

// Applied is the number of records that the call applied.
func (o Outcome) Applied() int {
	n := 0
	for i := range o.Partitions {
		n += o.Partitions[i].Applied
	}
	return n
}

// Skipped is the number of records that were in the target before.
func (o Outcome) Skipped() int {
	n := 0
	for i := range o.Partitions {
		n += o.Partitions[i].Skipped
	}
	return n
}

// Err is the error of the partition whose fault needs a person soonest; nil when everything is applied.
func (o Outcome) Err() error {
	var worst error
	for i := range o.Partitions {
		err := o.Partitions[i].Err
		if err != nil && (worst == nil || urgency(fault.ClassOf(err)) > urgency(fault.ClassOf(worst))) {
			worst = err
		}
	}
	return worst
}

// urgency orders classes by how soon a person must look: what heals by itself comes last.
func urgency(class fault.Class) int {
	switch class {
	case fault.Retryable:
		return 1
	case fault.UnknownOutcome:
		return 2
	case fault.Fenced:
		return 3
	case fault.Poison:
		return 4
	case fault.Unclassified:
		return 5
	case fault.Gap:
		return 6
	case fault.Misconfigured:
		return 7
	case fault.Corrupt:
		return 8
	case fault.Bug:
		return 9
	}
	return 0
}
