package main

import (
	"tidemark/shared/fault"
)

// FailedError is what the function fails with when a person must look: the runtime reports the type's name.
type FailedError struct{ err error }

// Error is class, message and hint in one line.
func (f *FailedError) Error() string { return fault.Line(f.err) }

// Unwrap gives the error.
func (f *FailedError) Unwrap() error { return f.err }

// RetryableError is what the function fails with when the same event may go on: the runtime reports the type's name.
type RetryableError struct{ err error }

// Error is class, message and hint in one line.
func (r *RetryableError) Error() string { return fault.Line(r.err) }

// Unwrap gives the error.
func (r *RetryableError) Unwrap() error { return r.err }
