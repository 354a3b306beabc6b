package digest_test

import (
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/digest"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/verify/census"
)

func TestMain(m *testing.M) {
	code := servicestest.Run(m)
	if err := goleak.Find(); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = max(code, 1)
	}
	os.Exit(code)
}

// schema has columns of types that a user defined, whose numbers are others in each database, and one that is generated.
const schema = `CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE pair AS (m mood, moods mood[]);
CREATE DOMAIN short AS text CHECK (length(value) < 100);
CREATE TABLE kinds (id bigint PRIMARY KEY, name short, m mood, moods mood[], pairs pair[], one pair, ints int[], doc jsonb,
	n numeric, at timestamptz, raw bytea, doubled bigint GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE "odd ""name" (v text);
CREATE TABLE empty (id int);
CREATE TABLE nothing ();
CREATE TABLE partitioned (id int) PARTITION BY RANGE (id);
CREATE TABLE low PARTITION OF partitioned FOR VALUES FROM (0) TO (10);`

func insert(order string) string {
	return `INSERT INTO kinds SELECT i, 'n' || i, CASE i % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'happy' END::mood, ARRAY['sad','happy',NULL]::mood[],
		ARRAY[ROW('sad', '{happy}')::pair, ROW(NULL, NULL)::pair], ROW('happy', '{}')::pair, ARRAY[i, NULL],
		jsonb_build_object('b', i, 'a', NULL), i / 7.0, '2026-01-01'::timestamptz + i * interval '1 second', sha256(i::text::bytea)
		FROM generate_series(1, 500) AS i ORDER BY ` + order + `;
		INSERT INTO "odd ""name" SELECT CASE WHEN i % 2 = 0 THEN '' END FROM generate_series(1, 10) AS i ORDER BY ` + order + `;
		INSERT INTO nothing DEFAULT VALUES; INSERT INTO low VALUES (1), (1), (2);`
}

func columns(names ...string) (all []body.Column) {
	for _, name := range names {
		oid := uint32(25)
		switch name {
		case "name", "m", "moods", "pairs", "one":
			oid = 20000
		}
		all = append(all, body.Column{Name: name, OID: oid})
	}
	return all
}

func tables() []body.Table {
	of := func(name string, columns []body.Column) body.Table {
		return body.Table{Name: body.Name{Schema: "public", Name: name}, Columns: columns}
	}
	return []body.Table{
		of("kinds", columns("id", "name", "m", "moods", "pairs", "one", "ints", "doc", "n", "at", "raw")), of(`odd "name`, columns("v")),
		of("empty", columns("id")), of("nothing", nil), of("low", columns("id")),
	}
}

func read(t *testing.T, db *postgrestest.Database, jobs int, of []body.Table) digest.State {
	t.Helper()
	address, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	state, err := digest.New(address, digest.Options{Jobs: jobs}).Read(t.Context(), of)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return state
}

func TestRead(t *testing.T) {
	one := postgrestest.Live(t, schema+insert("i"))
	// The other database gives its types other numbers, and has rows in another order and on other pages.
	other := postgrestest.Empty(t)
	other.Exec(t, `CREATE TYPE before AS ENUM (); CREATE TYPE more AS ENUM ();`+schema+insert("i DESC")+
		`UPDATE kinds SET n = n WHERE id % 5 = 0; DELETE FROM low WHERE id = 2; INSERT INTO low VALUES (2);`)
	one.Exec(t, `INSERT INTO tidemark.checkpoint (flow, topic, partition, next_offset, generation, incarnation)
		SELECT 'shop', 'orders', p, 10 + p, 1, incarnation FROM tidemark.target, generate_series(0, 1) AS p`)
	want := read(t, one, 1, tables())

	t.Run("IsTheSameInAnyOrderOnAnyPagesUnderAnyNumbers", func(t *testing.T) {
		got := read(t, other, 3, tables())
		if diff := census.Compare(want.Tables, got.Tables); len(diff) > 0 || len(got.Tables) != 5 || got.Tables.Root() != want.Tables.Root() {
			t.Errorf("got %v", diff)
		}
		if rows := want.Tables[tables()[0].Name].Rows; rows != 500 || got.Cut != nil {
			t.Errorf("got %d rows, cut %v", rows, got.Cut)
		}
	})
	t.Run("HasTheCutOfTheSameState", func(t *testing.T) {
		if len(want.Cut) != 2 || want.Cut[1].NextOffset != 11 || want.Cut[1].Flow != "shop" || want.Taken.IsZero() {
			t.Errorf("got %+v", want)
		}
	})
	t.Run("LeavesTheLedgerAndWhatIsNotThereOut", func(t *testing.T) {
		of := append(tables(), body.Table{Name: body.Name{Schema: "tidemark", Name: "checkpoint"}, Columns: columns("flow")},
			body.Table{Name: body.Name{Schema: "public", Name: "gone"}}, body.Table{Name: body.Name{Schema: "public", Name: "empty"}, Columns: columns("none")})
		got := read(t, one, 2, of[3:])
		if diff := cmp.Diff([]string{"low", "nothing"}, names(got.Tables)); diff != "" {
			t.Error(diff)
		}
	})
	for _, change := range []struct{ name, sql string }{
		{"ARowTwice", `INSERT INTO low VALUES (2)`},
		{"NullForEmpty", `UPDATE "odd ""name" SET v = NULL WHERE ctid = (SELECT min(ctid) FROM "odd ""name" WHERE v = '')`},
		{"AnElementOfAnEnum", `UPDATE kinds SET moods = '{sad,sad,NULL}' WHERE id = 7`},
		{"AFieldOfARow", `UPDATE kinds SET one.m = 'sad' WHERE id = 8`},
		{"ARowLess", `DELETE FROM kinds WHERE id = 9`},
		{"AnEmptiedTable", `TRUNCATE nothing`},
	} {
		t.Run("Sees"+change.name, func(t *testing.T) {
			before := read(t, other, 1, tables())
			other.Exec(t, change.sql)
			if diff := census.Compare(before.Tables, read(t, other, 2, tables()).Tables); len(diff) != 1 {
				t.Errorf("got %v, want one difference", diff)
			}
		})
	}
	t.Run("RefusesRowsThatAPolicyHides", func(t *testing.T) {
		role := fmt.Sprintf("reader_%d", os.Getpid())
		other.Exec(t, `CREATE ROLE `+role+` LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO `+role+`;
			ALTER TABLE low ENABLE ROW LEVEL SECURITY`)
		defer other.Exec(t, `DROP OWNED BY `+role+`; DROP ROLE `+role) // before the context of the test ends
		address, err := pgx.ParseConfig(other.URL)
		if err != nil {
			t.Fatal(err)
		}
		address.User, address.Password = role, ""
		if _, err := digest.New(address, digest.Options{}).Read(t.Context(), tables()); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("got %v of class %s", err, fault.ClassOf(err))
		}
	})
}

func names(t census.Tables) (all []string) {
	for name := range maps.Keys(t) {
		all = append(all, name.Name)
	}
	if len(all) == 2 && all[0] > all[1] {
		all[0], all[1] = all[1], all[0]
	}
	return all
}
