package main

import (
	"github.com/spf13/cobra"

	"tidemark/shared/signing/localkey"
)

func newKeysGenerate() *cobra.Command {
	var out string
	generate := &cobra.Command{
		Use:   "generate --out FILE",
		Short: "Makes an Ed25519 key: the private half into FILE, the public half to standard output",
		Long: "Writes a new private key into FILE, which must not exist, for nobody else to read. The public half goes to\n" +
			"standard output. Without the private key nothing can be signed, without the public one nothing is trusted.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := localkey.Generate()
			if err != nil {
				return err
			}
			if err := key.Write(out); err != nil {
				return err
			}
			if err := printKey(cmd, key.Key(), ", private half in "+out); err != nil {
				return err
			}
			cmd.PrintErrln("next: keep a copy of the file somewhere safe and offline; pin the public key where backups are verified\n" +
				"and recovered, away from the bucket; then sign with the new key. In a rotation, sign with the old and the new\n" +
				"key until every verifier has pinned the new one.")
			return nil
		},
	}
	generate.Flags().StringVar(&out, "out", "", "where the private key goes; nothing may be there yet")
	if err := generate.MarkFlagRequired("out"); err != nil {
		panic(err) // the flag is declared the line above
	}
	return generate
}
