package recoveries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/manifest/body"
	"tidemark/shared/recovery"
)

// into is what the command line says of where rows come to, beside a database that is empty.
type into struct {
	schema string // existing, or empty
	tables []string
	name   string // of their schema
}

func (i *into) declare(flags *pflag.FlagSet) {
	flags.StringVar(&i.schema, "schema", "", "existing: load into the tables that migrations made, all of them empty")
	flags.StringArrayVar(&i.tables, "table", nil, "restore this table alone, as of the manifest's cut (SCHEMA.TABLE; may be repeated; with --into)")
	flags.StringVar(&i.name, "into", "", "the schema that --table makes; nothing may be there by its name")
}

// valid refuses a wrong command line of a recovery.
func (f *Flags) valid() error {
	switch {
	case f.jobs < 1 || f.jobs > mostJobs:
		return exit.Usage(errJobs)
	case f.into.name != "":
		return exit.Usage(errors.New("--into names the schema of --table: name a table"))
	case f.into.schema != "" && f.into.schema != "existing":
		return exit.Usage(fmt.Errorf("--schema %.80q: want existing, or leave it out", f.into.schema))
	}
	return nil
}

// apply tells a recovery.
func (i *into) apply(o *recovery.Options) {
	o.Existing = i.schema != ""
	fits := o.Fits
	o.Fits = func(ctx context.Context, b body.Body) ([]string, error) {
		warnings, err := fits(ctx, b)
		return warnings, exit.FromDatabase(err)
	}
}

// Extracts says whether single tables are wanted, and no recovery.
func (f *Flags) Extracts() bool { return len(f.into.tables) > 0 }

// Extract restores single tables and tells of it. Errors: marked with where they came from.
func (f *Flags) Extract(ctx context.Context, out, progress io.Writer) error {
	if err := f.alone(); err != nil {
		return err
	}
	e := extraction{flags: f, out: out, watch: NewWatch(progress, f.JSON, time.Now)}
	return e.run(ctx)
}

// alone refuses what a restore of single tables has no use for, and a schema that cannot be.
func (f *Flags) alone() error {
	const longest = 63 // bytes of a name: what is longer the server would cut off
	switch name := f.into.name; {
	case f.allowGap != "" || len(f.flows) > 0 || len(f.extent.from)+len(f.extent.until) > 0 || f.into.schema != "" || f.mintInSecondary ||
		len(f.switching.Asked) > 0 || f.commands:
		return exit.Usage(errors.New("--table restores as of the manifest's cut and replays nothing: it takes --into, --manifest, " +
			"--allow-older, --jobs, --dry-run and --json alone"))
	case name == "" || len(name) > longest || strings.Contains(name, "\x00") || strings.HasPrefix(name, "pg_"):
		return exit.Usage(errors.New("--table needs --into SCHEMA: the name of a schema that is to be made, of at most 63 bytes, not beginning pg_"))
	case f.jobs < 1 || f.jobs > mostJobs:
		return exit.Usage(errJobs)
	}
	return nil
}
