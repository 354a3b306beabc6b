package main

import (
	"errors"

	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/writer"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
	"tidemark/shared/wiring"
)

// namedCode is the table of errors that have a code of their own, whoever returns them. The first that fits counts.
func namedCode(err error) (int, bool) {
	for _, named := range []struct {
		err  error
		code int
	}{
		{history.ErrNoBackup, exitNoBackup},
		{writer.ErrSuperseded, exitHeld},
		{writer.ErrLineageTaken, exitHeld},
		{history.ErrForked, exitHeld},
		{history.ErrLineageForked, exitHeld},
		{apply.ErrOtherTarget, exitOtherTarget},
		{archive.ErrForeign, exitOtherTarget},
		{signing.ErrUntrusted, exitTrust},
		{archive.ErrDenied, exitStoreAccess},
		{wiring.ErrNoFolder, exitStoreAccess},
		{s3api.ErrNoCredentials, exitStoreAccess},
		{mirror.ErrSwept, exitContinue},
		{writer.ErrTooOld, exitContinue},
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
		return exitIntegrity
	case fault.Gap:
		return exitGap
	case fault.Fenced:
		return exitHeld
	case fault.Retryable, fault.UnknownOutcome:
		return exitStoreAway
	case fault.Misconfigured:
		if isAnswer {
			return exitStoreAccess // of the bucket, its region, its rules: only the store could tell
		}
		return exitUsage
	}
	return exitInternal
}
