package capture_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/postgres/capture"
	"tidemark/shared/postgres/postgrestest"
)

// TestRead: a database that is made of the definitions is captured as the same, and nothing was left out.
func TestRead(t *testing.T) {
	t.Parallel()
	live := func(files ...string) func(t *testing.T) *postgrestest.Database {
		return func(t *testing.T) *postgrestest.Database { t.Helper(); return made(t, files...) }
	}
	alone := func(ddl string) func(t *testing.T) *postgrestest.Database {
		return func(t *testing.T) *postgrestest.Database { t.Helper(); return with(t, ddl) }
	}
	tests := []struct {
		name string
		make func(t *testing.T) *postgrestest.Database
	}{
		{"RebuildsARichSchema", live("testdata/rich.sql")},
		{"RebuildsTheSourceOfTheSamples", live("../../../tests/testdata/debezium/ddl.sql")},
		{"RebuildsTheLedgerAlone", live()},
		{"RebuildsAnEmptyDatabase", alone("")},
		{"TakesTheSchemaPublicAway", alone("DROP SCHEMA public")},
		{"RebuildsASchemaPublicOfItsOwn", alone(`DROP SCHEMA public;
			CREATE SCHEMA public; COMMENT ON SCHEMA public IS 'own'`)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			original := test.make(t)
			unusual(t, original)
			want := read(t, original)
			original.Exec(t, "RESET ALL")
			if len(want.Uncaptured) > 0 {
				t.Errorf("not captured: %q", want.Uncaptured)
			}
			acceptedInABody(t, want)
			copied := rebuild(t, want, noRows)
			got := read(t, copied)
			ignore := cmp.Options{
				cmpopts.IgnoreFields(body.Column{}, "OID"),              // of types that the rebuilt database numbers anew
				cmpopts.IgnoreFields(body.Sequence{}, "Last", "Called"), // values come with the rows
			}
			if diff := cmp.Diff(want, got, ignore); diff != "" {
				t.Errorf("captured again (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(facts(t, original), facts(t, copied)); diff != "" {
				t.Errorf("the catalog's facts (-original +rebuilt):\n%s", diff)
			}
			if diff := cmp.Diff(dump(t, original), dump(t, copied)); diff != "" {
				t.Errorf("pg_dump (-original +rebuilt):\n%s", diff)
			}
		})
	}
}

func with(t *testing.T, ddl string) *postgrestest.Database {
	t.Helper()
	db := postgrestest.Empty(t)
	db.Exec(t, ddl)
	return db
}

// TestPhases: they come in their order, and rows can be loaded after the first: all that checks them comes later.
func TestPhases(t *testing.T) {
	t.Parallel()
	definitions := read(t, made(t, "testdata/rich.sql")).Definitions
	phases := []body.Phase{body.BeforeData, body.Keys, body.References, body.AfterData}
	reached := 0
	kinds := map[body.Phase]map[string]bool{}
	for i, d := range definitions {
		at := slices.Index(phases, d.Phase)
		if at < reached {
			t.Fatalf("definition %d, %s %s, is of phase %q and comes after %q", i, d.Kind, d.Name, d.Phase, phases[reached])
		}
		reached = at
		if kinds[d.Phase] == nil {
			kinds[d.Phase] = map[string]bool{}
		}
		kinds[d.Phase][d.Kind] = true
	}
	got := map[body.Phase][]string{}
	for phase, of := range kinds {
		got[phase] = slices.Sorted(maps.Keys(of))
	}
	want := map[body.Phase][]string{
		body.BeforeData: {
			"aggregate", "collation", "column", "composite type", "default", "domain", "domain check", "enum", "extension",
			"function", "inheritance", "not null", "owned by", "partition", "primary key", "procedure", "range type", "schema",
			"sequence", "table", "table type", "view", // a function takes the row of a view, which needs a key to group by
		},
		body.Keys: {
			"check", "domain check", "exclusion", "index", "index column", "index options", "index partition", "primary key",
			"unique",
		},
		body.References: {"foreign key"},
		body.AfterData: {
			"cluster", "comment", "default", "default privileges", "depends on extension", "grant", "index", "materialized view",
			"owner", "policy", "refresh", "replica identity", "row security", "rule", "rule state", "statistics",
			"statistics target", "trigger", "trigger state",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds by phase (-want +got):\n%s", diff)
	}
}

// acceptedInABody: what is captured is what a body of a backup may hold.
func acceptedInABody(t *testing.T, schema capture.Schema) {
	t.Helper()
	_, err := body.Encode(body.Body{
		Version: document.Version, TargetID: postgrestest.TargetID, Lineage: 1, Seq: 1,
		Incarnation: "0190c5ae-7e1f-7abc-8def-0123456789ab", RunID: "0190c5ae-7e1f-7abc-8def-0123456789ac",
		Snapshot: body.Snapshot{
			SystemIdentifier: "1", Database: "x", ServerVersion: 1, Encoding: "UTF8", LedgerSchema: postgrestest.Schema,
			LedgerVersion: 1, LSN: "0/1", Taken: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC),
		},
		Definitions: schema.Definitions, Tables: schema.Tables, Sequences: schema.Sequences, Uncaptured: schema.Uncaptured,
	})
	if err != nil {
		t.Errorf("put it into a body: %v", err)
	}
}
