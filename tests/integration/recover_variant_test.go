//go:build integration

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/brokers"
	"tidemark/localstack/kafkalog"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/record"
	"tidemark/shared/signing/localkey/localkeytest"
)

// another is a loss of its own, with topics, an archive and keys of its own. The binary is the same.
func (l *loss) another(t *testing.T, topics ...kafkalog.Topic) *loss {
	t.Helper()
	other := &loss{stage: newStage(t, tables, "", topics...), archive: t.TempDir(), env: maps.Clone(l.env)}
	private, trusted := localkeytest.Files(t)
	maps.Copy(other.env, map[string]string{
		"TIDEMARK_FLOW_FILE": other.flowFile, "TIDEMARK_ARCHIVE": "file://" + other.archive, "TIDEMARK_TRUSTED_KEYS": trusted,
		"TIDEMARK_SIGNING_KEYS": private, "TIDEMARK_HIGH_WATER": "file://" + filepath.Join(filepath.Dir(private), "newest"),
	})
	return other
}

// entriesLoss is another loss with the one topic of entries.
func (l *loss) entriesLoss(t *testing.T, partitions int32) *loss {
	t.Helper()
	return l.another(t, kafkalog.Topic{Name: "entries", Partitions: partitions})
}

// variant is the same loss with variables of its own. A value that is empty takes a variable away.
func (l *loss) variant(variables map[string]string) *loss {
	other := *l
	other.env = maps.Clone(l.env)
	maps.Copy(other.env, variables)
	maps.DeleteFunc(other.env, func(_, value string) bool { return value == "" })
	return &other
}

// copied is the same loss with a copy of its archive, in which a test may do as it likes.
func (l *loss) copied(t *testing.T, variables map[string]string) *loss {
	t.Helper()
	other := l.variant(variables)
	other.archive = copyTree(t, l.archive)
	other.env["TIDEMARK_ARCHIVE"] = "file://" + other.archive
	return other
}

func copyTree(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// manifests are the manifests of an archive's folder, the oldest first.
func manifests(t *testing.T, folder string) []string {
	t.Helper()
	found, err := fs.Glob(os.DirFS(folder), "manifests/*/*.json")
	if err != nil || len(found) == 0 {
		t.Fatalf("got the manifests %v, %v", found, err)
	}
	return found
}

// flip changes one byte in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path) //nolint:gosec // a path of this test's own
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	//nolint:gosec // as above
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// on is the same loss with another database: its flow goes on there.
func (l *loss) on(db *postgrestest.Database) *loss {
	other, moved := *l, *l.stage
	moved.db = db
	other.stage = &moved
	return &other
}

// recovers recovers into an empty database, verifies the exit code and what is said, and gives the database.
func (l *loss) recovers(t *testing.T, code int, says []string, arguments ...string) *postgrestest.Database {
	t.Helper()
	db := postgrestest.Empty(t)
	l.tidemark(t, db, code, says, append([]string{"recover"}, arguments...)...)
	return db
}

// refuses is recovers for what must leave no trace in the database.
func (l *loss) refuses(t *testing.T, code int, says []string, arguments ...string) {
	t.Helper()
	untouched(t, l.recovers(t, code, says, arguments...))
}

// shows verifies the entries of a database, as ranges of ids.
func shows(t *testing.T, db *postgrestest.Database, ranges ...[2]int) {
	t.Helper()
	var want []int
	for _, r := range ranges {
		for id := r[0]; id < r[1]; id++ {
			want = append(want, id)
		}
	}
	s := stage{db: db}
	s.has(t, "SELECT id FROM shop.entries ORDER BY id", want)
}

// transacts appends records to a partition of the first topic in a transaction that ends so, and waits until its mark is there.
func (s *stage) transacts(t *testing.T, number int32, end kgo.TransactionEndTry, records ...record.Record) {
	t.Helper()
	client, err := kgo.NewClient(append(cluster.Secure().Client(brokers.SHA256),
		kgo.TransactionalID(s.prefix), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		produced := &kgo.Record{Topic: s.topics[0], Partition: number, Value: r.Value.Bytes()}
		if err := client.ProduceSync(t.Context(), produced).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	await(t, "the transaction's mark is in the log", func(ctx context.Context) (bool, error) {
		admin := kadm.NewClient(client)
		stable, err := admin.ListCommittedOffsets(ctx, s.topics[0])
		if err != nil {
			return false, err
		}
		ends, err := admin.ListEndOffsets(ctx, s.topics[0])
		at, _ := stable.Lookup(s.topics[0], number)
		last, _ := ends.Lookup(s.topics[0], number)
		return at.Offset > int64(len(records)) && at.Offset == last.Offset, err
	})
}

// topicID is the id of the first topic, as the ledger has such ids.
func (s *stage) topicID(t *testing.T) string {
	t.Helper()
	client, err := kgo.NewClient(cluster.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(t.Context(), s.topics[0])
	if err != nil {
		t.Fatal(err)
	}
	id := topics[s.topics[0]].ID
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// publishAnew is publish by a client that knows nothing of the topic yet.
func (s *stage) publishAnew(t *testing.T, number int32, records ...record.Record) {
	t.Helper()
	fresh, err := kafkalog.Open(cluster.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if _, err := fresh.Publish(t.Context(), record.Batch{{Partition: s.partition(number), Records: records}}); err != nil {
		t.Fatal(err)
	}
}
