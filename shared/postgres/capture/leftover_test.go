package capture_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/shared/postgres/postgrestest"
)

// TestUncaptured: what no definition makes is named, whatever it is, and so is what needs it; the rest is rebuilt.
func TestUncaptured(t *testing.T) {
	t.Parallel()
	original := made(t, "testdata/leftover.sql")
	// A database with a subscription cannot be dropped.
	t.Cleanup(func() {
		_, err := original.Conn.Exec(context.WithoutCancel(t.Context()), "DROP SUBSCRIPTION sub")
		if err != nil {
			t.Errorf("drop the subscription: %v", err)
		}
	})
	holdTemporaries(t, original)
	schema := read(t, original)
	user := strings.TrimSpace(original.Copy(t, "SELECT quote_ident(current_user)"))
	want := []string{
		"access method am", "aggregate odd.total()", "cast (odd.plain AS integer)", "comment of the database",
		"conversion odd.conv", "default value for odd.of_base.s", "event trigger acts", "foreign table odd.far",
		"foreign-data wrapper wrapper", "function odd.base_in(pg_catalog.cstring)", "function odd.base_out(odd.base)",
		"function odd.in_other()", "function odd.loop_a()", "function odd.loop_b()",
		"grantor pg_monitor of rights on odd.plain", "index odd.broken", "index odd.by_class", "inheritance odd.child.a",
		"inheritance odd.child.c", "language other", "large objects 2", "operator class odd.ints USING btree",
		"operator family odd.ints USING btree", "operator odd.#+#(integer,integer)", "publication pub",
		"rights on function pg_catalog.pg_read_file(pg_catalog.text)", "rights on table odd.member",
		"rights on table pg_catalog.pg_authid", "rights on the database", "rights on view information_schema.tables",
		"rows of odd.member, a table of extension hstore", "sequence odd.of_base_s_seq", "server server",
		"setting work_mem=5MB of the database", "setting work_mem=6MB of role " + user,
		"statistics object odd.over_base_too", "subscription sub",
		"switched-off constraint with_operator_id_fkey of odd.with_operator",
		"table constraint far_id_check on odd.far", "table constraint of_base_pkey on odd.of_base",
		"table constraint with_operator_id_check on odd.with_operator", "table odd.of_base", "table odd.with_method",
		"text search configuration odd.config", "text search dictionary odd.dict", "text search parser odd.parser",
		"text search template odd.template", "transform for integer on language plpgsql", "type odd.base",
		"type odd.shell", "user mapping " + user + " on server server", "view odd.over_base", "view odd.over_far",
	}
	if diff := cmp.Diff(want, schema.Uncaptured); diff != "" {
		t.Errorf("not captured (-want +got):\n%s", diff)
	}
	var tables []string
	for _, table := range schema.Tables {
		if table.Schema == "odd" {
			tables = append(tables, table.Name.Name)
		}
	}
	if diff := cmp.Diff([]string{"child", "parent", "plain", "with_operator"}, tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	again := read(t, rebuild(t, schema, noRows))
	if diff := cmp.Diff(schema.Definitions, again.Definitions); diff != "" {
		t.Errorf("captured again (-want +got):\n%s", diff)
	}
}

// holdTemporaries makes what lives in another session alone, and is nothing to capture.
func holdTemporaries(t *testing.T, db *postgrestest.Database) {
	t.Helper()
	session, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close(context.WithoutCancel(t.Context())) })
	if _, err := session.Exec(t.Context(), `
		CREATE TEMPORARY TABLE passing (id serial PRIMARY KEY, at date DEFAULT now() CHECK (at > '2000-01-01'));
		CREATE TEMPORARY TABLE passing_too (id integer REFERENCES passing) PARTITION BY LIST (id);
		CREATE TEMPORARY VIEW passing_view AS SELECT * FROM passing;
		CREATE STATISTICS odd.of_passing ON id, at FROM passing;
		CREATE POLICY passing ON passing; CREATE INDEX ON passing (at); COMMENT ON TABLE passing IS 'x';
		COMMENT ON COLUMN passing.at IS 'x'; COMMENT ON CONSTRAINT passing_pkey ON passing IS 'x';
		CREATE RULE passing AS ON DELETE TO passing DO INSTEAD NOTHING;
		GRANT SELECT ON passing TO pg_monitor;
		CREATE TYPE pg_temp.passing_enum AS ENUM ('a'); CREATE TYPE pg_temp.passing_composite AS (a integer);
		CREATE DOMAIN pg_temp.passing_domain AS text CHECK (VALUE <> ''); CREATE TYPE pg_temp.passing_range AS RANGE (SUBTYPE = date);
		CREATE FUNCTION pg_temp.passing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END';
		CREATE TRIGGER passing AFTER INSERT ON passing EXECUTE FUNCTION pg_temp.passing();
		CREATE COLLATION pg_temp.passing (LOCALE = 'C');
		CREATE OPERATOR pg_temp.=#= (FUNCTION = int4eq, LEFTARG = integer, RIGHTARG = integer)`,
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("make what is temporary: %v", err)
	}
}
