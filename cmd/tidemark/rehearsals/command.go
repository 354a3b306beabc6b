// Package rehearsals owns the verb rehearse: what is asked for, how the rehearsal is shown, and whose word an error of it is.
//
// What differs and what that means is decided by shared/rehearsal alone. It refuses to let a name from a database reach a
// terminal as it is, and to end without having dropped what was made for it. No state beyond one command.
package rehearsals

import (
	"github.com/spf13/cobra"
)

// asked is what the command line says.
type asked struct {
	actor                                        func() string
	tool, manifest                               string
	until, flows                                 []string
	live, noLive, keep, asJSON, noReport, dryRun bool
	jobs                                         int
}

// Command is the verb. actor names who acts, for the report; tool is the program with its version.
func Command(actor func() string, tool string) *cobra.Command {
	const jobs = 2
	asked := &asked{actor: actor, tool: tool}
	verb := &cobra.Command{
		Use:   "rehearse [--live | --no-live] [--manifest RUN] [--until …]",
		Short: "Recovers into a scratch database, measures that, compares it with the live target and signs what it found",
		Long: "A full recovery into a scratch database: one that it makes beside the target's and drops at its end, or the empty one in\n" +
			"TIDEMARK_SCRATCH_DATABASE_URL. No life is taken and the live target is only read. The restored base is compared with what\n" +
			"the archive holds, table by table; after the replay the database is compared with the live target, at the cut at which\n" +
			"that one was read. --no-live leaves that out, and goes to the end of the log or to --until.\n\n" +
			"What differs is named. A table that no flow writes and that the live target changed since the backup is a warning: a\n" +
			"recovery loses that. The report is signed and stored beside the manifest, unless --no-report is given; tidemark\n" +
			"manifests list shows the newest one. Each flow needs its flow file.\n\n" +
			"Exit codes: 0 verified, 3 with warnings, 10 no backup, 12 a signature that is not trusted, 13 it differs or is damaged,\n" +
			"14 the log has not what a recovery needs, 15 the scratch database is the live one or not empty, 30 PostgreSQL, 31 Kafka.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return asked.run(cmd) },
	}
	flags := verb.Flags()
	flags.StringVar(&asked.manifest, "manifest", "", "one manifest: its run, the first characters of it, or LIFE/NUMBER")
	flags.StringArrayVar(&asked.until, "until", nil, "where replay ends: a time (RFC 3339), or TOPIC/PARTITION=OFFSET (may be repeated); "+
		"compares with no live target")
	flags.BoolVar(&asked.live, "live", false, "compare with the target in TIDEMARK_DATABASE_URL (the default without --until)")
	flags.BoolVar(&asked.noLive, "no-live", false, "compare with the archive alone")
	flags.IntVar(&asked.jobs, "jobs", jobs, "tables and indexes that are made, and tables that are counted, side by side")
	flags.BoolVar(&asked.keep, "keep", false, "leave the database that was made, to look into it")
	flags.BoolVar(&asked.asJSON, "json", false, "print progress and result as JSON")
	flags.BoolVar(&asked.noReport, "no-report", false, "sign and store no report")
	flags.BoolVar(&asked.dryRun, "dry-run", false, "print the plan, and write nothing anywhere")
	flags.StringArrayVar(&asked.flows, "flow", nil, "a flow file beside the one in TIDEMARK_FLOW_FILE (may be repeated)")
	verb.MarkFlagsMutuallyExclusive("live", "no-live")
	verb.MarkFlagsMutuallyExclusive("live", "until")
	if err := verb.RegisterFlagCompletionFunc("until", cobra.NoFileCompletions); err != nil {
		panic(err) // the flag is declared above
	}
	return verb
}
