package recoveries

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/config"
	"tidemark/shared/config/brokers"
	"tidemark/shared/wiring/recovering"
)

// Flags is what the command line says of a recovery.
type Flags struct {
	manifest, allowGap, allowOlder string
	jobs                           int
	flows                          []string

	extent          extent
	into            into
	mintInSecondary bool
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
	flags.BoolVar(&f.mintInSecondary, "mint-in-secondary", false, "take the next life in the secondary bucket: the primary is gone")
	flags.StringArrayVar(&f.switching.Asked, "switch", nil, "FLOW=FUNCTION: disable the function's event source mappings before, move "+
		"their groups and enable them after (may be repeated)")
	flags.BoolVar(&f.commands, "commands", false, "print the commands that do by hand what --switch does, and write nothing")
	f.extent.declare(flags)
	f.into.declare(flags)
	flags.StringArrayVar(&f.flows, "flow", nil, "a flow file beside the one in TIDEMARK_FLOW_FILE (may be repeated)")
}

// Open puts the recovery together that the flags and the environment ask for, and gives what closes it.
//
// Errors: marked with where they came from; fault.Misconfigured.
func (f *Flags) Open(ctx context.Context, actor, tool string) (*recovering.Recovery, func(), error) {
	if err := f.valid(); err != nil {
		return nil, nil, err
	}
	environment, err := config.LoadRecovery(config.OS())
	if err != nil {
		return nil, nil, err
	}
	f.kafka = environment.Kafka
	log, err := recovering.OpenLog(ctx, &environment.Kafka, time.Now)
	if err != nil {
		return nil, nil, exit.Kafka(err)
	}
	opened, err := recovering.New(ctx, &environment, f.flows, markedLog{log}, time.Now)
	if err != nil {
		log.Close()
		return nil, nil, exit.Archive(err)
	}
	closeAll := func() {
		opened.Close(context.WithoutCancel(ctx))
		log.Close()
	}
	o := &opened.Options
	o.AllowGap, o.AllowOlder, o.Jobs, o.Actor, o.Tool = f.allowGap, f.allowOlder, f.jobs, actor, tool
	o.MintInSecondary = f.mintInSecondary
	if err := f.extent.apply(o); err != nil {
		closeAll()
		return nil, nil, err
	}
	f.into.apply(o)
	o.Database, o.Applier = markedDatabase{o.Database}, markedAppliers(o.Applier)
	if o.Manifest, err = find(ctx, o.Archive, f.manifest); err != nil {
		closeAll()
		return nil, nil, exit.Archive(err)
	}
	return opened, closeAll, nil
}
