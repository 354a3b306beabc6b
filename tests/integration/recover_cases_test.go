//go:build integration

package integration_test

import "testing"

// TestRecoverCases holds the operator's command against all that may have become of log, archive and target meanwhile. What it
// cannot bring back it refuses by name, with the code of that name, and leaves the database as it was.
func TestRecoverCases(t *testing.T) {
	t.Parallel()
	l := newLoss(t) // for its binary
	for name, c := range map[string]func(t *testing.T, l *loss){
		"Log/TrimmedBelowTheCut":             trimmed,
		"Log/TopicMadeAnew":                  topicOfAnotherID,
		"Log/TopicMadeAnewAndShorter":        topicShorter,
		"Log/TopicMadeAnewAndLonger":         topicLonger,
		"Log/TopicGone":                      topicGone,
		"Log/PartitionsAdded":                partitionsAdded,
		"Log/TombstonesExpired":              tombstonesExpired,
		"Log/TransactionsAndEmptyPartitions": transactionsAtTheEnd,
		"Log/FromAnywhere":                   fromAnywhere,
		"Until/AnOffsetAndReplayed":          untilAndReplayed,
		"Until/AnOffsetAndSkipped":           untilAndSkipped,
		"Until/ATime":                        untilATime,
		"Until/BelowTheCut":                  untilBelowTheCut,
		"Lives/TheOldDatabaseComesBack":      oldComesBack,
		"Lives/TheOldTargetIsFenced":         oldIsFenced,
		"Lives/TheFunctionStaysWarm":         functionStaysWarm,
		"Archive":                            archives,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); c(t, l) })
	}
}
