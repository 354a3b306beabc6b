package exit

import "tidemark/shared/recovery"

// refusalCode is the table of the names by which a recovery refuses.
func refusalCode(name recovery.Name) (int, bool) {
	switch name {
	case recovery.NoBackup:
		return noBackup, true
	case recovery.HeldByAnother, recovery.LineageForked:
		return held, true
	case recovery.Untrusted:
		return trust, true
	case recovery.Corrupt, recovery.OlderThanSeen, recovery.FreshnessUnproven:
		return integrity, true
	case recovery.LogTruncated, recovery.LogShorterThanManifest, recovery.TopicRecreated, recovery.PartitionVanished,
		recovery.TombstonesExpired:
		return gap, true
	case recovery.TargetNotEmpty, recovery.IdentityMismatch, recovery.SchemaMismatch:
		return otherTarget, true
	}
	return 0, false
}
