package runtimeapi

import "errors"

// The ends of an invocation that are not a reply.
var (
	ErrDied         = errors.New("the function's process died")
	ErrTimedOut     = errors.New("the function timed out")
	ErrReplyDropped = errors.New("the function's reply was dropped")
	ErrStopped      = errors.New("the function is stopped")

	// errNotTaken: the process ended before it took the invocation, so it may be given to another.
	errNotTaken = errors.New("the function's process ended before it took the invocation")
)

// FunctionError is an error that the function itself reported, for an invocation or for its start.
type FunctionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error is type and message.
func (e *FunctionError) Error() string { return "the function reported " + e.Type + ": " + e.Message }
