package exit

import (
	"errors"

	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/writer"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/signing"
	"tidemark/shared/wiring"
)

// namedCode is the table of errors that have a code of their own, whoever returns them. The first that fits counts.
func namedCode(err error) (int, bool) {
	if refused, ok := errors.AsType[*refusal.Error](err); ok {
		return refusalCode(refused.Name)
	}
	for _, named := range []struct {
		err  error
		code int
	}{
		{mirror.ErrUnlocked, warnings}, // whatever the store refused: the copy is whole
		{history.ErrNoBackup, noBackup},
		{backup.ErrOutOfTime, later},
		{backup.ErrRunning, held},
		{backup.ErrPrefixShared, held},
		{backup.ErrUncaptured, database},
		{packing.ErrTooLarge, database},
		{writer.ErrSuperseded, held},
		{writer.ErrLineageTaken, held},
		{history.ErrForked, held},
		{history.ErrLineageForked, held},
		{apply.ErrOtherTarget, otherTarget},
		{archive.ErrForeign, otherTarget},
		{signing.ErrUntrusted, trust},
		{archive.ErrDenied, storeAccess},
		{wiring.ErrNoFolder, storeAccess},
		{s3api.ErrNoCredentials, storeAccess},
		{mirror.ErrSwept, later},
		{writer.ErrTooOld, later},
	} {
		if errors.Is(err, named.err) {
			return named.code, true
		}
	}
	return 0, false
}

// archiveCode is the table of classes for what came from an archive.
func archiveCode(err error) int {
	_, isAnswer := errors.AsType[*s3api.AnswerError](err)
	switch fault.ClassOf(err) { //nolint:exhaustive // the others are nobody's to expect here
	case fault.Corrupt:
		return integrity
	case fault.Gap:
		return gap
	case fault.Fenced:
		return held
	case fault.Retryable, fault.UnknownOutcome:
		return storeAway
	case fault.Misconfigured:
		if isAnswer {
			return storeAccess // of the bucket, its region, its rules: only the store could tell
		}
		return usage
	}
	return internal
}
