package exit_test

import (
	"errors"
	"fmt"
	"testing"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/writer"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
	"tidemark/shared/wiring"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	of := func(class fault.Class, err error) error {
		return exit.Archive(fault.New(class, "step: %w", fmt.Errorf("inner: %w", err)))
	}
	plain, answer := errors.New("x"), error(&s3api.AnswerError{Status: 404, Code: "NoSuchBucket"})
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"Done":              {nil, 0},
		"Unclassified":      {plain, 2}, // from the parser
		"Usage":             {exit.Usage(plain), 2},
		"Misconfigured":     {fault.New(fault.Misconfigured, "x"), 2},
		"Bug":               {fault.New(fault.Bug, "x"), 1},
		"Warnings":          {exit.Archive(exit.Warnedf("done, with warnings")), 3},
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
		"OtherTarget":       {exit.Database(apply.ErrOtherTarget), 15},
		"Denied":            {of(fault.Misconfigured, archive.ErrDenied), 20},
		"NoBucket":          {of(fault.Misconfigured, answer), 20},
		"NoFolder":          {fault.New(fault.Misconfigured, "x: %w", wiring.ErrNoFolder), 20},
		"NoCredentials":     {of(fault.Retryable, s3api.ErrNoCredentials), 20},
		"Away":              {of(fault.Retryable, plain), 21},
		"Unknown":           {of(fault.UnknownOutcome, plain), 21},
		"ArchiveMisuse":     {of(fault.Misconfigured, plain), 2},
		"ArchiveBug":        {of(fault.Bug, plain), 1},
		"ArchiveNobodyKnew": {exit.Archive(plain), 1},
		"Database":          {exit.Database(fault.New(fault.Retryable, "x")), 30},
		"Running":           {exit.Database(of(fault.Retryable, backup.ErrRunning)), 11},
		"PrefixShared":      {exit.Database(of(fault.Fenced, backup.ErrPrefixShared)), 11},
		"Uncaptured":        {of(fault.Misconfigured, backup.ErrUncaptured), 30},
		"ValueTooLarge":     {of(fault.Misconfigured, packing.ErrTooLarge), 30},
		"OutOfTime":         {exit.Database(of(fault.Retryable, backup.ErrOutOfTime)), 75},
		"Swept":             {of(fault.Retryable, mirror.ErrSwept), 75},
		"Unlocked":          {of(fault.Misconfigured, errors.Join(mirror.ErrUnlocked, archive.ErrDenied)), 3},
		"TooOld":            {of(fault.Retryable, writer.ErrTooOld), 75},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := exit.Code(c.err, false); got != c.code {
				t.Errorf("got %d, want %d for %v", got, c.code, c.err)
			}
			if got := exit.Code(c.err, true); c.err != nil && got != 130 {
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
		"AWarningIsNoFailure":    {exit.Archive(exit.Warnedf("done, with warnings: 2")), "done, with warnings: 2"},
		"TheParserHasMoreToSay":  {errors.New("unknown flag"), "unknown flag; see tidemark --help"},
		"AnArchiveIsNoUsage":     {exit.Archive(errors.New("x")), "unclassified: x"},
		"AClassAndAHintAreShown": {fault.New(fault.Retryable, "x").WithHint("wait"), "retryable: x; wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := exit.Message(c.err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
