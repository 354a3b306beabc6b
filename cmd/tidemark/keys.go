package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark/shared/signing"
)

func newKeys() *cobra.Command {
	keys := &cobra.Command{
		Use:   "keys",
		Short: "Makes and shows the keys that sign what is in the archive",
		Long: "A private key signs statements; whoever verifies them pins its public half beforehand. Public keys go to\n" +
			"standard output and everything else to standard error, so > public.pem keeps just the key.",
	}
	keys.AddCommand(newKeysGenerate(), newKeysShow())
	return keys
}

// printKey writes the key to standard output, and to standard error what it is.
func printKey(cmd *cobra.Command, key signing.PublicKey, about string) error {
	cmd.PrintErrf("key %s, %s%s\n", key.ID(), key.Algorithm(), about)
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s", key.PEM())
	return err
}
