package main

import (
	"github.com/spf13/cobra"

	"tidemark/shared/archive/verdict"
)

func newUnkeep() *cobra.Command {
	return saying{
		use:   "unkeep",
		short: "Lets a kept backup go: the policy decides again",
		long: "Ends what tidemark keep said. The next tidemark expire --confirm may remove the backup for good, if the policy has\n" +
			"no use for it; until then tidemark keep takes it back. Nothing is removed now. It needs TIDEMARK_SIGNING_KEYS with a\n" +
			"key that is among the trusted keys: whoever may only write into the bucket cannot let a backup go.",
		say: verdict.LetGo,
		told: func(spoken verdict.Spoken) string {
			if !spoken.Entry.Kept {
				return "was not kept; the policy decides"
			}
			return "is let go: the next tidemark expire --confirm may remove it"
		},
	}.command()
}
