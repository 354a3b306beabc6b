// Package refusal owns why a recovery does not go on: a name that operators and runbooks know, what was found, what would go on
// all the same and what that would lose.
//
// It refuses to be vague: every name has a meaning. No I/O, no state.
package refusal

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/shared/fault"
)

// Name is what operators and runbooks call a refusal.
type Name string

// The names.
const (
	NoBackup               Name = "no_backup"
	Untrusted              Name = "untrusted"
	Corrupt                Name = "corrupt"
	OlderThanSeen          Name = "older_than_seen"
	LogTruncated           Name = "log_truncated"
	TopicRecreated         Name = "topic_recreated"
	LogShorterThanManifest Name = "log_shorter_than_manifest"
	PartitionVanished      Name = "partition_vanished"
	TombstonesExpired      Name = "tombstones_expired"
	TargetNotEmpty         Name = "target_not_empty"
	IdentityMismatch       Name = "identity_mismatch"
	HeldByAnother          Name = "held_by_another"
	LineageForked          Name = "lineage_forked"
	FreshnessUnproven      Name = "freshness_unproven"
	SchemaMismatch         Name = "schema_mismatch"
)

// Meaning says to an operator what has happened when a recovery refuses by this name.
func (n Name) Meaning() string {
	switch n {
	case NoBackup:
		return "there is nothing to recover from"
	case Untrusted:
		return "nobody whom this configuration trusts vouches for the backup"
	case Corrupt:
		return "what the buckets hold is not what was backed up"
	case OlderThanSeen:
		return "a newer backup was committed, and it is gone or cannot be used"
	case LogTruncated:
		return "the log let go of records that the backup does not have"
	case TopicRecreated:
		return "another topic has the old one's name: the backup's offsets mean nothing in it"
	case LogShorterThanManifest:
		return "the log lost records that were in it, or it is another log"
	case PartitionVanished:
		return "the log lacks a partition that the backup stands in"
	case TombstonesExpired:
		return "the compacted log may have let go of deletes: rows that were deleted would come back"
	case TargetNotEmpty:
		return "a recovery writes over nothing that it did not make"
	case IdentityMismatch:
		return "archive, log and database do not belong to one target"
	case HeldByAnother:
		return "another recovery took the target's next life, and one alone goes live"
	case LineageForked:
		return "two databases hold themselves for one life of the target"
	case SchemaMismatch:
		return "the tables that are there are not those of the backup"
	case FreshnessUnproven:
		return "a newer backup may have been there and gone"
	}
	return ""
}

// Error is why a recovery does not go on.
type Error struct {
	Name     Name
	What     string // what was found
	Override string // what would go on all the same; empty: what is behind it says so, or nothing would
	Loses    string // what that would lose
	Err      error  // what is behind it, if anything
}

// Error names the refusal and says what was found.
func (r *Error) Error() string { return string(r.Name) + ": " + r.What }

// Unwrap gives what is behind it.
func (r *Error) Unwrap() error { return r.Err }

// hint says what it means, what would go on all the same and what that would lose.
func (r *Error) hint() string {
	hint, behind := r.Name.Meaning(), fault.HintOf(r.Err)
	switch {
	case r.Override != "":
		return hint + "; to go on: " + r.Override + "; that loses " + r.Loses
	case behind != "":
		return hint + "; " + behind
	}
	return hint + "; nothing overrides this"
}

// mostNamed is how many findings of one kind are told one by one.
const mostNamed = 5

// Of makes an error of refusals of one kind: the class says what a caller does, the hint what an operator can.
func Of(class fault.Class, refusals ...*Error) error {
	var texts []string
	for _, r := range refusals {
		if !slices.Contains(texts, r.What) { // partitions of one topic have one topic
			texts = append(texts, r.What)
		}
	}
	first := *refusals[0]
	first.What = strings.Join(texts[:min(len(texts), mostNamed)], "; ")
	if more := len(texts) - mostNamed; more > 0 {
		first.What += fmt.Sprintf("; and %d more", more)
	}
	return fault.New(class, "%w", &first).WithHint("%s", first.hint())
}
