package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/rehearsals"
)

func newRehearse() *cobra.Command { return rehearsals.Command(actor, "tidemark "+version) }
