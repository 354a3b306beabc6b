// Package verifications owns the verb verify: which manifests are looked at, how closely, and how the findings are shown and
// signed.
//
// What is wrong with a backup is decided by shared/verify alone. It refuses to be silent about a newer manifest that cannot be
// used, and to call a look at a share of the objects one at all of them. No state beyond one command.
package verifications

import (
	"github.com/spf13/cobra"
)

// Command is the verb. actor names who acts, for the report; tool is the program with its version.
func Command(actor func() string, tool string) *cobra.Command {
	asked := &asked{actor: actor, tool: tool}
	verb := &cobra.Command{
		Use:   "verify [--level files|hash] [--manifest RUN | --all] [--sample 5%]",
		Short: "Checks that backups are still what they were signed as, and signs what it found",
		Long: "Looks at the newest manifest that can be used, in every bucket that lists it; a newer one that cannot be is named and\n" +
			"counts as failed. Level files asks the store for every object and its size; level hash reads every object, and checks\n" +
			"its digests and the rows in it. With --sample the bytes of a share of the objects are read, chosen by a seed that the\n" +
			"report keeps, and of the others only that they are there. All problems are collected.\n\n" +
			"The report is signed and stored beside the manifest; tidemark manifests list shows the newest one. It needs\n" +
			"TIDEMARK_SIGNING_KEYS with a key that is among the trusted keys, or --no-report. Level hash of encrypted backups needs\n" +
			"the identity that opens them. Reading takes a stored object of at most 64 MiB for each of four jobs in memory.\n\n" +
			"Exit codes: 0 verified, 3 with warnings, 10 no backup, 12 a signature that is not trusted, 13 damage, 20 and 21 the store.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return asked.run(cmd) },
	}
	flags := verb.Flags()
	flags.StringVar(&asked.level, "level", "hash", "how closely: files or hash")
	flags.StringVar(&asked.manifest, "manifest", "", "one manifest: its run, the first characters of it, or LIFE/NUMBER")
	flags.BoolVar(&asked.all, "all", false, "every manifest that was not withdrawn")
	flags.StringVar(&asked.sample, "sample", "100%", "share of the objects whose bytes are read at level hash")
	flags.StringVar(&asked.seed, "seed", "", "choose the same objects as a report with this seed did: 16 hexadecimal digits")
	flags.StringVar(&asked.bucket, "from-bucket", "", "look into one bucket alone: primary or secondary")
	flags.BoolVar(&asked.asJSON, "json", false, "print the findings as JSON")
	flags.BoolVar(&asked.noReport, "no-report", false, "sign and store no report")
	verb.MarkFlagsMutuallyExclusive("manifest", "all")
	for name, values := range map[string][]string{
		"level": {"files", "hash"}, "from-bucket": {"primary", "secondary"}, "sample": {"1%", "5%", "10%", "100%"},
	} {
		if err := verb.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flags are declared above
		}
	}
	return verb
}
