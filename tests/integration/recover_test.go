//go:build integration

package integration_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/localstack/brokers"
	"tidemark/localstack/kafkalog"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/signing/localkey/localkeytest"
)

// loss is a target that is lost after its backup, and an operator who has the archive, the brokers and the flow file.
type loss struct {
	*stage

	archive string
	env     map[string]string
}

func newLoss(t *testing.T) *loss {
	t.Helper()
	l := &loss{
		stage:   newStage(t, tables, "", kafkalog.Topic{Name: "entries", Partitions: 2}),
		archive: t.TempDir(),
	}
	private, trusted := localkeytest.Files(t)
	access := cluster.Secure()
	l.env = map[string]string{
		"TIDEMARK_TARGET_ID": postgrestest.TargetID.String(), "TIDEMARK_FLOW_FILE": l.flowFile,
		"TIDEMARK_ARCHIVE": "file://" + l.archive, "TIDEMARK_TRUSTED_KEYS": trusted, "TIDEMARK_SIGNING_KEYS": private,
		"TIDEMARK_HIGH_WATER":    "file://" + filepath.Join(t.TempDir(), "newest"),
		"TIDEMARK_KAFKA_BROKERS": strings.Join(access.Addresses, ","), "TIDEMARK_KAFKA_CA_FILE": access.CAFile,
		"TIDEMARK_KAFKA_SASL_MECHANISM": string(brokers.SHA512), "TIDEMARK_KAFKA_USER": access.User,
		"TIDEMARK_KAFKA_PASSWORD": access.Password,
	}
	return l
}

// tidemark runs a verb on a database and verifies its exit code and parts of what it says.
func (l *loss) tidemark(t *testing.T, db *postgrestest.Database, code int, says []string, arguments ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, arguments...) //nolint:gosec // the binary under test
	for name, value := range l.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, "TIDEMARK_DATABASE_URL="+db.URL)
	output, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("tidemark %s: exit code %d, want %d:\n%s", strings.Join(arguments, " "), got, code, output)
	}
	for _, part := range says {
		if !strings.Contains(string(output), part) {
			t.Errorf("tidemark %s: %q is not in:\n%s", strings.Join(arguments, " "), part, output)
		}
	}
}

// apply runs live apply to the log's end.
func (l *loss) apply(t *testing.T) {
	t.Helper()
	mustRun(t, l.source(t, l.topics[0], l.function(t, nil), nil))
}

// lives is how many lives the archive has the record of.
func (l *loss) lives(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.archive, "lineages", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// untouched verifies that nothing was written into an empty database.
func untouched(t *testing.T, db *postgrestest.Database) {
	t.Helper()
	const own = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')"
	if got := db.Copy(t, own); got != "" {
		t.Errorf("there are schemas in the database: %s", got)
	}
}

// all are what a query would show of every entry, in their order.
const all = "SELECT id, note FROM shop.entries ORDER BY id"

// TestRecover loses a target and brings it back with the operator's command.
func TestRecover(t *testing.T) {
	t.Parallel()
	l := newLoss(t)
	l.publish(t, 0, entries(0, 50)...)
	l.publish(t, 1, entries(50, 80)...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.publish(t, 0, entries(80, 120)...)
	l.publish(t, 1, entries(120, 130)...)
	l.apply(t)
	lost := l.db
	want := lost.Copy(t, all)

	l.db = postgrestest.Empty(t)
	before := l.lives(t)
	l.tidemark(t, l.db, 0, []string{"replay about 50 records of 2 partitions", "nothing was written"}, "recover", "--dry-run")
	flow := l.env["TIDEMARK_FLOW_FILE"]
	delete(l.env, "TIDEMARK_FLOW_FILE")
	l.tidemark(t, l.db, 2, []string{"flow integration"}, "recover")
	untouched(t, l.db)
	if got := l.lives(t); got != before {
		t.Errorf("%d lives are taken, want %d: nothing was to be written", got, before)
	}

	l.tidemark(t, l.db, 0, []string{"flow integration: 50 records applied", "is live in life 2"}, "recover", "--flow", flow)
	if got := l.db.Copy(t, all); got != want {
		t.Errorf("the rows differ from those that were lost:\n%s\nwant:\n%s", got, want)
	}
	l.stands(t, 0, 90)
	l.stands(t, 1, 40)
	if got := l.db.Copy(t, "SELECT target_id, state, lineage FROM tidemark.target"); got != "test-target\tlive\t2\n" {
		t.Errorf("the target is %q", got)
	}
	l.env["TIDEMARK_FLOW_FILE"] = flow
	l.tidemark(t, l.db, 0, []string{"had recovered it already"}, "recover")
	l.tidemark(t, lost, 15, []string{"target_not_empty"}, "recover")

	l.publish(t, 0, entries(130, 140)...) // the new life goes on where the old one would have
	l.apply(t)
	l.holds(t, 140)

	l.truncate(t, position.Offset(60))
	other := postgrestest.Empty(t)
	l.tidemark(t, other, 14, []string{"log_truncated", "--allow-gap"}, "recover")
	untouched(t, other)
}
