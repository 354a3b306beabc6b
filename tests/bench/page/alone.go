package page

import (
	"fmt"
	"strings"

	"tidemark/tests/bench/result"
)

// The goals for what is measured without another side.
const (
	mostAllocations = 2   // a record, in decode and group
	mostStart       = 150 // ms to the first handler call
	mostBinary      = 25  // MB
	mostResident    = 100 // MB above the idle process, at the largest events
)

func stages(b *strings.Builder, stages []result.Stage) {
	section(b, "Decode and group")
	paragraph(b, "Without a database: the transaction is one that takes everything and does nothing.")
	head(b, "llrrllrrl", "work", "load", "records a batch", "allocations a record", "goal", "", "bytes a record",
		"ns a record", "how it was measured")
	for _, s := range stages {
		goal, met := "", ""
		if s.Stage == result.StageGroup {
			goal, met = fmt.Sprintf("≤ %d", mostAllocations), verdict(s.Allocations.Median <= mostAllocations)
		}
		work, how := describe(s.Stage)
		row(b, work, s.Workload, count(s.Batch), decimals(s.Allocations), goal, met, plain(s.Bytes.Median),
			between(s.Nanoseconds, plain), how)
	}
}

func describe(stage string) (work, how string) {
	switch stage {
	case result.StageEvent:
		return "event", "kafkaevent.Decode of prebuilt events."
	case result.StageDecode:
		return "decode", "debezium.Decoder.Decode of each record into one change.Set a batch."
	case result.StageGroup:
		return "decode + group", "apply.Applier.Apply up to its Transaction.Commit, so the call's own allocations count too."
	}
	return stage, ""
}

func memory(b *strings.Builder, m result.Memory) {
	section(b, "Memory")
	if m.Once == nil || m.Tenfold == nil || m.Idle == nil {
		paragraph(b, "Not measured: the system has no /proc.")
		return
	}
	head(b, "lrrl", "input", "MB above the idle process", "MB peak resident", "how it was measured")
	idle := m.Idle.Median
	for _, line := range []struct {
		name, how string
		peak      *result.Spread
	}{
		{"none", "VmHWM at the end of a process of the benchmark that does nothing.", m.Idle},
		{count(m.Records) + " inserts", "The same of one that makes its records as it applies them, " + count(m.Batch) +
			" a batch.", m.Once},
		{count(10*m.Records) + " inserts", "The same with ten times the input.", m.Tenfold},
	} {
		row(b, line.name, fixed(1)(line.peak.Median-idle), between(*line.peak, fixed(1)), line.how)
	}
	paragraph(b, "Ten times the input takes %.2f times the memory above idle.",
		(m.Tenfold.Median-idle)/(m.Once.Median-idle))
}

func start(b *strings.Builder, s result.Start, idle *result.Spread) {
	section(b, "The apply function")
	paragraph(b, "The real binary, built as `make build` builds it, under the runtime API of localstack.")
	head(b, "lrlll", "figure", "measured", "goal", "", "how it was measured")
	row(b, "start to first handler call", between(s.Handler, fixed(1))+" ms", "≤ 150 ms",
		verdict(s.Handler.Median <= mostStart), fmt.Sprintf("%d cold starts, from just before the process is made until it "+
			"has asked for its first invocation and got it.", s.Starts))
	row(b, "start to first reply", between(s.Reply, fixed(1))+" ms", "", "",
		"The same starts until the reply to an event of ten records, so with the first connection and transaction.")
	row(b, "binary", megabytes(s.BinaryMB), "≤ 25 MB", verdict(s.BinaryMB <= mostBinary), "Size of the stripped file.")
	if s.Resident == nil || idle == nil {
		row(b, "resident", "not measured", "≤ 100 MB", "", "The system has no /proc.")
		return
	}
	above := s.Resident.Median - idle.Median
	row(b, "resident above an idle Go process", megabytes(above), "≤ 100 MB", verdict(above <= mostResident),
		fmt.Sprintf("VmHWM behind three events in a row of %s (%s records) each, less that of the idle process above.",
			megabytes(s.EventMB), count(s.EventRecords)))
	row(b, "resident", between(*s.Resident, fixed(1))+" MB", "", "", "The same as it stands.")
}
