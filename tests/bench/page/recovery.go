package page

import (
	"fmt"
	"strings"

	"tidemark/tests/bench/result"
)

// The goals for a recovery.
const (
	leastOfBare = 0.9 // of the rate of COPY and the building of keys
	leastOfLive = 0.9 // of live apply's rate
	mostPerUnit = 1.1 // of what a unit takes in a ninth of it: linear, and what the rounds differ by
)

func recovery(b *strings.Builder, r result.Results) {
	m := r.Recovery
	if m == nil {
		return
	}
	section(b, "Recovery beside a bare COPY and beside apply")
	elsewhere(b, m.Machine, r.Machine)
	paragraph(b, "A recovery is what `tidemark recover` runs, into an empty database, from an archive in a folder of the disk that the "+
		"server's files are on. The bare side, in turns with it, is `COPY … FROM STDIN (FORMAT binary, FREEZE)` of the same rows out "+
		"of files, each table in the transaction that makes it, the largest first, and then the building of the same keys, by as "+
		"many connections. Both sides have synchronous_commit off, as a restore has until its last transaction, and "+
		"maintenance_work_mem at 256 MB. All rates count the same bytes, those of COPY: %s MB.", plain(m.MB))
	head(b, "lrr", "table", "rows", "MB")
	for _, t := range m.Tables {
		row(b, "`"+t.Name+" ("+t.Columns+")`", count(t.Rows), plain(t.MB))
	}
	bases(b, m.Bases)
	replays(b, m.Replays)
	scale(b, "base", "MB", m.Sizes)
	scale(b, "tail", "records", m.Tails)
}

func bases(b *strings.Builder, cells []result.BaseCell) {
	paragraph(b, "A restore is the part of a recovery that brings the base in: it reads the archive, checks every digest, "+
		"unpacks, makes definitions, rows, keys and sequences, marks each step, and makes the statistics. The bare side's rate "+
		"leaves its ANALYZE out; the ratio that is judged is against that rate.")
	head(b, "rllllrl", "jobs", "restore / COPY and keys", "goal", "", "with ANALYZE on both sides", "whole recovery s", "how it was measured")
	for _, c := range cells {
		row(b, count(c.Jobs), ratio(c.Ratio), fmt.Sprintf("≥ %.2f", leastOfBare), verdict(c.Ratio.Median >= leastOfBare),
			ratio(c.AnalyzedRatio), between(c.Whole, fixed(2)),
			"The restore from its first statement to its last COMMIT; COPY from connecting to the last key.")
	}
	paragraph(b, "What each cost. CPU is in seconds a GB, of this process and of all of the server's; the restore's is that of the "+
		"whole recovery.")
	head(b, "lrrrrr", "side", "jobs", "MB/s", "s", "client CPU", "server CPU")
	for _, c := range cells {
		for _, s := range []struct {
			name string
			side result.BackupSide
		}{{"COPY and keys", c.Bare}, {"restore", c.Restore}} {
			row(b, s.name, count(c.Jobs), rate(s.side.Rate), between(s.side.Seconds, fixed(2)), seconds(&s.side.ClientCPU),
				seconds(s.side.ServerCPU))
		}
	}
}

func replays(b *strings.Builder, cells []result.ReplayCell) {
	if len(cells) == 0 {
		return
	}
	paragraph(b, "Replay brings records out of a log in memory, in answers of 4 MiB, into a table as above. Live apply beside it has the "+
		"same records, put together by the same code, %s a transaction. The decoding and the applying of both are the real ones; "+
		"no broker takes part.", count(cells[0].Batch))
	head(b, "lrllll", "load", "records", "replay / apply", "goal", "", "how it was measured")
	for _, c := range cells {
		row(b, c.Workload, count(c.Records), ratio(c.Ratio), fmt.Sprintf("≥ %.2f", leastOfLive),
			verdict(c.Ratio.Median >= leastOfLive), "From the opening of the log to its end, with connecting; apply from connecting to the last COMMIT.")
	}
	head(b, "llrrrrr", "load", "side", "records/s", "client CPU", "server CPU", "allocations a record", "bytes a record")
	for _, c := range cells {
		for _, s := range []struct {
			name string
			side result.Side
		}{{"replay", c.Replay}, {"apply", c.Apply}} {
			row(b, c.Workload, s.name, rate(s.side.Rate), seconds(&s.side.ClientCPU), seconds(s.side.ServerCPU),
				decimals(s.side.Allocations), plain(s.side.Bytes.Median))
		}
	}
}

// scale says whether the time of a recovery grows with its size and no faster.
func scale(b *strings.Builder, what, unit string, steps []result.Step) {
	const least = 3
	if len(steps) < least {
		return
	}
	paragraph(b, "The whole recovery, from choosing the manifest to a live target, by the size of the %s:", what)
	head(b, "rrrl", unit, "s", "µs each", "each / each of the smallest")
	for _, s := range steps {
		row(b, plain(s.Units), between(s.Seconds, fixed(2)), plain(s.Seconds.Median/s.Units*mega), ratio(s.PerUnit))
	}
	further := func(i int) float64 {
		return (steps[i].Seconds.Median - steps[i-1].Seconds.Median) / (steps[i].Units - steps[i-1].Units)
	}
	last := len(steps) - 1
	head(b, "lrll", "figure", "measured", "goal", "")
	row(b, fmt.Sprintf("what a unit takes in the largest %s, by what it takes in the smallest", what), ratio(steps[last].PerUnit),
		fmt.Sprintf("≤ %.2f", mostPerUnit), verdict(steps[last].PerUnit.Median <= mostPerUnit))
	row(b, "the same of each further unit, without what a recovery takes whatever its size is", fixed(2)(further(last)/further(1)), "", "")
}

const mega = 1e6
