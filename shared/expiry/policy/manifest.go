package policy

import (
	"cmp"
	"fmt"
	"time"

	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

// Manifest is what the caller found out about one manifest, over all buckets that hold it.
type Manifest struct {
	Lineage  position.Lineage
	Seq      int64
	RunID    manifest.RunID
	Created  time.Time
	Verified bool // signature, body and every object were found good
	Revoked  bool // withdrawn
	Kept     bool // an operator's mark: stays, whatever else is said
	Replay   ReplayState
}

// place is where a manifest stands among all.
type place struct {
	lineage position.Lineage
	seq     int64
}

func (m Manifest) place() place { return place{m.Lineage, m.Seq} }

// counts says whether a recovery could use m without asking anyone.
func (m Manifest) counts() bool { return m.Verified && !m.Revoked }

// newestFirst orders by lineage, then seq. The run id only makes the order of a fork certain.
func newestFirst(a, b Manifest) int {
	return cmp.Or(cmp.Compare(b.Lineage, a.Lineage), cmp.Compare(b.Seq, a.Seq), cmp.Compare(b.RunID, a.RunID))
}

// ReplayState says whether the log still holds what follows a manifest's cut.
type ReplayState uint8

// The states. Unknown is treated like Replayable: that the log could not be asked is no reason to give up a backup.
const (
	Unknown    ReplayState = iota // the log was not asked, or did not answer
	Replayable                    // all of it
	Gap                           // some of it is gone: recovery from here needs an accepted gap
)

// String is the state's name as it stands in plans and reports.
func (s ReplayState) String() string {
	switch s {
	case Unknown:
		return "unknown"
	case Replayable:
		return "replayable"
	case Gap:
		return "gap"
	}
	return fmt.Sprintf("replay_state(%d)", uint8(s))
}
