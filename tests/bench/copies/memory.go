package copies

import (
	"context"
	"errors"

	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/original"
	"tidemark/tests/bench/result"
)

// Task is what a child process does: back a database up into an archive of its own, or with 0 jobs nothing at all.
type Task struct {
	URL  string
	Jobs int
}

// Run does the task.
func (t Task) Run(ctx context.Context) (err error) {
	if t.Jobs == 0 {
		return nil
	}
	s, err := original.NewStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Remove()) }()
	return s.Save(ctx, t.URL, t.Jobs)
}

// memory measures children that do nothing, and that back up a small database and the large one with each number of jobs.
func (o Options) memory(ctx context.Context, large *original.Database) (_ *result.BackupMemory, err error) {
	if !meter.HasProc() {
		return nil, nil //nolint:nilnil // the page says so
	}
	small, err := original.Open(ctx, o.URL, o.Seed, o.Small)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, small.Drop(ctx)) }()
	m := &result.BackupMemory{SmallMB: megabytes(small.Bytes), LargeMB: megabytes(large.Bytes)}
	tasks := []Task{{}}
	for _, n := range jobs() {
		tasks = append(tasks, Task{URL: small.URL, Jobs: n}, Task{URL: large.URL, Jobs: n})
	}
	peaks := make([][]float64, len(tasks))
	for range o.Rounds {
		for i, t := range tasks {
			peak, err := o.Child(ctx, t)
			if err != nil {
				return nil, err
			}
			peaks[i] = append(peaks[i], peak)
		}
	}
	m.Idle = result.SpreadOf(peaks[0])
	for i, n := range jobs() {
		m.Peaks = append(m.Peaks, result.BackupPeak{
			Jobs: n, Small: result.SpreadOf(peaks[1+2*i]), Large: result.SpreadOf(peaks[2+2*i]),
		})
		o.Say("backup, %d jobs: at most %.0f MB, idle %.0f", n, m.Peaks[i].Large.Median, m.Idle.Median)
	}
	return m, nil
}
