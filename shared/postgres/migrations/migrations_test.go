package migrations_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/migrations"
	"tidemark/shared/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

func config(t *testing.T, address string) *pgx.ConnConfig {
	t.Helper()
	parsed, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatalf("parse the test's address: %v", err)
	}
	return parsed
}

// awaitWaiters returns when so many sessions of the database wait for a lock.
func awaitWaiters(t *testing.T, watch *pgx.Conn, sessions int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waiting := 0; waiting < sessions; <-tick.C {
		err := watch.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"+
			" AND wait_event_type = 'Lock'").Scan(&waiting)
		if err != nil {
			t.Fatalf("wait for %d sessions that wait: %v", sessions, err)
		}
	}
}

// objects lists what the schema of a ledger holds, down to the bodies of its functions, with the schema's name left out.
func objects(t *testing.T, db *postgrestest.Database, schema string) string {
	t.Helper()
	quoted := "'" + schema + "'"
	text := db.Copy(t, "SELECT table_name, ordinal_position, column_name, data_type, collation_name, is_nullable, column_default"+
		" FROM information_schema.columns WHERE table_schema = "+quoted+" ORDER BY 1, 2") +
		db.Copy(t, "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = "+quoted+"::regnamespace ORDER BY proname") +
		db.Copy(t, "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = "+
			quoted+"::regnamespace ORDER BY 1, 2") +
		db.Copy(t, "SELECT indexdef FROM pg_indexes WHERE schemaname = "+quoted+" ORDER BY indexname")
	return strings.ReplaceAll(text, schema, "SCHEMA")
}

func TestUp(t *testing.T) {
	t.Parallel()
	t.Run("ChangesNothingTheSecondTime", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		first, err := migrations.Up(t.Context(), config(t, db.URL), "tidemark")
		if err != nil || first.From != 0 || first.To != ledger.MaxVersion || len(first.Applied) != ledger.MaxVersion {
			t.Fatalf("got %+v and error %v, want all versions", first, err)
		}
		before := objects(t, db, "tidemark")
		second, err := migrations.Up(t.Context(), config(t, db.URL), "tidemark")
		want := migrations.Result{From: ledger.MaxVersion, To: ledger.MaxVersion}
		if diff := cmp.Diff(want, second); diff != "" || err != nil {
			t.Errorf("error %v, result (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff(before, objects(t, db, "tidemark")); diff != "" {
			t.Errorf("objects (-first +second):\n%s", diff)
		}
	})
	// All of them find no schema and wait behind one that is being made and then is not: each is past the question whether
	// it is there.
	t.Run("MakesOneLedgerForManyAtOnce", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		watch, err := pgx.Connect(t.Context(), db.URL)
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer func() { _ = watch.Close(t.Context()) }() // the database is dropped with its sessions
		db.Exec(t, "BEGIN; CREATE SCHEMA tidemark")
		results := make(chan migrations.Result, 3)
		for range cap(results) {
			own := config(t, db.URL)
			go func() {
				result, err := migrations.Up(t.Context(), own, "tidemark")
				if err != nil {
					t.Errorf("up beside another: %s", fault.Line(err))
				}
				results <- result
			}()
		}
		awaitWaiters(t, watch, cap(results))
		db.Exec(t, "ROLLBACK")
		applied := 0
		for range cap(results) {
			applied += len((<-results).Applied)
		}
		if applied != ledger.MaxVersion {
			t.Errorf("%d versions were applied, want each of %d once", applied, ledger.MaxVersion)
		}
		if got := db.Copy(t, "SELECT count(*) FROM tidemark.target"); got != "1\n" {
			t.Errorf("target rows: got %q, want 1", got)
		}
	})
	t.Run("RefusesNamesOfASchemaThatWantQuoting", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		for _, name := range []string{"", "Tide", "1tide", "a-b", "a b", `a"b`, "a.b", "é", strings.Repeat("a", 64), "tidemark\n"} {
			_, err := migrations.Up(t.Context(), config(t, db.URL), name)
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "TIDEMARK_LEDGER_SCHEMA") {
				t.Errorf("%q: got %v, want misconfigured with a hint", name, err)
			}
		}
		if got := db.Copy(t, "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_|^information|^public'"); got != "" {
			t.Errorf("schemas were made: %q", got)
		}
	})
	t.Run("PutsEverythingIntoTheNamedSchema", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		for _, schema := range []string{"tidemark", "other_1", strings.Repeat("z", 63)} {
			if _, err := migrations.Up(t.Context(), config(t, db.URL), schema); err != nil {
				t.Fatalf("%s: %v", schema, err)
			}
		}
		if diff := cmp.Diff(objects(t, db, "tidemark"), objects(t, db, "other_1")); diff != "" {
			t.Errorf("objects (-tidemark +other_1):\n%s", diff)
		}
		if got := db.Copy(t, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"); got != "0\n" {
			t.Errorf("objects in public: %q", got)
		}
	})
	t.Run("RefusesANewerLedger", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		db.Migrate(t)
		db.Exec(t, "INSERT INTO tidemark.schema_version (version_id, is_applied) VALUES (99, true)")
		before := objects(t, db, "tidemark")
		result, err := migrations.Up(t.Context(), config(t, db.URL), "tidemark")
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "newer tidemark") || len(result.Applied) > 0 {
			t.Errorf("got %+v and %v, want misconfigured", result, err)
		}
		if diff := cmp.Diff(before, objects(t, db, "tidemark")); diff != "" {
			t.Errorf("objects (-before +after):\n%s", diff)
		}
	})
	t.Run("NamesMissingRights", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		address, err := url.Parse(db.URL)
		if err != nil {
			t.Fatalf("parse the test's address: %v", err)
		}
		role := "poor" + strings.TrimPrefix(address.Path, "/tidemark_test")
		db.Exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 's3cr3t'")
		defer db.Exec(t, "DROP ROLE "+role)
		address.User = url.UserPassword(role, "s3cr3t")
		_, err = migrations.Up(t.Context(), config(t, address.String()), "tidemark")
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.Line(err), "42501") {
			t.Errorf("got %v (%s), want misconfigured by 42501", err, fault.ClassOf(err))
		}
		if strings.Contains(fault.Line(err), "s3cr3t") {
			t.Errorf("the password shows in %q", fault.Line(err))
		}
	})
	t.Run("IsRetryableWhenTheDatabaseIsAway", func(t *testing.T) {
		t.Parallel()
		_, err := migrations.Up(t.Context(), config(t, "postgres://u:s3cr3t@127.0.0.1:1/db?sslmode=disable"), "tidemark")
		if !fault.Is(err, fault.Retryable) || strings.Contains(fault.Line(err), "s3cr3t") {
			t.Errorf("got %q (%s), want retryable and no password", fault.Line(err), fault.ClassOf(err))
		}
	})
}

// TestUpFromAnOlderRelease takes each older version up: the objects are those of a new ledger, and rows stay.
func TestUpFromAnOlderRelease(t *testing.T) {
	t.Parallel()
	for version := int64(1); version < ledger.MaxVersion; version++ {
		db := postgrestest.Live(t, "")
		whole, life := objects(t, db, "tidemark"), db.Copy(t, "SELECT * FROM tidemark.target")
		if _, err := provide(t, stdlib.OpenDB(*config(t, db.URL))).DownTo(t.Context(), version); err != nil {
			t.Fatalf("down to %d: %v", version, err)
		}
		result, err := migrations.Up(t.Context(), config(t, db.URL), "tidemark")
		if err != nil || result.From != version || result.To != ledger.MaxVersion {
			t.Fatalf("up from %d: %+v, %v", version, result, err)
		}
		if diff := cmp.Diff(whole, objects(t, db, "tidemark")); diff != "" {
			t.Errorf("objects from %d (-new +upgraded):\n%s", version, diff)
		}
		if got := db.Copy(t, "SELECT * FROM tidemark.target"); got != life {
			t.Errorf("from %d: the life is %q, was %q", version, got, life)
		}
	}
}

// TestDown goes back to nothing and up again, through the migrations' own Down parts.
func TestDown(t *testing.T) {
	t.Parallel()
	db := postgrestest.Empty(t)
	db.Migrate(t)
	whole := objects(t, db, "tidemark")
	provider := provide(t, stdlib.OpenDB(*config(t, db.URL)))
	if _, err := provider.DownTo(t.Context(), 0); err != nil {
		t.Fatalf("down: %v", err)
	}
	left := db.Copy(t, "SELECT relname FROM pg_class WHERE relnamespace = 'tidemark'::regnamespace AND relkind = 'r'") +
		db.Copy(t, "SELECT proname FROM pg_proc WHERE pronamespace = 'tidemark'::regnamespace")
	if left != migrations.VersionTable+"\n" {
		t.Errorf("left behind: %q, want the versions alone", left)
	}
	result, err := migrations.Up(t.Context(), config(t, db.URL), "tidemark")
	if err != nil || result.From != 0 || result.To != ledger.MaxVersion {
		t.Fatalf("up again: %+v, %v", result, err)
	}
	if diff := cmp.Diff(whole, objects(t, db, "tidemark")); diff != "" {
		t.Errorf("objects (-first +again):\n%s", diff)
	}
}

// provide reads the migrations as they lie on disk.
func provide(t *testing.T, db *sql.DB) *goose.Provider {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	files := fstest.MapFS{}
	entries, err := os.ReadDir("sql")
	if err != nil {
		t.Fatalf("read the migrations: %v", err)
	}
	for _, e := range entries {
		text, err := os.ReadFile("sql/" + e.Name())
		if err != nil {
			t.Fatalf("read a migration: %v", err)
		}
		files[e.Name()] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(text), "{{schema}}", "tidemark"))}
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName("tidemark."+migrations.VersionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatalf("provide: %v", err)
	}
	return provider
}
