package main

import (
	"errors"

	"tidemark/shared/fault"
)

// The exit codes, one table for every verb.
const (
	exitDone        = 0
	exitInternal    = 1
	exitUsage       = 2
	exitWarnings    = 3
	exitNoBackup    = 10
	exitHeld        = 11
	exitTrust       = 12
	exitIntegrity   = 13
	exitGap         = 14
	exitOtherTarget = 15
	exitStoreAccess = 20
	exitStoreAway   = 21
	exitDatabase    = 30
	exitContinue    = 75
	exitInterrupted = 130
)

func exitCode(err error, interrupted bool) int {
	_, isUsage := errors.AsType[usageError](err)
	_, isWarning := errors.AsType[warned](err)
	_, isDatabase := errors.AsType[databaseError](err)
	_, isArchive := errors.AsType[archiveError](err)
	switch code, named := namedCode(err); {
	case err == nil:
		return exitDone
	case interrupted:
		return exitInterrupted
	case isUsage:
		return exitUsage
	case isWarning:
		return exitWarnings
	case named:
		return code
	case isDatabase:
		return exitDatabase
	case isArchive:
		return archiveCode(err)
	case fault.Is(err, fault.Misconfigured), fault.ClassOf(err) == fault.Unclassified:
		return exitUsage // what no verb classified comes from the parser of the command line
	}
	return exitInternal
}

// message is err for a person: what happened and what to do.
func message(err error) string {
	_, isWarning := errors.AsType[warned](err)
	_, isArchive := errors.AsType[archiveError](err)
	switch {
	case isWarning:
		return err.Error()
	case fault.ClassOf(err) == fault.Unclassified && !isArchive:
		return err.Error() + "; see tidemark --help"
	}
	return fault.Line(err)
}
