package main

import (
	"github.com/spf13/cobra"

	"tidemark/shared/archive/verdict"
)

func newRevoke() *cobra.Command {
	return saying{
		use:   "revoke",
		short: "Withdraws a backup for good: nobody recovers from it any more",
		long: "Writes a signed revocation of the backup of a run into every bucket that has the manifest. It asks nothing and cannot\n" +
			"be taken back: recover passes the backup over by name, and the next tidemark expire --confirm removes it, unless it\n" +
			"is kept. What only this backup has is lost as a recovery point. Nothing is removed now.\n\n" +
			"It is for backups that are wrong or forged, for one of two that claim one number, and for one that cannot be read\n" +
			"and stops every expiry. It needs TIDEMARK_SIGNING_KEYS with a key that is among the trusted keys.",
		say: verdict.Withdraw,
		told: func(spoken verdict.Spoken) string {
			if spoken.Entry.Revoked {
				return "was withdrawn already"
			}
			return "is withdrawn: nobody recovers from it, and tidemark expire --confirm removes it"
		},
	}.command()
}
