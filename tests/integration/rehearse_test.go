//go:build integration

package integration_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
)

// stored are the objects of the archive, without the reports.
func (l *loss) stored(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		found, err := filepath.Glob(filepath.Join(l.archive, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			if at, _ := filepath.Rel(l.archive, name); !strings.HasPrefix(at, "verified") { // it lies there
				names = append(names, at)
			}
		}
	}
	return names
}

// interrupted stops a rehearsal as a person does, as soon as its database is there: that is gone afterwards.
func (l *loss) interrupted(t *testing.T, scratch string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, "rehearse")
	for name, value := range l.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, "TIDEMARK_DATABASE_URL="+l.db.URL)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the scratch database is there", func(context.Context) (bool, error) {
		return l.db.Copy(t, scratch) == "1\n", nil //nolint:contextcheck // it has the test's own
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code says it
	if code, left := cmd.ProcessState.ExitCode(), l.db.Copy(t, scratch); code != 130 || left != "0\n" {
		t.Errorf("exit code %d, %s databases are left", code, left)
	}
}

// TestRehearse recovers beside a target that goes on applying: at the cut at which it was read both have the same rows, and
// nothing of it was touched.
func TestRehearse(t *testing.T) {
	t.Parallel()
	l := newLoss(t)
	text, err := os.ReadFile(l.flowFile)
	if err == nil { // the topic's name does not lead to the table, and the records do
		text = append([]byte("routes:\n  - {from: TestRehearse.entries, to: shop.entries}\n"), text...)
		err = os.WriteFile(l.flowFile, text, 0o600) //nolint:gosec // a path of this test's own
	}
	if err != nil {
		t.Fatal(err)
	}
	l.db.Exec(t, "INSERT INTO shop.kept VALUES (1, 'settings')")
	l.publish(t, 0, entries(0, 50)...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.publish(t, 1, entries(50, 80)...)
	l.apply(t)

	const scratch = "SELECT count(*) FROM pg_database WHERE datname LIKE 'tidemark_rehearsal_%'"
	const life = "SELECT target_id, state, lineage, incarnation FROM tidemark.target"
	before, lives, files := l.db.Copy(t, life), l.lives(t), l.stored(t)
	l.tidemark(t, l.db, 0, []string{"replay about 30 records", "nothing was written"}, "rehearse", "--dry-run")
	if got := l.db.Copy(t, scratch); got != "0\n" {
		t.Errorf("a dry run made %s databases", got)
	}

	l.publish(t, 0, entries(80, 400)...)
	applied := make(chan error, 1)
	source := l.source(t, l.topics[0], l.function(t, nil), nil)
	go func() { applied <- run(t, source) }()
	l.tidemark(t, l.db, 0, []string{
		": verified", "2 tables with the archive, and with the live target as of", "done: compare", "report verified/",
	}, "rehearse")
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	l.holds(t, 400)
	if got := l.db.Copy(t, life); got != before || l.lives(t) != lives {
		t.Errorf("the target is %q with %d lives, was %q with %d", got, l.lives(t), before, lives)
	}
	if diff := cmp.Diff(files, l.stored(t)); diff != "" {
		t.Errorf("the archive (-before +after):\n%s", diff)
	}
	l.tidemark(t, l.db, 0, []string{"verified"}, "manifests", "list")

	l.db.Exec(t, "UPDATE shop.kept SET note = 'other'")
	l.tidemark(t, l.db, 3, []string{": verified", `warning: beside the live target: table "shop.kept"`}, "rehearse", "--no-report")
	l.db.Exec(t, "UPDATE shop.entries SET note = 'by hand' WHERE id = 7")
	l.tidemark(t, l.db, 13, []string{": failed", `difference: beside the live target: table "shop.entries"`}, "rehearse")

	l.interrupted(t, scratch)
	other := postgrestest.Empty(t)
	l.env["TIDEMARK_SCRATCH_DATABASE_URL"] = other.URL
	until := l.topics[0] + "/0=60"
	l.tidemark(t, l.db, 0, []string{`"verdict": "verified"`, `"replayed": "10"`}, "rehearse", "--until", until, "--until", l.topics[0]+"/1=0", "--json")
	if got := other.Copy(t, "SELECT state, (SELECT count(*) FROM shop.entries) FROM tidemark.target"); got != "held\t60\n" {
		t.Errorf("the scratch database is %q", got)
	}
	l.tidemark(t, l.db, 15, []string{"target_not_empty"}, "rehearse")
	l.env["TIDEMARK_SCRATCH_DATABASE_URL"] = l.db.URL + "&application_name=other"
	l.tidemark(t, l.db, 15, []string{"identity_mismatch"}, "rehearse", "--no-live")
	delete(l.env, "TIDEMARK_SCRATCH_DATABASE_URL")

	l.truncate(t, position.Offset(60))
	l.tidemark(t, l.db, 14, []string{"log_truncated"}, "rehearse")
	if got := l.db.Copy(t, scratch); got != "0\n" {
		t.Errorf("%s scratch databases are left", got)
	}
}
