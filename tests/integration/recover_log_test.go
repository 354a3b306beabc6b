//go:build integration

package integration_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/kafkalog"
	"tidemark/shared/postgres/postgrestest"
)

// backedUp is another loss whose backup has the entries from 0 to 9 of partition 0.
func (l *loss) backedUp(t *testing.T, partitions int32) *loss {
	t.Helper()
	l = l.entriesLoss(t, partitions)
	l.publish(t, 0, entries(0, 10)...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	return l
}

// backedUpUnasked is backedUp without brokers, as the function's environment has none: the manifest knows no topic's id.
func (l *loss) backedUpUnasked(t *testing.T) *loss {
	t.Helper()
	l = l.entriesLoss(t, 1)
	l.publish(t, 0, entries(0, 10)...)
	l.apply(t)
	brokers := l.env["TIDEMARK_KAFKA_BROKERS"]
	delete(l.env, "TIDEMARK_KAFKA_BROKERS")
	l.tidemark(t, l.db, 0, nil, "backup")
	l.env["TIDEMARK_KAFKA_BROKERS"] = brokers
	return l
}

func trimmed(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUp(t, 1)
	l.publish(t, 0, entries(10, 30)...)
	l.truncate(t, 15)
	l.refuses(t, 14, []string{"log_truncated", "begins at 15", "--allow-gap REASON"})
	l.refuses(t, 14, []string{"log_truncated", "begins at 15"}, "--from", "earliest") // no way around it
	db := l.recovers(t, 3, []string{"retention was too short", "is live in life 2"}, "--allow-gap", "retention was too short")
	shows(t, db, [2]int{0, 10}, [2]int{15, 30})
	const gaps = "SELECT partition, from_offset, until_offset, how, why FROM tidemark.gap"
	if got, want := db.Copy(t, gaps), "0\t10\t15\taccepted\tretention was too short\n"; got != want {
		t.Errorf("the gaps are %q, want %q", got, want)
	}
	l.tidemark(t, db, 0, nil, "backup")
	l.tidemark(t, db, 0, []string{"[10,15)", "retention was too short"}, "manifests", "show", lastRun(t, db))
	again := l.recovers(t, 0, []string{"replay about 0 records"})
	if got := again.Copy(t, gaps); got != db.Copy(t, gaps) {
		t.Errorf("a recovery of the new life has the gaps %q", got)
	}
}

// lastRun is the run of the database's last backup.
func lastRun(t *testing.T, db *postgrestest.Database) (run string) {
	t.Helper()
	err := db.Conn.QueryRow(t.Context(), "SELECT b.run_id::text FROM tidemark.backup_run AS b JOIN tidemark.target USING (incarnation)"+
		" ORDER BY seq DESC LIMIT 1").Scan(&run)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// topicOfAnotherID knows the topic's id: the backup asked the brokers.
func topicOfAnotherID(t *testing.T, l *loss) {
	t.Helper()
	l = l.entriesLoss(t, 1)
	l.publish(t, 0, entries(0, 10)...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.tidemark(t, l.db, 0, []string{l.topicID(t)}, "manifests", "show", "1/1", "--json")
	l.recovers(t, 0, []string{"is live in life 2"}) // the same topic is the same topic
	l.makeAnew(t)
	l.publish(t, 0, entries(100, 125)...)
	l.refuses(t, 14, []string{"topic_recreated"})
}

// topicLonger knows no id of the topic, as a target that a function alone has written.
func topicLonger(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUpUnasked(t)
	l.makeAnew(t)
	l.publish(t, 0, entries(100, 125)...)
	l.refuses(t, 14, []string{"topic_recreated"})
}

func topicShorter(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUpUnasked(t)
	l.makeAnew(t)
	l.publish(t, 0, entries(100, 105)...)
	l.refuses(t, 14, []string{"log_shorter_than_manifest", "ends at 5"})
	l.refuses(t, 14, []string{"log_shorter_than_manifest"}, "--allow-gap", "it is gone")
}

func topicGone(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUp(t, 1)
	if err := log.DeleteTopic(t.Context(), l.topics[0]); err != nil {
		t.Fatal(err)
	}
	l.refuses(t, 14, []string{"partition_vanished"})
}

func partitionsAdded(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUp(t, 1)
	client, err := kgo.NewClient(cluster.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.UpdatePartitions(t.Context(), 3, l.topics[0]); err != nil {
		t.Fatal(err)
	}
	await(t, "the partitions have leaders", func(ctx context.Context) (bool, error) {
		ends, err := admin.ListEndOffsets(ctx, l.topics[0])
		return err == nil && ends.Error() == nil && len(ends[l.topics[0]]) == 3, err
	})
	l.publishAnew(t, 2, entries(10, 20)...)
	db := l.recovers(t, 0, []string{"10 records applied"})
	shows(t, db, [2]int{0, 20})
	l.on(db).stands(t, 2, 10)
}

func tombstonesExpired(t *testing.T, l *loss) {
	t.Helper()
	l = l.another(t, kafkalog.Topic{Name: "kept", Partitions: 1, Config: map[string]string{
		"cleanup.policy": "compact", "delete.retention.ms": "1", "min.compaction.lag.ms": "86400000",
	}})
	l.publish(t, 0, kept(0), kept(1))
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.refuses(t, 14, []string{"tombstones_expired", "--allow-gap REASON"})
	db := l.recovers(t, 3, []string{"nothing was deleted"}, "--allow-gap", "nothing was deleted")
	if got := db.Copy(t, "SELECT id FROM shop.kept ORDER BY id"); got != "0\n1\n" {
		t.Errorf("the rows are %q", got)
	}
}

// transactionsAtTheEnd has a log that ends in marks of transactions and in records that nobody may see, beside partitions that
// are empty or hold nothing else.
func transactionsAtTheEnd(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUp(t, 4)
	l.publish(t, 0, entries(10, 12)...)
	l.transacts(t, 0, kgo.TryCommit, entries(12, 15)...)
	l.transacts(t, 0, kgo.TryAbort, entries(93, 95)...)
	l.transacts(t, 1, kgo.TryAbort, entries(90, 93)...)
	l.transacts(t, 2, kgo.TryCommit, entries(15, 20)...)
	db := l.recovers(t, 0, []string{"10 records applied", "is live in life 2"})
	shows(t, db, [2]int{0, 20})
	l.stands(t, 0, 10) // of what was lost, which knew nothing of all that

	l.publish(t, 0, entries(20, 21)...) // behind a mark: the flow says that its log has none
	again := l.recovers(t, 14, []string{"gap", "jumps over", "log: dense"})
	if got := again.Copy(t, "SELECT state FROM tidemark.target"); got != "restoring\n" {
		t.Errorf("the target is %q, want it restoring", got)
	}
}

// fromAnywhere replays from the log's beginning, and from an offset below the cut, and has the same rows.
func fromAnywhere(t *testing.T, l *loss) {
	t.Helper()
	l = l.another(t, kafkalog.Topic{Name: "kept", Partitions: 1})
	l.publish(t, 0, kept(0), kept(1), kept(2), kept(3))
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.publish(t, 0, kept(4), kept(5))
	const rows = "SELECT id, note FROM shop.kept ORDER BY id"
	want := l.recovers(t, 0, []string{"replay about 2 records"}).Copy(t, rows)
	for _, from := range []string{"earliest", fmt.Sprintf("%s/0=2", l.topics[0])} {
		db := l.recovers(t, 0, nil, "--from", from)
		if got := db.Copy(t, rows); got != want {
			t.Errorf("from %s: got %q, want %q", from, got, want)
		}
		l.on(db).stands(t, 0, 6)
	}
}
