//go:build drill

package drill_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/localstack/runtimeapi"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/record"
)

// refusal is something that is wrong around the function, and what its operator must be told.
type refusal struct {
	name string
	// spoil makes it wrong: in the environment, in the database or in the records.
	spoil       func(t *testing.T, w *world, env map[string]string)
	class       string
	error, hint string       // parts of what is said
	stands      position.Cut // what is applied all the same
}

// refusals are met at the first delivery: the process starts, because it connects to nothing before.
func refusals() []refusal {
	return []refusal{
		{
			name: "WrongPassword", class: "misconfigured", error: "28P01", hint: "check user, password",
			spoil: setting("TIDEMARK_DATABASE_PASSWORD", "hunter-wrong-password"),
		},
		{
			name: "UnknownDatabase", class: "misconfigured", error: "3D000", hint: "create it, or correct TIDEMARK_DATABASE_URL",
			spoil: func(t *testing.T, _ *world, env map[string]string) {
				t.Helper()
				address := parseURL(t, env["TIDEMARK_DATABASE_URL"])
				address.Path = "/nowhere"
				env["TIDEMARK_DATABASE_URL"] = address.String()
			},
		},
		{name: "Unreachable", class: "retryable", error: "connect to the database", hint: "cannot be reached", spoil: unreachable},
		{
			name: "OtherTarget", class: "misconfigured", error: "another target", hint: "correct TIDEMARK_TARGET_ID",
			spoil: setting("TIDEMARK_TARGET_ID", "somebody-elses"),
		},
		{
			name: "MissingLedger", class: "misconfigured", error: "no ledger in schema absent", hint: "run: tidemark migrate",
			spoil: setting("TIDEMARK_LEDGER_SCHEMA", "absent"),
		},
		{
			name: "NewerLedger", class: "misconfigured", error: "version 9999", hint: "deploy a release that knows version 9999",
			spoil: statement("INSERT INTO tidemark.schema_version (version_id, is_applied) VALUES (9999, true)"),
		},
		{
			name: "OlderLedger", class: "misconfigured", error: "version 0", hint: "run: tidemark migrate",
			spoil: statement("DELETE FROM tidemark.schema_version"),
		},
		{
			name: "NoLife", class: "misconfigured", error: "no life yet", hint: "run: tidemark init",
			spoil: statement("UPDATE tidemark.target SET state = 'new'"),
		},
		{
			name: "Held", class: "fenced", error: "the target is held",
			spoil: statement("UPDATE tidemark.target SET state = 'held'"),
		},
		{
			name: "MissingTable", class: "misconfigured", error: "no table shop.absent", hint: "create it",
			spoil: func(t *testing.T, w *world, _ map[string]string) {
				t.Helper()
				w.writeFlow(t, flowFile+"routes: [{from: shop.basket, to: shop.absent}]\n")
			},
			stands: position.Cut{
				crate.partition(0): 8, journal.partition(0): 2, orders.partition(0): 2, orders.partition(1): 1,
			},
		},
		{
			name: "UnreadableRecord", class: "poison", error: "drill.shop.journal/0 [1,2)",
			spoil: func(_ *testing.T, w *world, _ map[string]string) {
				w.records[journal.partition(0)][1].Value = record.Present([]byte(`{"zebra`))
			},
			stands: position.Cut{
				basket.partition(0): 1, crate.partition(0): 8, journal.partition(0): 1,
				orders.partition(0): 2, orders.partition(1): 1,
			},
		},
		{
			name: "RefusedValue", class: "poison", error: "drill.shop.basket/0 [0,1)",
			spoil: func(_ *testing.T, w *world, _ map[string]string) {
				value := `{"op":"c","before":null,"after":{"code":"zebra-x","amount":99999999999999999999},` +
					`"source":{"schema":"shop","table":"basket","lsn":1}}`
				w.records[basket.partition(0)][0].Value = record.Present([]byte(value))
			},
			stands: position.Cut{
				crate.partition(0): 8, journal.partition(0): 2, orders.partition(0): 2, orders.partition(1): 1,
			},
		},
	}
}

func setting(name, value string) func(*testing.T, *world, map[string]string) {
	return func(_ *testing.T, _ *world, env map[string]string) { env[name] = value }
}

func statement(sql string) func(*testing.T, *world, map[string]string) {
	return func(t *testing.T, w *world, _ map[string]string) {
		t.Helper()
		w.db.Exec(t, sql)
	}
}

// unreachable leads to a port that nobody listens on.
func unreachable(t *testing.T, w *world, env map[string]string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	address := *w.address
	address.User, address.Host = url.User(w.address.User.Username()), listener.Addr().String()
	env["TIDEMARK_DATABASE_URL"] = address.String()
}

// TestRefusal delivers into what is wrong: the operator is told what and what to do, nothing that could not be applied is
// called applied, and neither a secret nor payload is in the output (newLambda sees to that).
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, r := range refusals() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := w.newLambda(t, lambdaOptions{spoil: func(env map[string]string) { r.spoil(t, w, env) }})
			d := l.deliver(t, w.batch(nil, w.first))
			if d.done {
				t.Error("the reply calls everything applied")
			}
			if stands := cmp.Diff(r.stands, d.stands, cmp.Transformer("none", emptyAsNil)); stands != "" {
				t.Errorf("what is applied: %s", stands)
			}
			if d.err != nil {
				r.check(t, failure(d.err))
			}
			r.checkLog(t, l)
		})
	}
}

func emptyAsNil(cut position.Cut) map[position.Partition]position.Offset {
	if len(cut) == 0 {
		return nil
	}
	return cut
}

// check holds what the function reported against what its operator must be told.
func (r refusal) check(t *testing.T, reported runtimeapi.FunctionError) {
	t.Helper()
	if reported.Type != "UnappliedError" || !strings.HasPrefix(reported.Message, r.class+": ") {
		t.Errorf("got %q of type %q, want class %s", reported.Message, reported.Type, r.class)
	}
	if !strings.Contains(reported.Message, r.error) || !strings.Contains(reported.Message, r.hint) {
		t.Errorf("got %q, want %q and %q in it", reported.Message, r.error, r.hint)
	}
}

// checkLog holds the log lines of what was not applied against it: one a partition, with class, error and hint.
func (r refusal) checkLog(t *testing.T, of *lambda) {
	t.Helper()
	told := 0
	for _, l := range of.log() {
		if l.Level == "INFO" || l.Level == "" {
			continue
		}
		if told++; l.Class != r.class || !strings.Contains(l.Error, r.error) || !strings.Contains(l.Hint, r.hint) {
			t.Errorf("log line: class %q, error %q, hint %q; want %q, %q, %q", l.Class, l.Error, l.Hint, r.class, r.error, r.hint)
		}
	}
	if told == 0 {
		t.Errorf("nothing was logged: %s", of.output)
	}
}

// TestOutput reads all that a process writes around a failed delivery: each line is one JSON object, so that whoever
// collects logs can tell one line from the next.
func TestOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.newLambda(t, lambdaOptions{spoil: func(env map[string]string) { env["TIDEMARK_TARGET_ID"] = "somebody-elses" }})
	if d := l.deliver(t, w.batch(nil, w.first)); d.err == nil {
		t.Error("the delivery did not fail")
	}
	l.kill() // all that it wrote is there
	for text := range strings.Lines(l.output.String()) {
		if !json.Valid([]byte(text)) {
			t.Errorf("not a JSON object: %s", text)
		}
	}
}

// TestColdStart starts a process that cannot work: it says in one log line why and what to do, and ends with an error
// before it asks for work.
//
//nolint:tparallel // its parts share a database
func TestColdStart(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, ddl) // one for all, one after the other: nobody connects
	for _, c := range []struct {
		name  string
		spoil func(*testing.T, *world, map[string]string)
		error string
	}{
		{"AbsentFlowFile", setting("TIDEMARK_FLOW_FILE", "/nowhere/flow.yaml"), "read flow file"},
		{"BrokenFlowFile", func(t *testing.T, w *world, _ map[string]string) {
			t.Helper()
			w.writeFlow(t, flowFile+"tpoics: []\n")
		}, "tpoics"},
		{"UnknownVariable", setting("TIDEMARK_TARGETID", "x"), "TIDEMARK_TARGETID"},
		{"MissingVariable", setting("TIDEMARK_TARGET_ID", ""), "TIDEMARK_TARGET_ID is not set"},
		{"UnreadableAddress", setting("TIDEMARK_DATABASE_URL", "postgres://drill:hunter/2@127.0.0.1/x"), "TIDEMARK_DATABASE_URL"},
		{"PasswordInTheClear", setting("TIDEMARK_DATABASE_URL", "postgres://drill@db.example.com/x?sslmode=disable"), "without TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := worldIn(t, db)
			l := w.newLambda(t, lambdaOptions{spoil: func(env map[string]string) { c.spoil(t, w, env) }})
			d := l.deliver(t, w.batch(nil, w.first))
			if !errors.Is(d.err, runtimeapi.ErrDied) || !strings.Contains(d.err.Error(), "exit status 1") {
				t.Errorf("got %v, want a process that ends with exit status 1", d.err)
			}
			lines := l.output.lines()
			if len(lines) != 1 {
				t.Fatalf("%d log lines, want one: %s", len(lines), l.output)
			}
			if got := lines[0]; got.Class != "misconfigured" || !strings.Contains(got.Error, c.error) || got.Hint == "" {
				t.Errorf("class %q, error %q, hint %q; want misconfigured, %q and a hint", got.Class, got.Error, got.Hint, c.error)
			}
			if strings.Contains(l.output.String(), "hunter") {
				t.Error("the output holds a part of the address")
			}
		})
	}
}
