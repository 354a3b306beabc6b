package main

import "fmt"

// usageError is a command line that does not parse.
type usageError struct{ error }

// Unwrap gives the parser's error.
func (e usageError) Unwrap() error { return e.error }

// databaseError came from the database or from what is in it.
type databaseError struct{ error }

// Unwrap gives the error.
func (e databaseError) Unwrap() error { return e.error }

// archiveError came from an archive, from what is in it, or from a service that it needs.
type archiveError struct{ error }

// Unwrap gives the error.
func (e archiveError) Unwrap() error { return e.error }

// warned is the end of a verb that did what it could, and not all.
type warned struct{ error }

func warnedf(form string, args ...any) error { return warned{fmt.Errorf(form, args...)} }
