package recovery

import (
	"fmt"
	"strings"

	"tidemark/shared/fault"
)

// RefusalError is why a recovery does not go on, under the name by which operators and runbooks know it.
type RefusalError struct {
	Name     string
	What     string // what was found
	Override string // what would go on all the same; empty: nothing
	Loses    string // what that would lose
	Err      error  // what is behind it, if anything
}

// The names.
const (
	NoBackup               = "no_backup"
	Untrusted              = "untrusted"
	Corrupt                = "corrupt"
	OlderThanSeen          = "older_than_seen"
	LogTruncated           = "log_truncated"
	TopicRecreated         = "topic_recreated"
	LogShorterThanManifest = "log_shorter_than_manifest"
	PartitionVanished      = "partition_vanished"
	TombstonesExpired      = "tombstones_expired"
	TargetNotEmpty         = "target_not_empty"
	IdentityMismatch       = "identity_mismatch"
	HeldByAnother          = "held_by_another"
	LineageForked          = "lineage_forked"
	FreshnessUnproven      = "freshness_unproven"
)

// Error names the refusal and says what was found.
func (r *RefusalError) Error() string { return r.Name + ": " + r.What }

// Unwrap gives what is behind it.
func (r *RefusalError) Unwrap() error { return r.Err }

// refuse makes an error of refusals of one kind: the class says what a caller does, the hint what an operator can.
func refuse(class fault.Class, refusals ...*RefusalError) error {
	texts := make([]string, len(refusals))
	for i, r := range refusals {
		texts[i] = r.What
	}
	first := *refusals[0]
	first.What = strings.Join(texts, "; ")
	hint := "nothing overrides this"
	if first.Override != "" {
		hint = fmt.Sprintf("%s goes on; lost is %s", first.Override, first.Loses)
	}
	return fault.New(class, "%w", &first).WithHint("%s", hint)
}
