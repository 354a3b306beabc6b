package main

import (
	"errors"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/config/trustfile"
	"tidemark/shared/signing/kmskey"
	"tidemark/shared/signing/localkey"
)

func newKeysShow() *cobra.Command {
	var kms string
	show := &cobra.Command{
		Use:   "show FILE | --kms ARN",
		Short: "Prints the public keys of a file, or of a key in AWS KMS",
		Long: "Prints id and algorithm of each key to standard error and the public key itself, in PEM, to standard output.\n" +
			"FILE may be a private key, public keys in PEM, or a file of trusted keys. --kms asks AWS with the settings of the\n" +
			"process: the variables AWS_*, a profile, a role.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			switch {
			case (len(files) == 0) == (kms == ""):
				return exit.Usage(errors.New("want either a file or --kms"))
			case kms != "":
				return showKMS(cmd, kms)
			}
			return showFile(cmd, files[0])
		},
	}
	show.Flags().StringVar(&kms, "kms", "", "the ARN of a key in AWS KMS; an id or an alias needs AWS_REGION too")
	return show
}

func showKMS(cmd *cobra.Command, id string) error {
	key, err := kmskey.Dial(cmd.Context(), kmskey.Options{}, id)
	if err != nil {
		return err
	}
	return printKey(cmd, key.Key(), ", "+key.ARN())
}

func showFile(cmd *cobra.Command, path string) error {
	private, err := localkey.Load(path)
	if err == nil {
		return printKey(cmd, private.Key(), ", private half in "+path)
	}
	if !errors.Is(err, localkey.ErrNotPrivate) {
		return err
	}
	pinned, err := trustfile.Read(path)
	if err != nil {
		return err
	}
	for _, key := range pinned {
		about := ""
		if key.Name != "" {
			about = ", " + key.Name
		}
		if err := printKey(cmd, key.Key, about); err != nil {
			return err
		}
	}
	return nil
}
