package exit

import (
	"errors"

	"tidemark/shared/fault"
)

// The exit codes, one table for every verb.
const (
	done         = 0
	internal     = 1
	usage        = 2
	warnings     = 3
	noBackup     = 10
	held         = 11
	trust        = 12
	integrity    = 13
	gap          = 14
	otherTarget  = 15
	storeAccess  = 20
	storeAway    = 21
	database     = 30
	kafka        = 31
	later        = 75
	interruption = 130
)

// Code is the code for an error. interrupted: a signal asked the command to end.
func Code(err error, interrupted bool) int {
	_, isUsage := errors.AsType[usageError](err)
	_, isWarning := errors.AsType[warned](err)
	asked, isDatabase := errors.AsType[databaseError](err)
	_, isKafka := errors.AsType[kafkaError](err)
	_, isArchive := errors.AsType[archiveError](err)
	_, within := errors.AsType[archiveError](asked.error)
	switch code, named := namedCode(err); {
	case err == nil:
		return done
	case interrupted:
		return interruption
	case isUsage:
		return usage
	case isWarning:
		return warnings
	case named:
		return code
	case within: // an archive was asked while the database was at hand
		return archiveCode(err)
	case isKafka:
		return kafka
	case isDatabase:
		return database
	case isArchive:
		return archiveCode(err)
	case fault.Is(err, fault.Misconfigured), fault.ClassOf(err) == fault.Unclassified:
		return usage // what no verb classified comes from the parser of the command line
	}
	return internal
}

// Message is err for a person: what happened and what to do.
func Message(err error) string {
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
