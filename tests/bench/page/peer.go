package page

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/tests/bench/result"
)

// sink is what was recorded of the Debezium JDBC sink, 2026-11-29, on two cores, with its best settings found. CPU is
// of Connect, server and broker, in seconds for a million records, the lowest of the runs.
type sink struct {
	workload  string
	one, best float64 // records a second of a single task, and of the best number of tasks
	cpu       float64
	form      string
}

func sinks() []sink {
	return []sink{
		{"insert", 27_500, 27_900, 56.5, "envelopes with a schema"},
		{"mixed", 30_500, 42_200, 43.7, "flat rows with a schema, a delete as one tombstone"},
	}
}

// The goals beside the sink.
const (
	timesOne  = 5
	timesBest = 4
	partOfCPU = 1.0 / 3
	peerBatch = 1_000
)

func peer(b *strings.Builder, cells []result.Cell) {
	section(b, "Beside the Debezium JDBC sink")
	paragraph(b, "The sink is not part of this run. Its figures were recorded on 2026-11-29 on two cores: "+
		"Kafka Connect 4.4.0, sink 3.6.0.Final, PostgreSQL 15 with the same durability, a million inserts or 300,000 mixed "+
		"records of the same row, through Kafka. Apply's figures leave the broker and the consumer out. "+
		"So the ratios show a distance and judge no goal.")
	head(b, "lllrlrrl", "load", "figure", "apply / sink", "goal", "", "apply", "sink", "how it was measured")
	for _, s := range sinks() {
		at := slices.IndexFunc(cells, func(c result.Cell) bool {
			return c.Workload == s.workload && c.Batch == peerBatch && !c.Events
		})
		if at < 0 {
			continue
		}
		for _, f := range s.beside(cells[at].Apply) {
			row(b, s.workload, f.name, fixed(2)(f.ours/f.theirs), f.goal, "not judged", plain(f.ours), plain(f.theirs),
				fmt.Sprintf("apply: %s records a transaction, as above; sink: %s, %s.", count(peerBatch), s.form, f.which))
		}
	}
}

// figure is one quantity of both.
type figure struct {
	name, goal, which string
	ours, theirs      float64
}

func (s sink) beside(ours result.Side) []figure {
	rate := ours.Rate.Median
	figures := []figure{
		{"records/s, one task", fmt.Sprintf("≥ %d", timesOne), "its best single task", rate, s.one},
		{"records/s, best total", fmt.Sprintf("≥ %d", timesBest), "its best number of tasks", rate, s.best},
	}
	if ours.ServerCPU != nil {
		cpu := ours.ClientCPU.Median + ours.ServerCPU.Median
		figures = append(figures, figure{
			"CPU s a million records", fmt.Sprintf("≤ %.2f", partOfCPU), "the lowest of its runs, with the broker", cpu, s.cpu,
		})
	}
	return figures
}
