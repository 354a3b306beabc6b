package restore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/recovery"
)

// existingBase is a base whose try loads into tables that are there.
func existingBase(tb testing.TB, db *postgrestest.Database, rowsInChunk int) recovery.Base {
	tb.Helper()
	base, _ := baseOf(tb, db, rowsInChunk)
	base.Try.Existing = true
	return base
}

// migrated is a database whose tables the user's migrations made.
func migrated(tb testing.TB, options restore.Options, ddl string) (*postgrestest.Database, *restore.Database) {
	tb.Helper()
	db, d := target(tb, options)
	db.Exec(tb, ddl)
	db.Exec(tb, "RESET ALL")
	return db, d
}

func claimedFor(tb testing.TB, d *restore.Database, base recovery.Base) {
	tb.Helper()
	if err := d.Claim(tb.Context(), base.Try); err != nil {
		tb.Fatalf("claim: %v", err)
	}
}

func richTables(tb testing.TB) string {
	tb.Helper()
	content, err := os.ReadFile(filepath.Clean("../capture/testdata/rich.sql"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// TestExisting: a base comes into the tables that migrations made, with everything that a database may have standing in the way,
// and the database is then the one that was backed up, but for what the migrations have made otherwise.
func TestExisting(t *testing.T) {
	t.Parallel()
	original := rich(t)
	want := read(t, original)
	base := existingBase(t, original, 7)
	copied, d := migrated(t, restore.Options{}, richTables(t)+`; CREATE TABLE shop.extra (id integer);
		ALTER TABLE shop.customer DROP CONSTRAINT maybe; -- there is a row that breaks it, which was there before
		DROP INDEX shop.customer_lower; DROP VIEW public.grouped CASCADE; ALTER TABLE shop.no_key ADD more integer DEFAULT 7`)
	d.LoadWholeUpTo(2000)
	if _, err := d.Look(t.Context()); !errors.Is(err, recovery.ErrOnlyTables) {
		t.Fatalf("look: %v, want tables alone", err)
	}
	warnings, err := d.Fits(t.Context(), base.Body)
	told := []string{
		"check shop.maybe of shop.customer is in the base and not there", "function shop.of_grouped() is in the base and not there",
		"index shop.customer_lower of shop.customer is in the base and not there",
		"table shop.extra is not in the base and stays empty", "view public.grouped is in the base and not there",
	}
	if diff := cmp.Diff(told, warnings); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	claimedFor(t, d, base)
	if got := restored(t, d, base); got.Rows == 0 {
		t.Errorf("%+v, want rows", got)
	}
	if got := copied.Copy(t, "SELECT more FROM shop.no_key"); got != "7\n7\n" {
		t.Errorf("the column that the base does not know: %q", got)
	}
	copied.Exec(t, "ALTER TABLE shop.no_key DROP more")
	sameRows(t, original, copied)
	if again := restored(t, d, base); again.Rows != 0 {
		t.Errorf("%+v, want no rows again", again)
	}
	settledFor(t, d, base)
	copied.Exec(t, `DROP TABLE shop.extra; ALTER TABLE shop.customer ADD CONSTRAINT maybe CHECK (age < 200) NOT VALID; `+viewsAgain)
	sameSchema(t, want, copied, raisedSequences()...)
}

// viewsAgain is what the test has taken out of the migrations.
const viewsAgain = `
	CREATE INDEX customer_lower ON shop.customer (lower(name) COLLATE "C" DESC NULLS LAST, shop.twice(age)) INCLUDE (mood)
		WITH (fillfactor = 50) WHERE mood <> 'sad';
	ALTER INDEX shop.customer_lower ALTER COLUMN 1 SET STATISTICS 77;
	COMMENT ON INDEX shop.customer_lower IS 'an expression';
	CREATE VIEW public.grouped AS SELECT c.id, c.name, count(*) FROM shop.customer AS c JOIN shop.a ON a.b = c.id GROUP BY c.id;
	CREATE FUNCTION shop.of_grouped() RETURNS SETOF public.grouped LANGUAGE sql BEGIN ATOMIC SELECT * FROM public.grouped; END`

func settledFor(tb testing.TB, d *restore.Database, base recovery.Base) {
	tb.Helper()
	if err := d.Settle(tb.Context(), recovery.Settlement{Try: base.Try, State: apply.StateLive}); err != nil {
		tb.Fatalf("settle: %v", err)
	}
}

// acting is a small shop in which everything acts on rows.
const acting = `
	CREATE TYPE mood AS ENUM ('sad', 'ok');
	CREATE TABLE parent (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, m mood, twice integer GENERATED ALWAYS AS (id * 2) STORED);
	CREATE TABLE child (id integer PRIMARY KEY, parent integer NOT NULL REFERENCES parent, again integer REFERENCES child DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE "it's ""🐘""" (id integer, parent integer REFERENCES parent) PARTITION BY HASH (id);
	CREATE TABLE part_0 PARTITION OF "it's ""🐘""" FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE part_1 PARTITION OF "it's ""🐘""" FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE log (what text);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO public.log VALUES (TG_TABLE_NAME || TG_NAME); RETURN NEW; END$$;
	CREATE TRIGGER a BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION note();
	CREATE TRIGGER b AFTER INSERT ON parent FOR EACH STATEMENT EXECUTE FUNCTION note(); ALTER TABLE parent ENABLE ALWAYS TRIGGER b;
	CREATE TRIGGER c AFTER INSERT ON child FOR EACH ROW EXECUTE FUNCTION note(); ALTER TABLE child ENABLE REPLICA TRIGGER c;
	CREATE CONSTRAINT TRIGGER d AFTER INSERT ON child DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
	CREATE TRIGGER e AFTER INSERT ON "it's ""🐘""" FOR EACH ROW EXECUTE FUNCTION note(); ALTER TABLE part_1 ENABLE ALWAYS TRIGGER e;
	CREATE INDEX by_parent ON child (parent);`

const acted = `
	INSERT INTO parent (m) SELECT 'ok' FROM generate_series(1, 50);
	INSERT INTO child SELECT g, 51 - g, nullif(51 - g, g) FROM generate_series(1, 50) AS g;
	INSERT INTO "it's ""🐘""" SELECT g, g FROM generate_series(1, 50) AS g;`

// limited is the address of a database as a role that owns it and may not act as a replica.
func limited(tb testing.TB, db *postgrestest.Database) string {
	tb.Helper()
	role := "tm_owner_" + strings.ReplaceAll(db.Conn.Config().Database, "-", "_")
	db.Exec(tb, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'; ALTER DATABASE "+db.Conn.Config().Database+" OWNER TO "+role+
		"; ALTER SCHEMA public OWNER TO "+role)
	tb.Cleanup(func() {
		_, _ = db.Conn.Exec(context.WithoutCancel(tb.Context()), "REASSIGN OWNED BY "+role+" TO CURRENT_USER")
		_, _ = db.Conn.Exec(context.WithoutCancel(tb.Context()), "DROP ROLE "+role)
	})
	return role
}

// TestExistingKilled: whatever a call is killed at, the same call goes on; nothing has acted on the rows that came in, and
// everything acts on those that come afterwards.
func TestExistingKilled(t *testing.T) {
	t.Parallel()
	for name, owner := range map[string]bool{"AsAReplica": false, "AsTheOwner": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original := postgrestest.Live(t, acting+acted)
			original.Exec(t, "TRUNCATE log")
			fillLedger(t, original)
			want := read(t, original)
			base := existingBase(t, original, 100)
			k := &killer{every: 2, met: map[string]bool{}, how: func(ctx context.Context, _ uint32) error { return ctx.Err() }}
			reached := func(ctx context.Context, at claim.Moment) error {
				if strings.HasPrefix(at.Step, "definition") { // of the ledger: TestKilled
					return nil
				}
				return k.reached(ctx, at)
			}
			copied, d := migratedBy(t, restore.Options{Reached: reached, LockTimeout: patience}, owner)
			k.until(t, true, func(ctx context.Context) error { return d.Claim(ctx, base.Try) }, func() {})
			k.until(t, true, func(ctx context.Context) error { _, err := d.Restore(ctx, base); return err }, func() {
				if got := life(t, copied); got != restoringLife {
					t.Fatalf("life %q, want %q", got, restoringLife)
				}
			})
			sameRows(t, original, copied)
			if got := copied.Copy(t, "SELECT * FROM log"); got != "" {
				t.Errorf("acted on what came back: %q", got)
			}
			settledFor(t, d, base)
			if !owner {
				sameSchema(t, want, copied, raisedSequences()...)
			}
			original.Exec(t, later)
			copied.Exec(t, later)
			if diff := cmp.Diff(original.Copy(t, "SELECT * FROM log ORDER BY 1"), copied.Copy(t, "SELECT * FROM log ORDER BY 1")); diff != "" {
				t.Errorf("acts otherwise (-original +restored):\n%s", diff)
			}
			if k.strikes < 8 {
				t.Errorf("struck %d times", k.strikes)
			}
		})
	}
}

const later = `INSERT INTO parent (m) VALUES ('sad'); INSERT INTO child VALUES (51, 51, 51); INSERT INTO "it's ""🐘""" SELECT g, 1 FROM generate_series(60, 70) AS g;
	SET session_replication_role = replica; INSERT INTO parent (m) VALUES ('sad'); INSERT INTO child VALUES (52, 52, 52);
	INSERT INTO "it's ""🐘""" SELECT g, 1 FROM generate_series(71, 80) AS g; RESET session_replication_role`

// migratedBy is a database with the acting shop, of the role that tests have or of one that owns it and may do nothing else.
func migratedBy(tb testing.TB, options restore.Options, owner bool) (*postgrestest.Database, *restore.Database) {
	tb.Helper()
	db := postgrestest.Empty(tb)
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		tb.Fatal(err)
	}
	if owner {
		config.User, config.Password = limited(tb, db), "x"
		db.Exec(tb, "SET SESSION AUTHORIZATION "+config.User+";"+acting+"; RESET SESSION AUTHORIZATION")
	} else {
		db.Exec(tb, acting)
	}
	return db, restore.New(config, options)
}

// TestExistingRefuses: what does not fit is named, all of it, before anything is written.
func TestExistingRefuses(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, acting+acted+"CREATE DOMAIN d AS integer; CREATE TABLE u (d d, r parent, v varchar(10)); INSERT INTO u VALUES (1, NULL, 'x')")
	base := existingBase(t, original, 100)
	const rest = "; CREATE DOMAIN d AS integer; CREATE TABLE u (d d, r parent, v varchar(10));"
	tests := []struct {
		name, ddl string
		says      []string
	}{
		{"TheColumnsOfEveryTable", strings.NewReplacer("'sad', 'ok'", "'ok', 'sad'", "(what text)", "(what integer, must integer NOT NULL)",
			"twice integer GENERATED ALWAYS AS (id * 2) STORED", "twice integer").Replace(acting) +
			"; CREATE DOMAIN d AS bigint; CREATE VIEW u AS SELECT 1 AS d; DROP TABLE child", []string{
			"table public.child is not there", "public.u is there and is no table", "enum public.mood is another one",
			"column what of table public.log is of type integer, in the base of type text", "column must of table public.log is not in the base",
			"column twice of table public.parent is generated in the base",
		}},
		{"TypesThatAreWrittenOtherwise", strings.Replace(acting, "m mood, twice", "more integer, m mood, twice", 1) +
			"; CREATE DOMAIN d AS bigint; CREATE TABLE u (d d, r parent, v varchar(11), id integer GENERATED ALWAYS AS (1) STORED)", []string{
			"domain public.d is another one", "the rows of table public.parent", "column v of table public.u is of type character varying(11)",
		}},
		{"RulesThatNobodyWouldCheck", acting + rest + "ALTER TABLE u ADD UNIQUE (v) DEFERRABLE; ALTER TABLE child ADD CONSTRAINT other FOREIGN KEY (id) REFERENCES child", []string{
			"unique u_v_key of table public.u is not the base's", "foreign key other of table public.child is not the base's",
		}},
		{"AnEmptyDatabase", "", []string{"table public.parent is not there", "table public.log is not there"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, d := migrated(t, restore.Options{}, test.ddl)
			_, err := d.Fits(t.Context(), base.Body)
			refusedAs(t, err, fault.Misconfigured, test.says...)
			if !errors.Is(err, recovery.ErrMisfit) {
				t.Errorf("got %v, want ErrMisfit", err)
			}
			claimedFor(t, d, base)
			_, err = d.Restore(t.Context(), base) // the tables may change behind the plan
			refusedAs(t, err, fault.Misconfigured, test.says...)
		})
	}
	for name, ddl := range map[string]string{
		"ALedger": acting + rest + "CREATE SCHEMA tidemark", "LargeObjects": acting + "; SELECT lo_create(7)",
		"Rows": acting + rest + "INSERT INTO log VALUES ('x')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, d := migrated(t, restore.Options{}, ddl)
			err := d.Claim(t.Context(), base.Try)
			refusedAs(t, err, fault.Misconfigured, "not empty")
			if errors.Is(err, recovery.ErrOnlyTables) || !errors.Is(err, recovery.ErrNotEmpty) {
				t.Errorf("got %v, want it not empty", err)
			}
		})
	}
	t.Run("RowsThatCameMeanwhile", func(t *testing.T) {
		t.Parallel()
		db, d := migrated(t, restore.Options{}, acting+rest)
		claimedFor(t, d, base)
		db.Exec(t, "INSERT INTO log VALUES ('x')")
		_, err := d.Restore(t.Context(), base)
		refusedAs(t, err, fault.Misconfigured, "table public.log has rows")
		db.Exec(t, "TRUNCATE log")
		restored(t, d, base)
	})
	t.Run("RowsThatARuleOfTheirsForbids", func(t *testing.T) {
		t.Parallel()
		db, d := migrated(t, restore.Options{}, acting+rest+"ALTER TABLE u ADD CONSTRAINT mine CHECK (v <> 'x')")
		claimedFor(t, d, base)
		_, err := d.Restore(t.Context(), base)
		refusedAs(t, err, fault.Misconfigured, "public.u", "mine")
		db.Exec(t, "ALTER TABLE u DROP CONSTRAINT mine")
		restored(t, d, base)
	})
	t.Run("TablesThatPointToEachOtherWithoutAReplicasRight", func(t *testing.T) {
		t.Parallel()
		base := existingBase(t, postgrestest.Live(t, acting+acted), 20)
		_, d := migratedBy(t, restore.Options{}, true)
		_, err := d.Fits(t.Context(), base.Body)
		refusedAs(t, err, fault.Misconfigured, "table public.child points to itself and comes in 3 parts", "session_replication_role")
	})
}

// TestExistingSequences: those that are there stand where the base says, others are told.
func TestExistingSequences(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, "CREATE TABLE t (id serial PRIMARY KEY, n integer); CREATE SEQUENCE alone; SELECT setval('alone', 9); INSERT INTO t (n) VALUES (1), (2)")
	base := existingBase(t, original, 10)
	copied, d := migrated(t, restore.Options{}, "CREATE TABLE t (id integer GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME other) PRIMARY KEY, n integer) "+
		"; CREATE SEQUENCE alone")
	claimedFor(t, d, base)
	got := restored(t, d, base)
	if !slices.ContainsFunc(got.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "sequence public.t_id_seq is in the base and not there")
	}) {
		t.Errorf("warnings %q", got.Warnings)
	}
	settledFor(t, d, base)
	if got := copied.Copy(t, "SELECT (SELECT last_value FROM alone), (SELECT last_value FROM other)"); got != "9\t2\n" {
		t.Errorf("the sequences stand at %q", got)
	}
}
