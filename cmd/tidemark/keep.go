package main

import (
	"github.com/spf13/cobra"

	"tidemark/shared/archive/verdict"
)

func newKeep() *cobra.Command {
	return saying{
		use:   "keep",
		short: "Keeps a backup from expiry until it is let go",
		long: "Marks the backup of a run: no policy expires it, and its objects stay, whatever they cost. The mark stands in every\n" +
			"bucket that has the manifest, with your name and the reason. It is no lock: whoever may delete objects still can.\n" +
			"Its records in Kafka go by Kafka's own retention, so a recovery from it may then have a gap. RUN is shown by\n" +
			"tidemark expire; tidemark unkeep lets it go. It needs TIDEMARK_SIGNING_KEYS with a key that is among the trusted keys.",
		say: verdict.Keep,
		told: func(spoken verdict.Spoken) string {
			if spoken.Entry.Kept {
				return "was kept already and stays kept"
			}
			return "is kept: no policy expires it"
		},
	}.command()
}
