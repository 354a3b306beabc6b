package snapshot

import (
	"errors"
	"fmt"
	"strings"

	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// ErrGone says that the snapshot's own session ended: no more readers see its state.
var ErrGone = errors.New("the session that holds the snapshot is gone")

// errChanged says that tables are not what they were when the list was read.
var errChanged = errors.New("the tables changed")

// SQLSTATEs that are judged here.
const (
	undefinedTable    = "42P01"
	undefinedSchema   = "3F000"
	undefinedObject   = "42704"
	undefinedFunction = "42883"
	lockNotAvailable  = "55P03"
	deadlockDetected  = "40P01"
	internalError     = "XX000"
	noPrivilege       = "42501"
	outOfMemory       = "53200"
	conflict          = "40001"
	dataCorrupted     = "XX001"
	indexCorrupted    = "XX002"
	notInEncoding     = "22021"
	notInClients      = "22P05"
)

// isChange says whether beginning again may help: a table moved, somebody holds its lock, or something that only the
// catalog knows went away while it was asked about (the server then says that a lookup failed).
func isChange(err error) bool {
	if errors.Is(err, errChanged) {
		return true
	}
	switch postgres.StateOf(err) {
	case undefinedTable, undefinedSchema, undefinedObject, undefinedFunction, lockNotAvailable, deadlockDetected,
		internalError:
		return true
	}
	return false
}

// classify is postgres.Classify for one who only reads: nothing that a row holds is poison here.
func classify(err error) error {
	classified := postgres.Classify(err)
	state := postgres.StateOf(err)
	switch {
	case err == nil:
		return nil
	case state == noPrivilege:
		return fault.New(fault.Misconfigured, "%w", classified).WithHint("grant the role of the backup SELECT on every table " +
			"and sequence and USAGE on every schema, as pg_read_all_data has them; where row security applies, BYPASSRLS too")
	case state == outOfMemory:
		return fault.New(fault.Retryable, "%w", classified).WithHint("every table takes a lock in every session of a backup: " +
			"raise the server's max_locks_per_transaction, or back up with fewer readers")
	case state == conflict:
		return fault.New(fault.Retryable, "%w", classified).WithHint("a standby gave its own recovery the preference: " +
			"set hot_standby_feedback there, or back up from the primary")
	case state == dataCorrupted, state == indexCorrupted:
		return fault.New(fault.Corrupt, "%w", classified).WithHint("the target's files are damaged: check its disks, keep the " +
			"backups made so far")
	case state == notInEncoding, state == notInClients:
		return fault.New(fault.Misconfigured, "%w", classified).WithHint("the database holds text that is none in its encoding")
	case strings.HasPrefix(state, "22"):
		return fault.New(fault.Misconfigured, "%w", classified).WithHint("a bound is no value of the key's type, as where the " +
			"type was changed since the bounds were made: make them anew")
	}
	return classified
}

// gone tells why a reader cannot join the snapshot.
func gone(cause error) error {
	return fault.New(fault.Retryable, "%w: %w", ErrGone, postgres.Classify(cause)).WithHint("it was ended, or what lies between " +
		"forgot it while it was idle: back up over a direct connection to one server, not by a pooler or proxy, and lift " +
		"the idle timeouts on the way")
}

// barred tells why a reader has not got its locks, and who stands in the way as far as anybody can tell.
func barred(err error, who string) error {
	if postgres.StateOf(err) != lockNotAvailable {
		return err
	}
	if who == "" {
		who = "another session"
	}
	return fault.New(fault.Retryable, "%w", err).WithHint("%s has or awaits an exclusive lock, as ALTER TABLE and TRUNCATE take it, "+
		"and while this backup holds the tables a reader that comes later stands behind it: let it end, or end it by SELECT "+
		"pg_terminate_backend(pid), then back up again", who)
}

// about names the table that an error is about.
func about(name fmt.Stringer, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %s: %w", name, err)
}
