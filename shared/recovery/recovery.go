// Package recovery owns how a lost target comes back: from the newest manifest that verifies plus the rest of the log.
//
// It declares what it needs of the log (Log, Tail).
package recovery
