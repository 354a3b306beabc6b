package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/writer"
	"tidemark/shared/expiry"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/signing"
	"tidemark/shared/wiring"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	of := func(class fault.Class, err error) error {
		return archiveError{fault.New(class, "step: %w", fmt.Errorf("inner: %w", err))}
	}
	plain, answer := errors.New("x"), error(&s3api.AnswerError{Status: 404, Code: "NoSuchBucket"})
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"Done":              {nil, 0},
		"Unclassified":      {plain, 2}, // from the parser
		"Usage":             {usageError{plain}, 2},
		"Misconfigured":     {fault.New(fault.Misconfigured, "x"), 2},
		"Bug":               {fault.New(fault.Bug, "x"), 1},
		"Warnings":          {archiveError{warnedf("done, with warnings")}, 3},
		"NoBackup":          {of(fault.Misconfigured, history.ErrNoBackup), 10},
		"Superseded":        {of(fault.Fenced, writer.ErrSuperseded), 11},
		"LineageTaken":      {of(fault.Fenced, writer.ErrLineageTaken), 11},
		"Forked":            {of(fault.Fenced, history.ErrForked), 11},
		"ForkedUnderAMark":  {of(fault.Corrupt, history.ErrForked), 11},
		"LineageForked":     {of(fault.Fenced, history.ErrLineageForked), 11},
		"Fenced":            {of(fault.Fenced, archive.ErrExists), 11},
		"Untrusted":         {of(fault.Corrupt, signing.ErrUntrusted), 12},
		"Corrupt":           {of(fault.Corrupt, plain), 13},
		"AMissingObject":    {of(fault.Corrupt, archive.ErrNotFound), 13},
		"OlderThanSeen":     {of(fault.Corrupt, history.ErrOlderThanSeen), 13},
		"Gap":               {of(fault.Gap, plain), 14},
		"Foreign":           {of(fault.Misconfigured, archive.ErrForeign), 15},
		"AForeignManifest":  {of(fault.Corrupt, errors.Join(archive.ErrForeign, signing.ErrUntrusted)), 15},
		"OtherTarget":       {databaseError{apply.ErrOtherTarget}, 15},
		"Denied":            {of(fault.Misconfigured, archive.ErrDenied), 20},
		"NoBucket":          {of(fault.Misconfigured, answer), 20},
		"NoFolder":          {fault.New(fault.Misconfigured, "x: %w", wiring.ErrNoFolder), 20},
		"NoCredentials":     {of(fault.Retryable, s3api.ErrNoCredentials), 20},
		"Away":              {of(fault.Retryable, plain), 21},
		"Unknown":           {of(fault.UnknownOutcome, plain), 21},
		"ArchiveMisuse":     {of(fault.Misconfigured, plain), 2},
		"ArchiveBug":        {of(fault.Bug, plain), 1},
		"ArchiveNobodyKnew": {archiveError{plain}, 1},
		"Database":          {databaseError{fault.New(fault.Retryable, "x")}, 30},
		"Swept":             {of(fault.Retryable, mirror.ErrSwept), 75},
		"TooOld":            {of(fault.Retryable, writer.ErrTooOld), 75},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := exitCode(c.err, false); got != c.code {
				t.Errorf("got %d, want %d for %v", got, c.code, c.err)
			}
			if got := exitCode(c.err, true); c.err != nil && got != 130 {
				t.Errorf("interrupted: got %d, want 130", got)
			}
		})
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"AWarningIsNoFailure":    {archiveError{warnedf("done, with warnings: 2")}, "done, with warnings: 2"},
		"TheParserHasMoreToSay":  {errors.New("unknown flag"), "unknown flag; see tidemark --help"},
		"AnArchiveIsNoUsage":     {archiveError{errors.New("x")}, "unclassified: x"},
		"AClassAndAHintAreShown": {fault.New(fault.Retryable, "x").WithHint("wait"), "retryable: x; wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := message(c.err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

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
		"Clean":        {expiry.Report{Confirmed: true}, nil, 0, ""},
		"Locked":       {expiry.Report{Confirmed: true, Sweeps: []expiry.SweepReport{locked}}, nil, 3, "a later run takes them: 1"},
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
					err = archiveError{err} // as onArchive does
				}
				if got := exitCode(err, false); got != c.code || c.says != "" && !strings.Contains(message(err), c.says) {
					t.Errorf("got %d and %v, want %d and %q", got, err, c.code, c.says)
				}
			})
		}
	}
}
