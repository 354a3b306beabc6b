package restore_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/extraction"
)

// wanted is a request for tables of a base.
func wanted(base recovery.Base, into string, tables ...body.Name) extraction.Request {
	return extraction.Request{Body: base.Body, Tables: tables, Into: into, Jobs: 3, Fetch: base.Fetch}
}

func extracted(tb testing.TB, d *restore.Database, r extraction.Request) recovery.Restored {
	tb.Helper()
	done, err := d.Extract(tb.Context(), r)
	if err != nil {
		tb.Fatalf("extract: %v", err)
	}
	return done
}

// sameRowsIn compares a table with its copy in another schema.
func sameRowsIn(tb testing.TB, original, copied *postgrestest.Database, from, into string) {
	tb.Helper()
	rows := func(db *postgrestest.Database, table string) string {
		return db.Copy(tb, `SELECT t::text FROM `+table+` AS t ORDER BY t::text COLLATE "C"`)
	}
	want := rows(original, from)
	if diff := cmp.Diff(want, rows(copied, into)); diff != "" || want == "" {
		tb.Errorf("rows of %s (-original +copy):\n%s", from, diff)
	}
}

// TestExtractLive: tables come back beside the ones that live on, and nothing of those changes.
func TestExtractLive(t *testing.T) {
	t.Parallel()
	live := rich(t)
	base, _ := baseOf(t, live, 7)
	before := read(t, live)
	d := at(t, live, restore.Options{})
	const odd, strange, long = `Odd "schema" 🐘`, `order by; -- 'q' "x"`, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz_63_bytes_l"
	const into = `a "copy" 🐬`
	var most atomic.Int64
	request := wanted(base, into, body.Name{Schema: "shop", Name: "customer"}, body.Name{Schema: "shop", Name: "serial_one"},
		body.Name{Schema: "shop", Name: "event"}, body.Name{Schema: odd, Name: strange}, body.Name{Schema: odd, Name: long},
		body.Name{Schema: "shop", Name: "made"}, body.Name{Schema: "shop", Name: "booking"}, body.Name{Schema: "shop", Name: "of_rows"})
	request.OnProgress = func(done, of int64) { most.Store(max(most.Load(), done*100/of)) }
	outline, err := d.Outline(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{
		"foreign key customer_parent_fkey of shop.customer is left out", "trigger stamp of shop.customer is left out",
		"policy mine of shop.customer is left out", "foreign key event_owner_fkey of shop.event is left out",
	} {
		if !strings.Contains(strings.Join(outline.Warnings, "\n"), left) {
			t.Errorf("%q is not among %q", left, outline.Warnings)
		}
	}
	if diff := cmp.Diff(before.Definitions, read(t, live).Definitions); diff != "" {
		t.Errorf("an outline wrote:\n%s", diff)
	}
	done := extracted(t, d, request)
	if len(done.Warnings) > 0 || most.Load() != 100 {
		t.Errorf("%+v, %d %% were told", done, most.Load())
	}
	for _, name := range []string{"customer", "serial_one", "event", "event_2020_eu_0", "event_other", "made", "booking", "of_rows"} {
		sameRowsIn(t, live, live, "shop."+name, postgres.QuoteTable(into, name))
	}
	sameRowsIn(t, live, live, postgres.QuoteTable(odd, strange), postgres.QuoteTable(into, strange))
	live.Exec(t, "INSERT INTO "+postgres.QuoteTable(into, "serial_one")+" (other) VALUES (DEFAULT)")
	if got := live.Copy(t, "SELECT max(id), max(by_default) FROM "+postgres.QuoteTable(into, "serial_one")); got != "10\t10\n" {
		t.Errorf("next numbers %q", got)
	}
	structure(t, live, "shop", into, "customer", "serial_one", "event", "event_2020_eu_0", "made_1", "booking")
	live.Exec(t, "DROP SCHEMA "+postgres.QuoteName(into)+" CASCADE")
	after := read(t, live)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("what lives has changed (-before +after):\n%s", diff)
	}
}

// structure compares what the server says of tables and of their copies: columns, keys, checks, indexes and partitions.
func structure(tb testing.TB, db *postgrestest.Database, from, into string, tables ...string) {
	tb.Helper()
	for _, table := range tables {
		of := func(schema string) string {
			relation := "'" + strings.ReplaceAll(postgres.QuoteTable(schema, table), "'", "''") + "'::regclass"
			text := db.Copy(tb, `SELECT attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, attstorage, attcollation,
				attoptions, (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum)
				FROM pg_attribute WHERE attrelid = `+relation+` AND attnum > 0 AND NOT attisdropped ORDER BY attnum`) +
				db.Copy(tb, `SELECT pg_get_indexdef(indexrelid), indisprimary, indimmediate FROM pg_index WHERE indrelid = `+relation+` ORDER BY 1`) +
				db.Copy(tb, `SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype NOT IN ('f', 't') AND conrelid = `+relation+` ORDER BY 1`) +
				db.Copy(tb, `SELECT relkind, relpersistence, reloptions, pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid) FROM pg_class WHERE oid = `+relation) +
				db.Copy(tb, `SELECT i.relname FROM pg_inherits JOIN pg_class AS i ON i.oid = inhparent JOIN pg_index AS x ON x.indexrelid = inhrelid
					WHERE x.indrelid = `+relation+` ORDER BY 1`)
			return strings.NewReplacer(strings.ReplaceAll(postgres.QuoteName(into), "'", "''")+".", "S.", " "+from+".", " S.", "'"+from+".", "'S.").Replace(text)
		}
		if diff := cmp.Diff(of(from), of(into)); diff != "" {
			tb.Errorf("table %s (-original +copy):\n%s", table, diff)
		}
	}
}

// TestExtract: a table comes into a database that knows nothing of it, with what it can be without left out by name.
func TestExtract(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, `
		CREATE SEQUENCE shared; CREATE FUNCTION near(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1';
		CREATE TABLE other (id integer PRIMARY KEY); INSERT INTO other VALUES (1);
		CREATE TABLE orders (id serial PRIMARY KEY, n integer DEFAULT nextval('shared'), o integer REFERENCES other, f integer DEFAULT public.near(3),
			CHECK (public.near(n) > 0), UNIQUE (n) DEFERRABLE);
		INSERT INTO orders (o) SELECT 1 FROM generate_series(1, 30);
		CREATE TABLE events (id integer, at integer, PRIMARY KEY (id, at)) PARTITION BY LIST (at); CREATE TABLE events_1 PARTITION OF events FOR VALUES IN (1);
		INSERT INTO events VALUES (1, 1)`)
	base, _ := baseOf(t, original, 7)
	db, d := target(t, restore.Options{})
	orders, part := body.Name{Schema: "public", Name: "orders"}, body.Name{Schema: "public", Name: "events_1"}
	outline, err := d.Outline(t.Context(), wanted(base, "back", orders, part))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"default n of public.orders is left out: it takes numbers from public.shared, which no table of these owns",
		"foreign key orders_o_fkey of public.orders is left out", "table public.events_1 was a partition of public.events and stands alone",
	}
	if diff := cmp.Diff(want, outline.Warnings); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	done := extracted(t, d, wanted(base, "back", orders, part))
	if len(done.Warnings) != 2 || !strings.HasPrefix(done.Warnings[0], "default f of public.orders was not made") ||
		!strings.HasPrefix(done.Warnings[1], "check orders_n_check of public.orders was not made") || done.Rows != 31 {
		t.Errorf("%+v", done)
	}
	sameRowsIn(t, original, db, "orders", "back.orders")
	sameRowsIn(t, original, db, "events_1", "back.events_1")
	db.Exec(t, "INSERT INTO back.orders (n) VALUES (99)")
	if got := db.Copy(t, "SELECT max(id) FROM back.orders"); got != "31\n" {
		t.Errorf("next number %q", got)
	}
	if got := db.Copy(t, "SELECT nspname FROM pg_namespace WHERE nspname ~ 'tidemark'"); got != "" {
		t.Errorf("there is a ledger: %q", got)
	}
	_, err = d.Extract(t.Context(), wanted(base, "back", orders))
	refusedAs(t, err, fault.Misconfigured, "schema back")
	if !errors.Is(err, recovery.ErrNotEmpty) {
		t.Errorf("got %v, want ErrNotEmpty", err)
	}
}

// TestExtractRefuses: what cannot be is named, and nothing of it is there.
func TestExtractRefuses(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, `
		CREATE SCHEMA s; CREATE EXTENSION hstore; CREATE TYPE mood AS ENUM ('a', 'b'); CREATE DOMAIN d AS mood;
		CREATE FUNCTION twice(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
		CREATE TABLE typed (d d, h hstore, n numeric(3,1)[]); CREATE TABLE s.typed (a integer); CREATE TABLE child (b integer) INHERITS (s.typed);
		CREATE TABLE made (a integer, g integer GENERATED ALWAYS AS (public.twice(a)) STORED);
		CREATE TABLE keyed (a integer PRIMARY KEY); INSERT INTO keyed VALUES (1), (2), (3), (4)`)
	base, objects := baseOf(t, original, 2)
	name := func(schema, table string) body.Name { return body.Name{Schema: schema, Name: table} }
	torn := func(_ context.Context, o manifest.Object) ([]byte, error) {
		return nil, fault.New(fault.Corrupt, "object %s has other bytes", o.Digest)
	}
	for _, test := range []struct {
		name   string
		ddl    string
		tables []body.Name
		class  fault.Class
		says   []string
		fetch  func(context.Context, manifest.Object) ([]byte, error)
	}{
		{"TypesThatAreNotThere", "", []body.Name{name("public", "typed")}, fault.Misconfigured, []string{"domain public.d is not there", "enum public.mood is not there"}, nil},
		{"TypesThatAreOthers", "CREATE TYPE mood AS ENUM ('b', 'a'); CREATE DOMAIN d AS mood", []body.Name{name("public", "typed")}, fault.Misconfigured, []string{"enum public.mood is another one"}, nil},
		{"AnExtensionsTypes", "CREATE TYPE mood AS ENUM ('a', 'b'); CREATE DOMAIN d AS mood", []body.Name{name("public", "typed")}, fault.Misconfigured, []string{"type public.hstore is not there"}, nil},
		{"TwoOfOneName", "", []body.Name{name("public", "typed"), name("s", "typed")}, fault.Misconfigured, []string{"public.typed and s.typed"}, nil},
		{"AChildWithoutItsParent", "", []body.Name{name("public", "child")}, fault.Misconfigured, []string{"child inherits from s.typed"}, nil},
		{"AColumnThatCannotBeMade", "", []body.Name{name("public", "made")}, fault.Misconfigured, []string{"table made", "twice"}, nil},
		{"AnObjectThatIsTorn", "", []body.Name{name("public", "keyed")}, fault.Corrupt, []string{"rows of public.keyed", " of 2"}, torn},
		{"RowsThatAreNotTheirs", "", []body.Name{name("public", "keyed")}, fault.Corrupt, []string{"primary key keyed_pkey of public.keyed"}, func(ctx context.Context, o manifest.Object) ([]byte, error) {
			plain, err := objects.fetch(ctx, o)
			if err != nil {
				return nil, err
			}
			return append(plain[:len(plain)-3:len(plain)-3], 9, 0xff, 0xff), nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db, d := target(t, restore.Options{})
			db.Exec(t, test.ddl)
			r := wanted(base, "back", test.tables...)
			if test.fetch != nil {
				r.Fetch = test.fetch
			}
			_, err := d.Extract(t.Context(), r)
			refusedAs(t, err, test.class, test.says...)
			if got := db.Copy(t, "SELECT nspname FROM pg_namespace WHERE nspname = 'back'"); got != "" {
				t.Errorf("schema %q is there", got)
			}
		})
	}
}
