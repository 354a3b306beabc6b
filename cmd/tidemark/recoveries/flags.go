package recoveries

import (
	"github.com/spf13/pflag"

	"tidemark/shared/config/brokers"
)

// Flags is what the command line says of a recovery.
type Flags struct {
	manifest, allowGap, allowOlder string
	jobs                           int
	flows                          []string

	extent          extent
	into            into
	mintInSecondary bool
	fromBucket      string
	switching       Switching
	commands        bool
	kafka           brokers.Kafka // as the environment has it, when the recovery is open

	DryRun, JSON bool
}

// Declare makes them known.
func (f *Flags) Declare(flags *pflag.FlagSet) {
	const jobs = 2
	flags.BoolVar(&f.DryRun, "dry-run", false, "print the plan, and write nothing")
	flags.BoolVar(&f.JSON, "json", false, "print plan, progress and result as JSON")
	flags.StringVar(&f.manifest, "manifest", "", "recover from the backup of this run, not from the newest")
	flags.StringVar(&f.allowGap, "allow-gap", "", "why records that the log no longer has may be missing")
	flags.StringVar(&f.allowOlder, "allow-older", "", "why the backup may be older than one that was seen")
	flags.IntVar(&f.jobs, "jobs", jobs, "tables and indexes that are made side by side")
	flags.StringVar(&f.fromBucket, "from-bucket", "", "read manifest and base from one bucket alone: primary or secondary")
	flags.BoolVar(&f.mintInSecondary, "mint-in-secondary", false, "take the next life in the secondary bucket: the primary is gone")
	flags.StringArrayVar(&f.switching.Asked, "switch", nil, "FLOW=FUNCTION: disable the function's event source mappings before, move "+
		"their groups and enable them after (may be repeated)")
	flags.BoolVar(&f.commands, "commands", false, "print the commands that do by hand what --switch does, and write nothing")
	f.extent.declare(flags)
	f.into.declare(flags)
	flags.StringArrayVar(&f.flows, "flow", nil, "a flow file beside the one in TIDEMARK_FLOW_FILE (may be repeated)")
}
