package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/layout"
	"tidemark/shared/postgres/postgrestest"
)

// shop is a database with a checkpoint, a table with a key, one without, a sequence and a name that a terminal would obey.
const shop = `
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item text NOT NULL);
INSERT INTO shop.orders (item) SELECT 'item ' || n FROM generate_series(1, 1000) AS n;
CREATE TABLE shop.log (line text);
INSERT INTO shop.log SELECT 'line ' || n FROM generate_series(1, 10) AS n;
CREATE TABLE shop.empty (id int PRIMARY KEY);
CREATE TABLE shop.u&"\001b[2Jowned" (id int PRIMARY KEY);
INSERT INTO tidemark.checkpoint (flow, topic, partition, next_offset, incarnation)
  SELECT 'shop', 'dbz.shop.orders', n, 100 * (n + 1), incarnation FROM tidemark.target, generate_series(0, 2) AS n;
`

// keeper is an operator with a live database and an archive in two folders.
type keeper struct {
	*archivist
	db *postgrestest.Database
}

func newKeeper(t *testing.T, ddl string) *keeper {
	t.Helper()
	k := &keeper{newArchivist(t).mirrored(), postgrestest.Live(t, ddl)}
	k.env["TIDEMARK_TARGET_ID"], k.env["TIDEMARK_DATABASE_URL"] = string(postgrestest.TargetID), k.db.URL
	k.env["TIDEMARK_HIGH_WATER"] = "file://" + filepath.Join(t.TempDir(), "newest")
	return k
}

// made is what a backup says in JSON.
type made struct {
	Manifest, Run, Key string
	Copies, Buckets    int
	Tables             int
	Rows               int64
	ObjectsStored      int   `json:"objects_stored"`
	ObjectsReused      int   `json:"objects_reused"`
	StoredBytes        int64 `json:"stored_bytes"`
	Seconds            float64
	Warnings           []string
}

// backUp makes a backup that must end with a code.
func (k *keeper) backUp(code int, arguments ...string) (m made) {
	k.t.Helper()
	got, printed := k.split(append([]string{"backup", "--json"}, arguments...)...)
	if got != code {
		_, all := k.run("doctor")
		k.t.Fatalf("tidemark backup: exit code %d, want %d: %s\n%s", got, code, printed, all)
	}
	k.decode(printed, &m)
	return m
}

func (k *keeper) decode(printed string, into any) {
	k.t.Helper()
	if err := json.Unmarshal([]byte(printed), into); err != nil {
		k.t.Fatalf("%v: %s", err, printed)
	}
}

// squeezed is a text whose columns have one blank between them.
func squeezed(text string) string { return regexp.MustCompile(` +`).ReplaceAllString(text, " ") }

// says expects parts in what a verb prints, however its columns are set.
func (k *keeper) says(code int, parts []string, arguments ...string) string {
	k.t.Helper()
	printed := squeezed(k.expect(code, nil, arguments...))
	for _, part := range parts {
		if !strings.Contains(printed, part) {
			k.t.Errorf("tidemark %s: %q is not in: %s", strings.Join(arguments, " "), part, printed)
		}
	}
	return printed
}

func TestBackup(t *testing.T) {
	t.Parallel()
	t.Run("IsListedShownAndCompared", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop)
		first := k.backUp(0)
		if first.Manifest != "1/1" || first.Copies != 2 || first.Buckets != 2 || first.Rows < 1010 || first.Tables < 4 ||
			first.ObjectsStored == 0 || first.ObjectsReused != 0 || first.StoredBytes == 0 || first.Seconds <= 0 || len(first.Warnings) > 0 {
			t.Errorf("got %+v", first)
		}
		second := k.backUp(0, "--jobs", "3", "--compress", "3")
		if second.Manifest != "1/2" || second.ObjectsReused == 0 {
			t.Errorf("got %+v", second)
		}
		k.says(0, []string{"MANIFEST", "1/2", first.Run[:8], "3 partitions, sum 600", "unknown", "primary+secondary", "verified"},
			"manifests", "list")
		shown := k.says(0, []string{
			"1/1-" + first.Run, "state verified", "copy secondary, stored", "target test-target", "shop.orders 1000 1", "none: read by its pages",
			"dbz.shop.orders/2 300", "shop.orders_id_seq 1000 shop.orders.id", "definitions of DDL", `shop.\x1b[2Jowned`,
			"the store refused a second write",
		}, "manifests", "show", first.Run[:8])
		if strings.ContainsRune(shown, 0x1b) {
			t.Error("a name reaches the terminal as it is")
		}
		k.db.Exec(t, "INSERT INTO shop.orders (item) VALUES ('new'); DROP TABLE shop.log; CREATE TABLE shop.next (id int PRIMARY KEY);"+
			"UPDATE tidemark.checkpoint SET next_offset = 350 WHERE partition = 2")
		third := k.backUp(0)
		k.says(0, []string{
			"shop.orders 1000 1001", "shop.log 10 removed", "shop.next 0 0, added", "dbz.shop.orders/2 300 350 +50",
			"added table shop.next", "removed table shop.log", "shared",
		}, "manifests", "diff", "1/1", third.Run)
	})
	t.Run("TellsProgramsInJSON", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop)
		first := k.backUp(0)
		k.db.Exec(t, "DELETE FROM shop.orders WHERE id > 500")
		k.backUp(0)
		var list struct {
			Manifests []struct {
				Manifest, Run, State, Log, Bytes string
				CutSum                           string `json:"cut_sum"`
				Copies                           []struct{ Place string }
			}
		}
		k.decode(k.expect(0, nil, "manifests", "list", "--json"), &list)
		if len(list.Manifests) != 2 || list.Manifests[1].Run != first.Run || list.Manifests[0].State != "verified" || list.Manifests[0].Log != "unknown" ||
			list.Manifests[0].CutSum != "600" || len(list.Manifests[0].Copies) != 2 || list.Manifests[0].Bytes == "0" {
			t.Errorf("got %+v", list)
		}
		var shown struct {
			State     string
			Statement struct{ Seq string }
			Body      struct{ Tables []struct{ Name, Rows string } }
		}
		k.decode(k.expect(0, nil, "manifests", "show", "1/2", "--json"), &shown)
		at := slices.IndexFunc(shown.Body.Tables, func(t struct{ Name, Rows string }) bool { return t.Name == "orders" })
		if shown.Statement.Seq != "2" || shown.State != "verified" || at < 0 || shown.Body.Tables[at].Rows != "500" {
			t.Errorf("got %+v", shown)
		}
		var difference struct {
			Tables []struct {
				Name, Change, Rows string
				Then               string `json:"rows_then"`
			}
			Objects struct{ New, Shared, Gone int }
			Cut     []any
		}
		k.decode(k.expect(0, nil, "manifests", "diff", "1/1", "1/2", "--json"), &difference)
		at = slices.IndexFunc(difference.Tables, func(t struct {
			Name, Change, Rows string
			Then               string `json:"rows_then"`
		},
		) bool {
			return t.Name == "orders" && t.Change == "changed" && t.Rows == "1000" && t.Then == "500"
		})
		if at < 0 || difference.Objects.New == 0 || difference.Objects.Shared == 0 || len(difference.Cut) != 0 {
			t.Errorf("got %+v", difference)
		}
	})
	t.Run("TellsHowFarItIs", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop)
		b := k.start("backup")
		if code := b.wait(); code != 0 {
			t.Fatalf("exit code %d: %s", code, &b.errors)
		}
		lines := strings.Split(strings.TrimSpace(b.errors.String()), "\n")
		var last struct {
			Percent float64
			Bytes   int64
			Total   int64
			Rows    int64
			Objects int
		}
		k.decode(lines[len(lines)-1], &last)
		if last.Percent != 100 || last.Bytes != last.Total || last.Rows < 1010 || last.Objects == 0 {
			t.Errorf("got %+v", last)
		}
		if said := b.output.String(); !strings.Contains(said, "is listed in 2 of 2 buckets") || !strings.Contains(said, "stored") {
			t.Errorf("got %s", said)
		}
	})
	t.Run("WritesNothingInADryRun", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop)
		before := tree(t, k.primary)
		k.says(0, []string{"shop.orders", "key", "shop.log", "pages", "everything would be stored", "nothing was written"}, "backup", "--dry-run")
		if diff := cmp.Diff(before, tree(t, k.primary)); diff != "" || k.db.Copy(t, "SELECT count(*) FROM tidemark.backup_run") != "0\n" {
			t.Error("a dry run wrote: " + diff)
		}
		k.backUp(0)
		k.says(0, []string{"the newest manifest is 1/1-"}, "backup", "--dry-run")
		k.db.Exec(t, "CREATE PUBLICATION everything FOR ALL TABLES")
		k.says(30, []string{"publication everything", "--allow-uncaptured"}, "backup", "--dry-run")
		k.db.Exec(t, "UPDATE tidemark.target SET state = 'held'")
		k.says(11, []string{"held"}, "backup", "--dry-run")
	})
	t.Run("WarnsWithoutItsCopy", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop)
		inTheWay := filepath.Join(k.secondary, layout.Objects)
		if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		m := k.backUp(3)
		if m.Copies != 1 || m.Buckets != 2 || len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], "the secondary bucket has no copy") {
			t.Errorf("got %+v", m)
		}
		k.says(0, []string{"1/1", "unknown primary - verified"}, "manifests", "list")
		k.says(3, []string{"the secondary bucket lacks 1 of 1 manifests", "fix: tidemark copy"}, "doctor")
		if err := os.Remove(inTheWay); err != nil {
			t.Fatal(err)
		}
		k.says(0, []string{"1 copied"}, "copy")
		k.says(0, []string{"both buckets have every manifest"}, "doctor")
	})
	t.Run("LeavesOutOnlyWhatWasAllowed", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, shop+"CREATE PUBLICATION everything FOR ALL TABLES; SELECT lo_create(4711);")
		k.says(30, []string{"publication everything", "large object", "--allow-uncaptured NAME"}, "backup")
		if listed := count(t, k.primary, layout.Manifests+"*/*"); listed != 0 {
			t.Errorf("%d manifests are listed", listed)
		}
		var planned struct {
			Uncaptured []struct{ Name string }
		}
		_, printed := k.split("backup", "--dry-run", "--json")
		k.decode(printed, &planned)
		var allowed []string
		for _, u := range planned.Uncaptured {
			allowed = append(allowed, "--allow-uncaptured", u.Name)
		}
		m := k.backUp(0, allowed...)
		k.says(0, []string{"not captured: publication everything"}, "manifests", "show", m.Run)
	})
}
