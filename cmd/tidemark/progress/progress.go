// Package progress owns how a backup that goes on is watched: as a bar on a terminal, as one JSON object a line elsewhere.
//
// It is told by the backup, on its goroutines, one call at a time, and never holds it up for longer than a line takes. What
// cannot be written is left out: nobody's backup fails because nobody reads. A Watch belongs to one backup.
package progress

import "tidemark/shared/backup"

// Watch shows how far a backup is.
type Watch interface {
	// Note tells it.
	Note(reached backup.Progress)
	// End tells it for the last time, of a backup that is whole or of one that failed.
	End(reached backup.Progress, whole bool)
}
