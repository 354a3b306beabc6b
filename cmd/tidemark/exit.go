package main

import (
	"errors"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
)

// The exit codes, one table for every verb.
const (
	exitDone        = 0
	exitInternal    = 1
	exitUsage       = 2
	exitOtherTarget = 15
	exitDatabase    = 30
	exitInterrupted = 130
)

// usageError is a command line that does not parse.
type usageError struct{ error }

// Unwrap gives the parser's error.
func (e usageError) Unwrap() error { return e.error }

// databaseError came from the database or from what is in it.
type databaseError struct{ error }

// Unwrap gives the error.
func (e databaseError) Unwrap() error { return e.error }

func exitCode(err error, interrupted bool) int {
	_, isUsage := errors.AsType[usageError](err)
	_, isDatabase := errors.AsType[databaseError](err)
	switch {
	case err == nil:
		return exitDone
	case interrupted:
		return exitInterrupted
	case isUsage:
		return exitUsage
	case errors.Is(err, apply.ErrOtherTarget):
		return exitOtherTarget
	case isDatabase:
		return exitDatabase
	case fault.Is(err, fault.Misconfigured), fault.ClassOf(err) == fault.Unclassified:
		return exitUsage // what no verb classified comes from the parser of the command line
	}
	return exitInternal
}

// message is err for a person: what happened and what to do.
func message(err error) string {
	if fault.ClassOf(err) == fault.Unclassified {
		return err.Error() + "; see tidemark --help"
	}
	return fault.Line(err)
}
