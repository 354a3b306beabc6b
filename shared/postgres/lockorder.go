package postgres

// LockCheckpoints is the statement that locks all checkpoints of a ledger in order, whose schema is quoted. Whoever changes the
// target's state says it first: appliers lock checkpoints, in this order, before anything.
func LockCheckpoints(schema string) string {
	return "SELECT FROM " + schema + ".checkpoint ORDER BY flow, topic, partition FOR UPDATE"
}
