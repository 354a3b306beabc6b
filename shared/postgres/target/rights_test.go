package target_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/format/debezium"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// documentedGrants is the SQL of the operator's manual under "Rights of the function's role", for another role.
func documentedGrants(t *testing.T, role string) string {
	t.Helper()
	manual, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(manual), "\n### Rights of the function's role\n")
	_, block, opened := strings.Cut(section, "\n```sql\n")
	block, _, closed := strings.Cut(block, "\n```\n")
	if !found || !opened || !closed || !strings.Contains(block, "TO tidemark_apply;") {
		t.Fatal("docs/operations.md has no SQL under \"Rights of the function's role\"")
	}
	return strings.ReplaceAll(block, "tidemark_apply", role)
}

// newRole makes a role of this test's own that may log in and nothing else, and returns the address for it.
func newRole(t *testing.T, db *postgrestest.Database) (role, address string) {
	t.Helper()
	u := parse(t, db.URL)
	role = "apply_" + strings.TrimPrefix(u.Path, "/tidemark_test_")
	db.Exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'")
	t.Cleanup(func() {
		if _, err := db.Conn.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
			t.Errorf("drop the role: %v", err)
		}
	})
	u.User = url.UserPassword(role, "x")
	return role, u.String()
}

// envelope is what Debezium sends of a row of the schema shop.
func envelope(offset position.Offset, op, table, key, after string, headers ...string) record.Record {
	before := "null"
	if op == "d" {
		before = key
	}
	value := fmt.Sprintf(`{"before":%s,"after":%s,"source":{"version":"3.6.0.Final","connector":"postgresql",`+
		`"name":"shop","ts_ms":1,"snapshot":"false","db":"shop","schema":"shop","table":%q,"txId":7,"lsn":1000,`+
		`"xmin":null},"op":%q,"ts_ms":1}`, before, after, table, op)
	rec := named(applytest.At(offset, record.Present([]byte(value))), "event-"+offset.String())
	if key != "" {
		rec.Key = record.Present([]byte(key))
	}
	for pair := range slices.Chunk(headers, 2) {
		rec.Headers = append(rec.Headers, record.Header{Name: pair[0], Value: record.Present([]byte(pair[1]))})
	}
	return rec
}

// TestRights is about what the manual tells an operator to grant: it is enough for everything that apply does.
func TestRights(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE SCHEMA shop; CREATE TABLE shop.kv (id int PRIMARY KEY, v text);" +
		"CREATE TABLE shop.bin (id int PRIMARY KEY); INSERT INTO shop.bin VALUES (1);"
	for name, least := range map[string]int{"ByStatements": 0, "ByCopy": 1} {
		t.Run("TheManualsGrantsSuffice/"+name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.Live(t, itemDDL+ddl)
			role, address := newRole(t, db)
			db.Exec(t, documentedGrants(t, role))
			s := on(t, db, target.Options{Database: address, LeastCopied: least})
			decoder, err := debezium.New(s, debezium.Options{})
			if err != nil {
				t.Fatal(err)
			}
			applier, err := apply.New(s, decoder, apply.Options{
				Flow: applytest.Flow, TargetID: applytest.TargetID, Topics: []string{applytest.Topic},
				Identity: identified().Identity, Now: time.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			deliver := func(records ...record.Record) {
				t.Helper()
				run := record.Run{Partition: applytest.P(0), Records: records}
				outcome, err := applier.Apply(within(t, patience), record.Batch{run})
				if err != nil || outcome.Applied() != len(records) {
					t.Fatalf("applied %d of %d: %v", outcome.Applied(), len(records), err)
				}
			}
			deliver(
				envelope(0, "c", "kv", `{"id":1}`, `{"id":1,"v":"a"}`),
				envelope(1, "c", "kv", `{"id":2}`, `{"id":2,"v":"b"}`),
				envelope(2, "c", "kv", `{"id":3}`, `{"id":3,"v":"c"}`),
			)
			// The move's new row lacks a value that only the deleted one has: it goes through the ledger's moved_row.
			deliver(
				envelope(3, "c", "kv", `{"id":4}`, `{"id":4,"v":"d"}`),
				envelope(4, "u", "kv", `{"id":1}`, `{"id":1,"v":"A"}`),
				envelope(5, "d", "kv", `{"id":2}`, "null"),
				envelope(6, "d", "kv", `{"id":3}`, "null", "__debezium.newkey", `{"id":9}`),
				envelope(7, "c", "kv", `{"id":9}`, `{"id":9,"v":"__debezium_unavailable_value"}`, "__debezium.oldkey", `{"id":3}`),
				envelope(8, "t", "bin", "", "null"),
			)
			if diff := cmp.Diff("1\tA\n4\td\n9\tc\n", db.Copy(t, "SELECT id, v FROM shop.kv ORDER BY id")); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			want := "9\t0\t0\n"
			got := db.Copy(t, "SELECT (SELECT count(*) FROM tidemark.applied_identity), (SELECT count(*) FROM shop.bin),"+
				" (SELECT count(*) FROM tidemark.moved_row)")
			if got != want {
				t.Errorf("identities, rows of the truncated table, halves of moves: got %q, want %q", got, want)
			}
		})
	}
}
