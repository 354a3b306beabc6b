package scratch_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/scratch"
)

func addressOf(t *testing.T, db *postgrestest.Database) *pgx.ConnConfig {
	t.Helper()
	at, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestCreate(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), postgrestest.Empty(t)
	at := addressOf(t, db)
	name := scratch.Name(strings.ReplaceAll(at.Database, "_", "-"))
	own := scratch.At(at)
	if err := own.Create(ctx, name); err != nil {
		t.Fatal(fault.Line(err))
	}
	const facts = "SELECT count(*), count(DISTINCT (encoding, datcollate, datctype)) FROM pg_database WHERE datname IN (current_database(), '"
	if got := db.Copy(t, facts+name+"')"); got != "2\t1\n" {
		t.Errorf("got %q, want two databases that are alike", got)
	}
	other := at.Copy()
	other.Database = name
	one, err := own.Identify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	two, err := scratch.At(other).Identify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again, err := own.Identify(ctx)
	if err != nil || one.System == "" || one.Is(two) || !one.Is(again) {
		t.Errorf("got %+v and %+v, want them told apart (%v)", one, two, err)
	}
	again.System = ""
	if !one.Is(again) {
		t.Error("a role that may not ask for the cluster is not told that both are one")
	}
	if err := own.Drop(ctx, at.Database); !fault.Is(err, fault.Bug) {
		t.Errorf("got %v, want a refusal to drop what was not made here", err)
	}
	for range 2 {
		if err := own.Drop(ctx, name); err != nil {
			t.Error(err)
		}
	}
	if scratch.At(other).HasAddressOf(own) || !scratch.At(at).HasAddressOf(own) || own.Name() != at.Database {
		t.Error("addresses are not told apart")
	}
	if got := db.Copy(t, facts+name+"')"); got != "1\t1\n" {
		t.Errorf("got %q, want it gone", got)
	}
}
