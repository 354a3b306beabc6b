package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/verifications"
)

func newVerify() *cobra.Command { return verifications.Command(actor, "tidemark "+version) }
