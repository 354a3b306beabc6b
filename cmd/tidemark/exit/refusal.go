package exit

import (
	"tidemark/shared/recovery/refusal"
)

// refusalCode is the table of the names by which a recovery refuses.
func refusalCode(name refusal.Name) (int, bool) {
	switch name {
	case refusal.NoBackup:
		return noBackup, true
	case refusal.HeldByAnother, refusal.LineageForked:
		return held, true
	case refusal.Untrusted:
		return trust, true
	case refusal.Corrupt, refusal.OlderThanSeen, refusal.FreshnessUnproven:
		return integrity, true
	case refusal.LogTruncated, refusal.LogShorterThanManifest, refusal.TopicRecreated, refusal.PartitionVanished,
		refusal.TombstonesExpired:
		return gap, true
	case refusal.TargetNotEmpty, refusal.IdentityMismatch, refusal.SchemaMismatch:
		return otherTarget, true
	}
	return 0, false
}
