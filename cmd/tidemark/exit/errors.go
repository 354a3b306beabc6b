// Package exit owns with which code the command ends, and what it says of an error.
//
// A verb marks where an error came from; the codes then follow from one table for every verb. Who marked it last is not what
// counts: a warning is one whatever it is wrapped in. It refuses to match on text. No state.
package exit

import (
	"errors"
	"fmt"

	"tidemark/shared/fault"
)

// usageError is a command line that does not parse.
type usageError struct{ error }

// Unwrap gives the parser's error.
func (e usageError) Unwrap() error { return e.error }

// Usage marks the error of a command line.
func Usage(err error) error { return usageError{err} }

// databaseError came from the database or from what is in it.
type databaseError struct{ error }

// Unwrap gives the error.
func (e databaseError) Unwrap() error { return e.error }

// Database marks an error of the database or of what is in it.
func Database(err error) error { return databaseError{err} }

// FromDatabase marks what a part that reads the database said. What an archive said while the database was asked stays the
// archive's, and a target that another life owns has a code of its own. Nil stays nil.
func FromDatabase(err error) error {
	if _, isArchive := errors.AsType[archiveError](err); err == nil || isArchive || fault.Is(err, fault.Fenced) {
		return err
	}
	return databaseError{err}
}

// kafkaError came from the brokers, or from what stands between them and this process.
type kafkaError struct{ error }

// Unwrap gives the error.
func (e kafkaError) Unwrap() error { return e.error }

// Kafka marks an error of the brokers. A gap in the log is no word of theirs and has a code of its own. Nil stays nil.
func Kafka(err error) error {
	if err == nil || fault.Is(err, fault.Gap) {
		return err
	}
	return kafkaError{err}
}

// archiveError came from an archive, from what is in it, or from a service that it needs.
type archiveError struct{ error }

// Unwrap gives the error.
func (e archiveError) Unwrap() error { return e.error }

// Archive marks an error of an archive, of what is in it, or of a service that it needs.
func Archive(err error) error { return archiveError{err} }

// warned is the end of a verb that did what it could, and not all.
type warned struct{ error }

// Warnedf is how a verb ends that did what it could, and not all.
func Warnedf(form string, args ...any) error { return warned{fmt.Errorf(form, args...)} }
