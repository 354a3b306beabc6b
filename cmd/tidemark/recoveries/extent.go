package recoveries

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// extent is what the command line says of where replay begins and ends.
type extent struct{ from, until []string }

func (e *extent) declare(flags *pflag.FlagSet) {
	flags.StringArrayVar(&e.from, "from", nil, "where replay begins: manifest (the default), earliest, or TOPIC/PARTITION=OFFSET (may be repeated)")
	flags.StringArrayVar(&e.until, "until", nil, "where replay ends: a time (RFC 3339), or TOPIC/PARTITION=OFFSET (may be repeated); "+
		"what lies behind is held until tidemark flow resume")
}

// Complete makes shells offer the words that can stand behind a flag. Errors: a flag that Declare did not declare.
func (f *Flags) Complete(command *cobra.Command) error {
	return errors.Join(
		command.RegisterFlagCompletionFunc("from", cobra.FixedCompletions([]string{"manifest", "earliest"}, cobra.ShellCompDirectiveNoFileComp)),
		command.RegisterFlagCompletionFunc("until", cobra.NoFileCompletions),
		command.RegisterFlagCompletionFunc("from-bucket", cobra.FixedCompletions([]string{"primary", "secondary"}, cobra.ShellCompDirectiveNoFileComp)),
	)
}

// apply tells a recovery. Errors: a wrong command line.
func (e *extent) apply(o *recovery.Options) error {
	var err error
	if o.From, err = e.start(); err != nil {
		return exit.Usage(err)
	}
	if o.Until, err = e.end(); err != nil {
		return exit.Usage(err)
	}
	return nil
}

func (e *extent) start() (start inspection.Start, err error) {
	if len(e.from) == 1 && (e.from[0] == "manifest" || e.from[0] == "earliest") {
		return inspection.Start{Earliest: e.from[0] == "earliest"}, nil
	}
	start.Offsets, err = offsets("--from", e.from, "want manifest or earliest alone, or TOPIC/PARTITION=OFFSET")
	return start, err
}

func (e *extent) end() (end inspection.End, err error) {
	if len(e.until) == 1 && !strings.Contains(e.until[0], "=") {
		if end.At, err = time.Parse(time.RFC3339Nano, e.until[0]); err != nil {
			err = fmt.Errorf("--until %q: want a time as 2026-01-31T15:04:05Z, or TOPIC/PARTITION=OFFSET", e.until[0])
		}
		return end, err
	}
	end.Offsets, err = offsets("--until", e.until, "want one time alone, or TOPIC/PARTITION=OFFSET")
	return end, err
}
