package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
)

// TestContent is about what is read with a snapshot beside rows.
func TestContent(t *testing.T) {
	t.Parallel()
	t.Run("HasTheLifeAndTheCut", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, `INSERT INTO tidemark.checkpoint
			  (flow, topic, partition, next_offset, topic_id, generation, leader_epoch, record_time, incarnation)
			SELECT f.*, incarnation FROM tidemark.target, (VALUES
			  ('web', 'b', 10, 7::bigint, NULL::uuid, 0::bigint, NULL::integer, NULL::timestamptz),
			  ('web', 'b', 9, 9223372036854775807, '6f2a1d1e-0000-4000-8000-000000000001', 2, 4, '2026-01-02 03:04:05.678901+02'),
			  ('app', 'Z', 0, 0, NULL, 0, -1, 'infinity'), ('app', 'a', 0, 0, NULL, 0, 0, '50000-01-01 00:00+00')) AS f;
			INSERT INTO tidemark.gap (flow, topic, partition, from_offset, until_offset, how, who, why, at)
			VALUES ('web', 'b', 9, 3, 5, 'accepted', 'ann', NULL, '2026-01-02 03:04:05+00'),
			       ('app', 'a', 0, 1, 2, 'origin', 'bob', 'lost', '-infinity')`)
		c := held(t, db).Content()
		life := strings.Fields(db.Copy(t, "SELECT incarnation FROM tidemark.target"))
		want := backup.Life{TargetID: postgrestest.TargetID, Lineage: 1, Incarnation: position.Incarnation(life[0]), State: "live"}
		if diff := cmp.Diff(want, c.Life); diff != "" {
			t.Errorf("life, want, got: %s", diff)
		}
		epoch, none := int32(4), int32(0)
		early, late, at := time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
			time.Date(2026, 1, 2, 1, 4, 5, 678_901_000, time.UTC)
		cut := body.Cut{
			{Flow: "app", Topic: "Z", RecordTime: &late},
			{Flow: "app", Topic: "a", LeaderEpoch: &none, RecordTime: &late},
			{
				Flow: "web", Topic: "b", Partition: 9, NextOffset: 9223372036854775807, Generation: 2,
				TopicID: "6f2a1d1e-0000-4000-8000-000000000001", LeaderEpoch: &epoch, RecordTime: &at,
			},
			{Flow: "web", Topic: "b", Partition: 10, NextOffset: 7},
		}
		if diff := cmp.Diff(cut, c.Cut); diff != "" {
			t.Errorf("cut, want, got: %s", diff)
		}
		gaps := []body.Gap{
			{Flow: "app", Topic: "a", From: 1, Until: 2, How: "origin", Actor: "bob", Reason: "lost", At: early},
			{
				Flow: "web", Topic: "b", Partition: 9, From: 3, Until: 5, How: "accepted", Actor: "ann",
				At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			},
		}
		if diff := cmp.Diff(gaps, c.Gaps); diff != "" {
			t.Errorf("gaps, want, got: %s", diff)
		}
		if err := c.Cut.Validate(); err != nil {
			t.Error(err)
		}
	})
	t.Run("HasTheDatabasesFacts", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		got := held(t, db).Content().Database
		facts := strings.Split(strings.TrimSpace(db.Copy(t, `SELECT system_identifier::text, current_database(),
			current_setting('server_version_num'), max(version_id) FROM pg_control_system(), tidemark.schema_version GROUP BY 1`)), "\t")
		want := []string{got.SystemIdentifier, got.Database, fmt.Sprint(got.ServerVersion), fmt.Sprint(got.LedgerVersion)}
		if diff := cmp.Diff(facts, want); diff != "" {
			t.Errorf("want, got: %s", diff)
		}
		age := db.Copy(t, "SELECT abs(extract(epoch FROM now() - '"+got.Taken.Format(time.RFC3339Nano)+"')) < 60")
		if got.Encoding != "UTF8" || got.LedgerSchema != "tidemark" || got.LSN == "" || got.Collation == "" || age != "t\n" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OfATargetWithoutALifeSaysSo", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		db.Migrate(t)
		if diff := cmp.Diff(backup.Life{State: "new"}, held(t, db).Content().Life); diff != "" {
			t.Errorf("want, got: %s", diff)
		}
	})
	t.Run("HasTheLedgersTablesToo", func(t *testing.T) {
		t.Parallel()
		var got []string
		for _, of := range held(t, postgrestest.Live(t, "")).Content().Tables {
			got = append(got, of.Name.Name)
		}
		for _, want := range []string{"target", "checkpoint", "gap", "audit", "schema_version"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s is not among %q", want, got)
			}
		}
	})
	t.Run("NamesWhatDoesNotComeBack", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, `CREATE TYPE pair AS (a integer, r regclass); CREATE TYPE right_of AS (a aclitem);
			CREATE TABLE numbered (id integer PRIMARY KEY, p pair[]); CREATE DOMAIN rights AS right_of;
			CREATE TABLE formless (id integer PRIMARY KEY, r rights); CREATE TABLE plain (id integer PRIMARY KEY, r int4range[]);
			CREATE FOREIGN DATA WRAPPER far; CREATE SERVER far FOREIGN DATA WRAPPER far; CREATE FOREIGN TABLE away (a integer) SERVER far;
			CREATE MATERIALIZED VIEW seen AS SELECT 1; CREATE TEMPORARY TABLE brief (a integer)`)
		s := held(t, db)
		for _, want := range []string{
			"rows of public.formless: column r is of type public.rights, which has no binary form",
			"rows of public.numbered: column p is of type public.pair[], which holds numbers of this database", "foreign table public.away",
		} {
			if !slices.Contains(s.Content().Uncaptured, want) {
				t.Errorf("%q is not among %q", want, s.Content().Uncaptured)
			}
		}
		if diff := cmp.Diff([]string{"public.numbered", "public.plain"}, names(s)); diff != "" {
			t.Errorf("tables, want, got: %s", diff)
		}
	})
	t.Run("OrdersByKeyWhatIsSmallOrLiesInOrder", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, `CREATE TABLE small (id integer PRIMARY KEY); INSERT INTO small SELECT i FROM generate_series(1, 999) AS s (i) ORDER BY -i % 7;
			CREATE TABLE mixed (a integer NOT NULL, b integer NOT NULL); CREATE UNIQUE INDEX ON mixed (a DESC, b);
			CREATE TABLE back (a integer NOT NULL, b integer NOT NULL); CREATE UNIQUE INDEX ON back (a DESC, b DESC);
			CREATE TABLE pattern (a text NOT NULL); CREATE UNIQUE INDEX ON pattern (a text_pattern_ops);
			CREATE TABLE keyless (a integer); ANALYZE`)
		s, got := held(t, db), map[string]bool{}
		for _, of := range s.Content().Tables {
			if of.Schema == "public" {
				got[of.Name.Name] = of.Ordered
			}
		}
		want := map[string]bool{"small": true, "mixed": false, "back": true, "pattern": false, "keyless": false}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want, got: %s", diff)
		}
	})
}

// TestTables is about tables of every kind.
func TestTables(t *testing.T) {
	t.Parallel()
	var wide []string
	for i := range 1600 {
		wide = append(wide, fmt.Sprintf("c%d smallint", i))
	}
	db := postgrestest.Live(t, `CREATE TABLE parted (id integer, v text) PARTITION BY RANGE (id);
		CREATE TABLE part_a PARTITION OF parted FOR VALUES FROM (0) TO (10); CREATE TABLE part_b PARTITION OF parted DEFAULT;
		INSERT INTO parted SELECT i, 'p' FROM generate_series(0, 29) AS s (i);
		CREATE TABLE parent (id integer PRIMARY KEY); CREATE TABLE child (w integer) INHERITS (parent);
		INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (3, 3);
		CREATE UNLOGGED TABLE unlogged (id integer PRIMARY KEY); INSERT INTO unlogged VALUES (1);
		CREATE TABLE bare (); INSERT INTO bare DEFAULT VALUES; INSERT INTO bare DEFAULT VALUES;
		CREATE TABLE made (a integer GENERATED ALWAYS AS (1) STORED); INSERT INTO made DEFAULT VALUES;
		CREATE TABLE fewer (a integer, gone text, id integer PRIMARY KEY, double integer GENERATED ALWAYS AS (id * 2) STORED);
		INSERT INTO fewer VALUES (1, 'gone', 2); ALTER TABLE fewer DROP gone;
		CREATE TABLE "a ""quoted"" 'na''me' 🐘 \" ("co""l 🐘" text PRIMARY KEY); INSERT INTO "a ""quoted"" 'na''me' 🐘 \" VALUES ('x''\');
		CREATE SCHEMA "S p.a"; CREATE TABLE "S p.a"."T.t" (id integer PRIMARY KEY); INSERT INTO "S p.a"."T.t" VALUES (1);
		CREATE TABLE wide (`+strings.Join(wide, ", ")+`); INSERT INTO wide (c1599) VALUES (7);
		CREATE TABLE none (id integer PRIMARY KEY); CREATE EXTENSION citext;
		CREATE TABLE folded (k citext PRIMARY KEY); INSERT INTO folded VALUES ('B'), ('a'), ('C')`)
	s := held(t, db)
	r, got := joined(t, s), map[string]string{}
	for _, of := range s.Content().Tables {
		if of.Schema == postgrestest.Schema {
			continue
		}
		rows := copied(t, r, of, backup.Range{})
		if n, err := r.Count(t.Context(), of); int(n) != len(rows) || err != nil {
			t.Errorf("%s: %d rows of %d, error %v", of, len(rows), n, err)
		}
		fields := 0
		if len(rows) > 0 {
			fields = len(rows[0])
		}
		got[of.String()] = fmt.Sprintf("%d of %d", len(rows), fields)
		if _, err := r.Split(t.Context(), of, 4); err != nil && len(of.Key) > 0 {
			t.Errorf("%s: split: %v", of, err)
		}
	}
	want := map[string]string{
		"public.part_a": "10 of 2", "public.part_b": "20 of 2", "public.parent": "2 of 1", "public.child": "1 of 2",
		"public.unlogged": "1 of 1", "public.bare": "2 of 0", "public.made": "1 of 0", "public.fewer": "1 of 2",
		`public.a "quoted" 'na''me' 🐘 \`: "1 of 1", "S p.a.T.t": "1 of 1", "public.wide": "1 of 1600", "public.none": "0 of 0",
		"public.folded": "3 of 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows and fields of tables, want, got: %s", diff)
	}
	key, err := r.KeyAt(t.Context(), table(t, s, "folded"), backup.Range{From: []string{"A"}, Until: []string{"c"}}, 1)
	if diff := cmp.Diff([]string{"B"}, key); diff != "" || err != nil {
		t.Errorf("%v, want, got: %s", err, diff)
	}
}

// TestRefusal is about databases that cannot be read as a whole, and calls that make no sense.
func TestRefusal(t *testing.T) {
	t.Parallel()
	// reading takes a snapshot as a role that may read all but what ddl keeps from it.
	reading := func(t *testing.T, ddl string) error {
		t.Helper()
		db := postgrestest.Live(t, "")
		role := strings.TrimSpace(db.Copy(t, "SELECT current_database()")) + "_role"
		db.Exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA tidemark TO "+role+
			"; GRANT SELECT ON ALL TABLES IN SCHEMA tidemark TO "+role+"; GRANT SELECT ON ALL SEQUENCES IN SCHEMA tidemark TO "+role+";"+
			strings.ReplaceAll(ddl, "ROLE", role))
		t.Cleanup(func() {
			_, err := db.Conn.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role)
			if err != nil {
				t.Errorf("drop the role: %v", err)
			}
		})
		address := config(t, db)
		address.User, address.Password = role, "secret"
		s, err := snapshot.New(address, snapshot.Options{}).Snapshot(t.Context())
		if err == nil {
			closeAtEnd(t, s)
		}
		return err
	}
	tests := []struct{ name, ddl, says, hint string }{
		{
			"OfATableThatMayNotBeRead", `CREATE TABLE "no Way" (id integer); CREATE TABLE yes (id integer); GRANT SELECT ON yes TO ROLE`,
			`"public"."no Way"`, `GRANT SELECT ON TABLE "public"."no Way" TO`,
		},
		{
			"OfASchemaThatMayNotBeUsed", `CREATE SCHEMA far; CREATE TABLE far.t (id integer); GRANT SELECT ON far.t TO ROLE`,
			`"far"."t"`, "GRANT USAGE",
		},
		{
			"OfRowsThatAPolicyHides", `CREATE TABLE t (id integer); GRANT SELECT ON t TO ROLE; ALTER TABLE t ENABLE ROW LEVEL SECURITY;
			  CREATE POLICY p ON t USING (id > 1)`, `row security hides rows of "public"."t"`, "BYPASSRLS",
		},
		{
			"OfRowsThatAPolicyHidesFromTheirOwner", `CREATE TABLE t (id integer); ALTER TABLE t OWNER TO ROLE;
			  ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY`, `row security`, "BYPASSRLS",
		},
		{"OfASequenceThatMayNotBeRead", "CREATE SEQUENCE s", "", "grant"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := reading(t, test.ddl)
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), test.says) ||
				!strings.Contains(fault.HintOf(err), test.hint) {
				t.Errorf("got %v of class %s, hint %q, want misconfigured", err, fault.ClassOf(err), fault.HintOf(err))
			}
		})
	}
	t.Run("OfNothingWhereARoleReadsAll", func(t *testing.T) {
		t.Parallel()
		err := reading(t, `CREATE TABLE t (id integer); ALTER TABLE t OWNER TO ROLE; ALTER TABLE t ENABLE ROW LEVEL SECURITY;
			CREATE TABLE u (id integer); GRANT SELECT ON u TO ROLE`)
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("OfADatabaseWithoutALedger", func(t *testing.T) {
		t.Parallel()
		_, err := source(t, postgrestest.Empty(t)).Snapshot(t.Context())
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "tidemark migrate") {
			t.Errorf("got %v of class %s, hint %q, want misconfigured", err, fault.ClassOf(err), fault.HintOf(err))
		}
	})
	t.Run("OfBoundsThatFitNoKey", func(t *testing.T) {
		t.Parallel()
		s := held(t, postgrestest.Live(t, "CREATE TABLE item (id integer PRIMARY KEY, v text); CREATE TABLE keyless (v text)"))
		r, of := joined(t, s), table(t, s, "item")
		other := of
		other.Key = []string{"v"}
		for _, test := range []struct {
			of    backup.Table
			part  backup.Range
			class fault.Class
		}{
			{of, backup.Range{From: []string{"1", "2"}}, fault.Bug},
			{of, backup.Range{Until: []string{}}, fault.Bug},
			{of, backup.Range{Until: []string{"1\x00"}}, fault.Bug},
			{of, backup.Range{FirstPage: -1}, fault.Bug},
			{of, backup.Range{Until: []string{"no number"}}, fault.Misconfigured},
			{of, backup.Range{Until: []string{"1'); SELECT '"}}, fault.Misconfigured},
			{table(t, s, "keyless"), backup.Range{From: []string{"1"}}, fault.Bug},
			{other, backup.Range{}, fault.Bug},
			{backup.Table{Table: body.Table{Name: body.Name{Schema: "public", Name: "unheard"}}}, backup.Range{}, fault.Bug},
		} {
			_, err := r.Copy(t.Context(), test.of, test.part, &bytes.Buffer{})
			if !fault.Is(err, test.class) {
				t.Errorf("%s, %+v: got %v of class %s, want %s", test.of, test.part, err, fault.ClassOf(err), test.class)
			}
			if stateOf(err) != "" {
				r = joined(t, s) // the server ended the transaction
			}
		}
		if _, err := r.KeyAt(t.Context(), of, backup.Range{}, 0); !fault.Is(err, fault.Bug) {
			t.Errorf("the key of no row: got %v", err)
		}
		if _, err := r.KeyAt(t.Context(), table(t, s, "keyless"), backup.Range{}, 0); !fault.Is(err, fault.Bug) {
			t.Errorf("the key of no key: got %v", err)
		}
		if _, err := r.Split(t.Context(), table(t, s, "keyless"), 3); !fault.Is(err, fault.Bug) {
			t.Errorf("bounds of no key: got %v", err)
		}
	})
	t.Run("OfAWriterStaysTheWriters", func(t *testing.T) {
		t.Parallel()
		s := held(t, postgrestest.Live(t, "CREATE TABLE item (id integer PRIMARY KEY); INSERT INTO item VALUES (1)"))
		full := fault.New(fault.Misconfigured, "the store is full")
		_, err := joined(t, s).Copy(t.Context(), table(t, s, "item"), backup.Range{}, refusing{full})
		if !errors.Is(err, full) || !fault.Is(err, fault.Misconfigured) {
			t.Errorf("got %v of class %s, want the writer's error", err, fault.ClassOf(err))
		}
	})
}

type refusing struct{ err error }

func (w refusing) Write([]byte) (int, error) { return 0, w.err }
