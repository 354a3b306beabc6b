package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report"
	"tidemark/shared/archive"
	"tidemark/shared/archive/verdict"
	"tidemark/shared/config"
	"tidemark/shared/manifest"
	"tidemark/shared/wiring"
)

// saying is a verb that says something of one manifest, which counts only with a signature.
type saying struct {
	use, short, long string
	say              func(context.Context, verdict.Options, manifest.RunID, string) (verdict.Spoken, error)
	// told is what it means now.
	told func(verdict.Spoken) string
}

func (s saying) command() *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use: s.use + " RUN --reason TEXT", Short: s.short, Long: s.long, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			run, err := manifest.ParseRunID(arguments[0])
			if err != nil {
				return exit.Usage(errors.New(err.Error() + ", as tidemark expire shows it"))
			}
			if strings.TrimSpace(reason) == "" {
				return exit.Usage(errors.New("--reason: say why; the next operator reads it"))
			}
			return onArchive(cmd, func(environment config.Archivist, opened *archive.Archive) error {
				return s.speak(cmd, environment, verdict.Options{Archive: opened, Actor: actor(), Now: time.Now}, run, reason)
			})
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "why; it is kept in the archive")
	if err := command.MarkFlagRequired("reason"); err != nil {
		panic(err) // the flag is declared two lines above
	}
	return command
}

func (s saying) speak(cmd *cobra.Command, environment config.Archivist, o verdict.Options, run manifest.RunID, reason string) error {
	signers, err := wiring.Signers(cmd.Context(), environment.Archive)
	if err != nil {
		return err
	}
	o.Signers = signers
	spoken, err := s.say(cmd.Context(), o, run, reason)
	if err != nil {
		if len(spoken.Places) > 0 {
			cmd.PrintErrf("written to the %s bucket; say it again to complete it\n", strings.Join(spoken.Places, " and the "))
		}
		return err
	}
	cmd.Printf("manifest %s %s\nwritten to: %s\n", spoken.Entry.ID, s.told(spoken), strings.Join(spoken.Places, ", "))
	if len(spoken.Warnings) > 0 {
		return exit.Warnedf("done, with warnings: not written everywhere, say it again later: %s", report.OneLine(strings.Join(spoken.Warnings, "; ")))
	}
	return nil
}
