// Command bench measures apply, backup and recovery beside what PostgreSQL could do at best, and writes what it found as
// JSON and as a page.
//
//	bench -out FILE                  measure and write the results
//	bench -out FILE -only backup     measure one part, and keep what the file has of the others
//	bench -from FILE -page PAGE      write the page of results
//	bench -from FILE -page PAGE -check   compare the page instead: exit code 1 and the first line that is stale
//
// It owns a durable PostgreSQL of its own for the time of a run and everything that is measured lies in one run, in
// turns, so that what else the machine does meets both sides. It asserts nothing of time: each round is checked for the
// rows that it must have made, and goals are judged on the page. Paths are relative to where it is run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"tidemark/tests/bench/page"
	"tidemark/tests/bench/result"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// options are the command line.
type options struct {
	out, from, page, profile, only string
	check, short, child            bool
	seed                           uint64
	backupSize, recoverySize       int // MB
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.out, "out", "", "measure, and write the results to this file")
	flags.StringVar(&o.from, "from", "", "take the results of this file")
	flags.StringVar(&o.page, "page", "", "write the page of the results to this file")
	flags.StringVar(&o.profile, "profile", "", "only write profiles to this folder: of apply at 10,000 inserts a batch, with -only backup or recovery of those")
	flags.StringVar(&o.only, "only", "", "measure only this part: apply, backup or recovery")
	flags.IntVar(&o.backupSize, "backup-size", 0, "MB of the tables that are backed up; 0: 1000, in a short run 64")
	flags.IntVar(&o.recoverySize, "recovery-size", 0, "MB of the tables that are recovered; 0: 384, in a short run 32")
	flags.BoolVar(&o.check, "check", false, "compare the page instead of writing it")
	flags.BoolVar(&o.short, "short", false, "measure less than a minute, to show that it works")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the records")
	flags.BoolVar(&o.child, "child", false, "do the task on the standard input; for this program's own use")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := o.validate(); err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	if err := o.act(ctx, stderr); err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err) // the exit code says it too
		return 1
	}
	return 0
}

// The parts of a run.
const (
	onlyApply    = "apply"
	onlyBackup   = "backup"
	onlyRecovery = "recovery"
)

func (o options) validate() error {
	if !slices.Contains([]string{"", onlyApply, onlyBackup, onlyRecovery}, o.only) {
		return fmt.Errorf("-only %s: want apply, backup or recovery", o.only)
	}
	if o.backupSize < 0 {
		return fmt.Errorf("-backup-size %d: want a number of MB", o.backupSize)
	}
	if o.recoverySize < 0 {
		return fmt.Errorf("-recovery-size %d: want a number of MB", o.recoverySize)
	}
	return nil
}

func (o options) plan() plan {
	p := newPlan(o.seed, o.short)
	p.only = o.only
	if o.backupSize > 0 {
		p.backup = o.backupSize * megabyte
	}
	if o.recoverySize > 0 {
		p.recovery = o.recoverySize * megabyte
	}
	return p
}

func (o options) act(ctx context.Context, stderr io.Writer) error {
	switch {
	case o.child:
		return serveTask(ctx, os.Stdin, os.Stdout)
	case o.profile != "":
		return profile(ctx, o.plan(), o.profile)
	case o.out != "":
		return o.measure(ctx, stderr)
	case o.from != "" && o.page != "":
		return o.writePage()
	}
	return errors.New("want -out, or -from and -page")
}

// measure writes the results of a run. Of a part that is not measured the file keeps what it has.
func (o options) measure(ctx context.Context, progress io.Writer) error {
	var results result.Results
	if o.only != "" {
		var err error
		if results, err = read(o.out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := measureAll(ctx, o.plan(), &results, progress); err != nil {
		return err
	}
	text, err := results.Encode()
	if err != nil {
		return err
	}
	return write(o.out, text)
}

func read(path string) (results result.Results, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // whoever runs the command names the file
	if err != nil {
		return results, fmt.Errorf("read results: %w", err)
	}
	return results, results.Decode(text)
}

func (o options) writePage() error {
	results, err := read(o.from)
	if err != nil {
		return err
	}
	if o.check {
		return compare(o.page, page.Of(results))
	}
	return write(o.page, []byte(page.Of(results)))
}

func write(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // results are for everybody to read
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// compare says where a file is not the page.
func compare(path, want string) error {
	have, err := os.ReadFile(path) //nolint:gosec // whoever runs the command names the file
	if err != nil {
		return fmt.Errorf("read page: %w; run make generate", err)
	}
	got, wanted := strings.Split(string(have), "\n"), strings.Split(want, "\n")
	for i := range max(len(got), len(wanted)) {
		if g, w := line(got, i), line(wanted, i); g != w {
			return fmt.Errorf("%s:%d is stale; run make generate\n- %s\n+ %s", path, i+1, g, w)
		}
	}
	return nil
}

// line is a line of the list, or a word for none.
func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end of file)"
}
