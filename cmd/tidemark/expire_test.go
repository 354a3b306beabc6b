package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/archive/layout"
	"tidemark/shared/expiry"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// TestEndExpiry is about what folders cannot show: they have no locks.
func TestEndExpiry(t *testing.T) {
	t.Parallel()
	locked := expiry.SweepReport{Place: "primary", Locked: []manifest.Digest{manifest.DigestOf(nil)}}
	for name, c := range map[string]struct {
		done expiry.Report
		err  error
		code int
		says string
	}{
		"Clean":  {expiry.Report{Confirmed: true}, nil, 0, ""},
		"Locked": {expiry.Report{Confirmed: true, Sweeps: []expiry.SweepReport{locked}}, nil, 3, "a later run takes them: 1"},
		"LockedManifest": {
			expiry.Report{Confirmed: true, Locked: []layout.ID{{Lineage: 1, Seq: 2, Run: "r"}}}, nil, 3, "a later run takes them: 1",
		},
		"Warned":       {expiry.Report{Warnings: []string{"a revocation counts for nothing"}}, nil, 3, "1 warnings"},
		"Stopped":      {expiry.Report{Sweeps: []expiry.SweepReport{locked}}, fault.New(fault.Retryable, "away"), 21, "away"},
		"Empty":        {expiry.Report{}, fault.New(fault.Corrupt, "x: %w", expiry.ErrNothingVerified), 10, "no backup"},
		"NoneVerifies": {expiry.Report{Decisions: make([]expiry.Decision, 1)}, fault.New(fault.Corrupt, "x: %w", expiry.ErrNothingVerified), 13, "x: no manifest"},
	} {
		for _, asJSON := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", asJSON), func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				cmd := &cobra.Command{}
				cmd.SetOut(&out)
				err := endExpiry(cmd, c.done, asJSON, c.err)
				if err != nil {
					err = exit.Archive(err) // as onArchive does
				}
				if got := exit.Code(err, false); got != c.code || c.says != "" && !strings.Contains(exit.Message(err), c.says) {
					t.Errorf("got %d and %v, want %d and %q", got, err, c.code, c.says)
				}
			})
		}
	}
}
