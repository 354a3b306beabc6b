// Package fault owns the one question that an error must answer: what must the caller do?
//
// Adapters assign a Class where an error enters the program, from tables that are tested row by row; the core only asks
// ClassOf. An error that nobody classified is Unclassified, and whoever meets it stops: it is never parked and never taken
// for success. Nothing here matches on text.
package fault

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Class says what the caller of a failed call must do.
type Class uint8

// The classes. Order has no meaning.
const (
	Unclassified   Class = iota // nobody decided: stop, report unapplied, never park
	Retryable                   // report unapplied; the event source delivers again
	UnknownOutcome              // read the ledger, then decide
	Fenced                      // another life owns the target: report everything unapplied, never success
	Poison                      // can never apply: park with evidence or halt, by policy
	Gap                         // the log no longer holds it: stop, an operator decides
	Corrupt                     // digest, signature or checksum: alarm, never fall back in silence
	Misconfigured               // die at cold start or halt the flow with the fix in the message
	Bug                         // a broken invariant: fail loudly
)

// String is the class's name as it stands in logs, metrics and the quarantine table.
func (c Class) String() string {
	switch c {
	case Unclassified:
		return "unclassified"
	case Retryable:
		return "retryable"
	case UnknownOutcome:
		return "unknown_outcome"
	case Fenced:
		return "fenced"
	case Poison:
		return "poison"
	case Gap:
		return "gap"
	case Corrupt:
		return "corrupt"
	case Misconfigured:
		return "misconfigured"
	case Bug:
		return "bug"
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Error is an error with a class and, where an operator can do something, a hint: what it means, what to run, what that
// would lose.
type Error struct {
	Class Class
	Hint  string
	Err   error
}

// New makes an error of a class from a message in fmt.Errorf's form; %w wraps.
func New(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Err: fmt.Errorf(format, args...)}
}

// Wrap gives err a class. A nil err stays nil.
func Wrap(class Class, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Class: class, Err: err}
}

// WithHint returns a copy of e that tells the operator what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	return &Error{Class: e.Class, Hint: fmt.Sprintf(format, args...), Err: e.Err}
}

// Error is the message of the wrapped error. Class and hint are asked for, not parsed.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class that was assigned nearest to the caller, Unclassified when nobody assigned one.
func ClassOf(err error) Class {
	if found, ok := errors.AsType[*Error](err); ok {
		return found.Class
	}
	return Unclassified
}

// Is says whether err was given that class.
func Is(err error, class Class) bool { return err != nil && ClassOf(err) == class }

// HintOf is the hint nearest to the caller, empty when there is none.
func HintOf(err error) string {
	for err != nil {
		found, ok := errors.AsType[*Error](err)
		if !ok {
			return ""
		}
		if found.Hint != "" {
			return found.Hint
		}
		err = found.Err
	}
	return ""
}

// Attributes are what a line of a log says of an error.
func Attributes(err error) []slog.Attr {
	return []slog.Attr{slog.String("class", ClassOf(err).String()), slog.String("error", err.Error()), slog.String("hint", HintOf(err))}
}

// Line is err in one line for an operator: class, message and, if there is one, the hint.
func Line(err error) string {
	line := ClassOf(err).String() + ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	if hint := HintOf(err); hint != "" {
		line += "; " + hint
	}
	return line
}
