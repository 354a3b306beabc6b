// Package recoveries owns what the verb that recovers shows and is told: its flags, its plan, its progress and its report, and
// whose word an error is.
//
// It decides nothing that a recovery function would decide another way. It refuses to let a name from a database or a log
// reach a terminal as it is. No state; what it returns belongs to one command.
package recoveries

import "errors"

// mostJobs is more than any server has a use for.
const mostJobs = 64

var errJobs = errors.New("--jobs: want 1 to 64")
