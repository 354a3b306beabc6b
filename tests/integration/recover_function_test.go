//go:build integration

package integration_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"tidemark/localstack/runtimeapi"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/tests/internal/binary"
)

// byFunction invokes a function that verifies or recovers, as a process with the loss's environment.
func (l *loss) byFunction(t *testing.T, binary string, db *postgrestest.Database, timeout time.Duration, event string, into any) {
	t.Helper()
	env := maps.Clone(l.env)
	env["TIDEMARK_DATABASE_URL"] = db.URL
	output := &transcript{}
	f, err := runtimeapi.New(runtimeapi.Options{
		Bootstrap: binary, Name: "function", MemoryMB: 1769, Timeout: timeout, Grace: grace, Output: output, Env: env,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	reply, err := f.Invoke(t.Context(), []byte(event))
	if err == nil {
		err = json.Unmarshal(reply, into)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", event, err, output.end())
	}
}

// TestRecoverByFunction rehearses and recovers by the functions as they are deployed: only an event that says so writes.
func TestRecoverByFunction(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := binary.Build(t.Context(), bin+"/", "./functions/verify", "./functions/recover"); err != nil {
		t.Fatal(err)
	}
	verify, recovering := filepath.Join(bin, "verify"), filepath.Join(bin, "recover")
	l := newLoss(t)
	l.publish(t, 0, entries(0, 50)...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	l.publish(t, 1, entries(50, 80)...)
	l.apply(t)

	var seen struct {
		Outcome, Handover string
		Problems          int
		Rehearsal         struct{ Replayed, Compared json.Number }
		Ages              struct{ Rehearsal *int }
	}
	l.byFunction(t, verify, l.db, ample, "{}", &seen)
	if seen.Outcome != "verified" || seen.Ages.Rehearsal != nil {
		t.Errorf("got %+v", seen)
	}
	l.byFunction(t, verify, l.db, time.Minute, `{"level":"data"}`, &seen)
	if seen.Outcome != "handover" || seen.Handover != "tidemark rehearse" {
		t.Errorf("within a minute: got %+v", seen)
	}
	l.byFunction(t, verify, l.db, ample, `{"level":"data"}`, &seen)
	if seen.Outcome != "verified" || seen.Problems != 0 || seen.Rehearsal.Replayed != "30" || seen.Ages.Rehearsal == nil {
		t.Errorf("got %+v", seen)
	}

	var done struct {
		Outcome  string
		Continue bool
		Plan     struct{ Records int }
		Report   struct{ State string }
	}
	empty := postgrestest.Empty(t)
	l.byFunction(t, recovering, empty, ample, "{}", &done)
	if done.Outcome != "planned" || done.Plan.Records != 30 {
		t.Errorf("got %+v", done)
	}
	untouched(t, empty)
	l.byFunction(t, recovering, empty, ample, `{"dry_run":false}`, &done)
	if done.Outcome != "recovered" || done.Continue || done.Report.State != "live" {
		t.Errorf("got %+v", done)
	}
	if want, got := l.db.Copy(t, all), empty.Copy(t, all); want != got {
		t.Errorf("the rows differ from those that were lost:\n%s\nwant:\n%s", got, want)
	}
}
