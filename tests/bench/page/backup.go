package page

import (
	"fmt"
	"strings"

	"tidemark/tests/bench/result"
)

// The goals for a backup.
const (
	leastOfOne  = 0.9  // of COPY's rate, with one job
	leastOfCore = 0.7  // with a job for each core
	mostSent    = 0.01 // by a backup of unchanged rows, of what the first stored
	mostAJob    = 150  // MB above the idle process, for each job
)

func backup(b *strings.Builder, r result.Results) {
	section(b, "Backup beside a bare COPY")
	m := r.Backup
	if m == nil {
		paragraph(b, "Not measured.")
		return
	}
	elsewhere(b, m.Machine, r.Machine)
	paragraph(b, "The tables below are read out in turns, round by round: by `COPY … TO STDOUT (FORMAT binary)` to nowhere, the "+
		"largest table first; by a backup into an empty archive; by the next backup into the same archive, with no row changed; and "+
		"by pg_dump's directory format. A backup reads by as many connections as it has jobs, compresses by zstd at level %d, "+
		"hashes, counts every table, signs, and brings all of it to the disk that the server's files are on; so does pg_dump, by zlib "+
		"at level 1. All rates count the same bytes, those of COPY: %s MB.", m.Level, plain(m.MB))
	head(b, "llrrl", "table", "columns", "rows", "MB", "")
	for _, t := range m.Tables {
		row(b, t.Name, "`"+t.Columns+"`", count(t.Rows), plain(t.MB), t.About)
	}
	besideCopy(b, m)
	besideDump(b, m.Cells)
	readingCosts(b, m.Cells)
	backupMemory(b, m.Memory)
}

// elsewhere says when the backups are from another run than the rest.
func elsewhere(b *strings.Builder, m, rest result.Machine) {
	if m.Short && !rest.Short {
		paragraph(b, "**These are the results of a short run. The figures mean little.**")
	}
	if m == rest {
		return
	}
	paragraph(b, "This section is from a run of its own, at commit `%s` on %s: %s, PostgreSQL %s, pgx %s, %s, %d cores, seed %d, "+
		"%d rounds.", m.Commit, m.Date, m.Go, m.PostgreSQL, m.Pgx, m.Platform, m.Cores, m.Seed, m.Rounds)
}

func besideCopy(b *strings.Builder, m *result.Backup) {
	head(b, "lrlllrl", "backup", "jobs", "backup / COPY", "goal", "", "stored MB", "how it was measured")
	for _, c := range m.Cells {
		goal, met := "", ""
		switch c.Jobs {
		case 1:
			goal, met = fmt.Sprintf("≥ %.2f", leastOfOne), verdict(c.Ratio.Median >= leastOfOne)
		case m.Machine.Cores:
			goal, met = fmt.Sprintf("≥ %.2f", leastOfCore), verdict(c.Ratio.Median >= leastOfCore)
		}
		row(b, "first", count(c.Jobs), ratio(c.Ratio), goal, met, plain(c.StoredMB.Median),
			"From the claim of the run to its end; COPY from connecting to the last row.")
	}
	for _, c := range m.Cells {
		row(b, "unchanged", count(c.Jobs), ratio(c.AgainRatio), "", "", plain(c.StoredMB.Median*c.Sent.Median), "The same.")
	}
	head(b, "lrrlll", "figure", "jobs", "measured", "goal", "", "how it was measured")
	for _, c := range m.Cells {
		row(b, "sent when unchanged", count(c.Jobs), between(c.Sent, func(v float64) string { return fixed(3)(100*v) + " %" }),
			"< 1 %", verdict(c.Sent.Median < mostSent),
			"What all files of the archive grew by, as a share of what they took after the first backup.")
	}
}

func besideDump(b *strings.Builder, cells []result.BackupCell) {
	if len(cells) == 0 {
		return
	}
	if cells[0].Dump == nil {
		paragraph(b, "pg_dump was not measured: there is none beside the server's binaries.")
		return
	}
	head(b, "rlllrrrr", "jobs", "backup / pg_dump", "goal", "", "backup s", "pg_dump s", "backup stored MB", "pg_dump stored MB")
	for _, c := range cells {
		row(b, count(c.Jobs), ratio(c.Dump.Ratio), "> 1.00", verdict(c.Dump.Ratio.Median > 1), between(c.First.Seconds, fixed(1)),
			between(c.Dump.Seconds, fixed(1)), plain(c.StoredMB.Median), plain(c.Dump.StoredMB.Median))
	}
}

func readingCosts(b *strings.Builder, cells []result.BackupCell) {
	paragraph(b, "What each cost. CPU is in seconds a GB: of this process, or of pg_dump's, and of all of the server's.")
	head(b, "lrrrrr", "side", "jobs", "MB/s", "s", "client CPU", "server CPU")
	for _, c := range cells {
		sides := []struct {
			name string
			side result.BackupSide
		}{{"COPY", c.Copy}, {"backup, first", c.First}, {"backup, unchanged", c.Again}}
		if c.Dump != nil {
			sides = append(sides, struct {
				name string
				side result.BackupSide
			}{"pg_dump", c.Dump.BackupSide})
		}
		for _, s := range sides {
			row(b, s.name, count(c.Jobs), rate(s.side.Rate), between(s.side.Seconds, fixed(2)), seconds(&s.side.ClientCPU),
				seconds(s.side.ServerCPU))
		}
	}
}

func backupMemory(b *strings.Builder, m *result.BackupMemory) {
	if m == nil {
		paragraph(b, "Memory was not measured: the system has no /proc.")
		return
	}
	paragraph(b, "Memory: VmHWM at the end of a process of the benchmark that makes a first backup, less the median of one that does "+
		"nothing, %s MB; and that for each job.", plain(m.Idle.Median))
	head(b, "rrrrll", "tables MB", "jobs", "MB peak resident", "MB above idle, each job", "goal", "")
	for _, p := range m.Peaks {
		for _, of := range []struct {
			size float64
			peak result.Spread
		}{{m.SmallMB, p.Small}, {m.LargeMB, p.Large}} {
			each := (of.peak.Median - m.Idle.Median) / float64(p.Jobs)
			row(b, plain(of.size), count(p.Jobs), between(of.peak, fixed(1)), fixed(1)(each), fmt.Sprintf("≤ %d", mostAJob),
				verdict(each <= mostAJob))
		}
	}
	for _, p := range m.Peaks {
		paragraph(b, "With %s jobs, %.1f times the tables take %.2f times the memory above idle.", count(p.Jobs), m.LargeMB/m.SmallMB,
			(p.Large.Median-m.Idle.Median)/(p.Small.Median-m.Idle.Median))
	}
}
