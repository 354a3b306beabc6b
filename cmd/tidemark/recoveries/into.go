package recoveries

import (
	"context"
	"errors"
	"fmt"

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
	case f.fromBucket != "" && f.fromBucket != "primary" && f.fromBucket != "secondary":
		return exit.Usage(fmt.Errorf("--from-bucket %.80q: want primary or secondary", f.fromBucket))
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
