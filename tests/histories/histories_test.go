// Package histories holds the promise that a batch has the result of its records one by one (L6): generated histories are
// applied twice to real tables, in one delivery and record by record, and every table must end equal.
package histories_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

const (
	histories    = 120
	mostChanges  = 60
	leastPercent = 5 // of histories must have each feature
	seed         = 20261129
)

// ddl makes the tables of one schema: s stands for it.
const ddl = `CREATE SCHEMA %[1]s;
CREATE TABLE %[1]s.plain (id int PRIMARY KEY, a text, b text DEFAULT 'dflt', c int);
CREATE TABLE %[1]s.pair (k text, u uuid, v text, w text, PRIMARY KEY (k, u));
CREATE TABLE %[1]s.uniq (id int PRIMARY KEY, email text UNIQUE, v text);
CREATE TABLE %[1]s.num (id numeric PRIMARY KEY, v text, w text);
CREATE TABLE %[1]s.fixed (id int PRIMARY KEY, g int GENERATED ALWAYS AS IDENTITY, v text);
CREATE TABLE %[1]s.parent (id int PRIMARY KEY, v text, w text);
CREATE TABLE %[1]s.child (id int PRIMARY KEY, parent int REFERENCES %[1]s.parent, v text);
CREATE TABLE %[1]s.nokey (id int, a text, b text);
CREATE TABLE %[1]s.audited (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE FUNCTION %[1]s.count() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.n := OLD.n + 1; RETURN NEW; END';
CREATE TRIGGER count BEFORE UPDATE ON %[1]s.audited FOR EACH ROW EXECUTE FUNCTION %[1]s.count();`

func tables() []string {
	return []string{"plain", "pair", "uniq", "num", "fixed", "parent", "child", "nokey", "audited"}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	t.Run("EqualsItsRecordsOneByOne", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, fmt.Sprintf(ddl, "batch")+fmt.Sprintf(ddl, "copied")+fmt.Sprintf(ddl, "single"))
		batch, copied, single := newSide(t, db, "batch", 0), newSide(t, db, "copied", 1), newSide(t, db, "single", 0)
		t.Logf("seed %d", seed)
		features := map[string]int{}
		for i := range uint64(histories) {
			h := generate(rand.New(rand.NewPCG(seed, i))) //nolint:gosec // a test's history, not a secret
			for name := range h.features {
				features[name]++
			}
			compareSides(t, db, i, h, []*side{batch, copied}, single)
			if t.Failed() {
				return
			}
		}
		for _, name := range featureNames() {
			share := 100 * features[name] / histories
			t.Logf("%-24s in %3d %% of histories", name, share)
			if share < leastPercent {
				t.Errorf("%s is in %d %% of histories, want at least %d", name, share, leastPercent)
			}
		}
	})
}

// compareSides applies a history record by record and, on the other sides, in one delivery.
func compareSides(t *testing.T, db *postgrestest.Database, number uint64, h history, whole []*side, single *side) {
	t.Helper()
	partition := position.Partition{Topic: "t"}
	records := make([]record.Record, len(h.changes))
	for i := range records {
		records[i] = record.Record{
			Offset: position.Offset(i), Time: time.UnixMilli(int64(i)), Value: record.Present([]byte(strconv.Itoa(i))),
		}
	}
	single.reset(t, db, h)
	var next position.Offset
	var singleErr error
	for i := range records {
		out, err := single.applier.Apply(t.Context(), record.Batch{{Partition: partition, Records: records[i : i+1]}})
		next = out.Partitions[0].Next
		if singleErr = err; err != nil {
			break
		}
	}
	for _, side := range whole {
		side.reset(t, db, h)
		out, err := side.applier.Apply(t.Context(), record.Batch{{Partition: partition, Records: records}})
		if got := out.Partitions[0].Next; got != next || fault.ClassOf(err) != fault.ClassOf(singleErr) {
			t.Errorf("history %d: side %s stops at %s (%v), one by one at %s (%v)", number, side.schema, got, err, next, singleErr)
		}
		for _, table := range tables() {
			got := db.Copy(t, "SELECT * FROM "+side.schema+"."+table+" ORDER BY 1, 2, 3")
			want := db.Copy(t, "SELECT * FROM single."+table+" ORDER BY 1, 2, 3")
			if got != want {
				t.Errorf("history %d: table %s:\nside %s\n%sone by one\n%s%s", number, table, side.schema, got, want, h)
			}
		}
	}
}

// side is one way to apply a history.
type side struct {
	later   time.Duration // how far its clock has moved: a table whose COPY failed is tried again in the next history
	schema  string
	flow    string
	decoder *decoder
	applier *apply.Applier
}

func newSide(t *testing.T, db *postgrestest.Database, schema string, leastCopied int) *side {
	t.Helper()
	s := &side{schema: schema, flow: schema}
	written, err := target.New(target.Options{
		Database: db.URL, Flow: schema, LeastCopied: leastCopied,
		Now: func() time.Time { return time.Now().Add(s.later) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { written.Close(context.WithoutCancel(t.Context())) })
	s.decoder = &decoder{catalog: written, schema: schema}
	s.applier, err = apply.New(written, s.decoder, apply.Options{
		Flow: schema, TargetID: postgrestest.TargetID, Topics: []string{"t"}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *side) reset(t *testing.T, db *postgrestest.Database, h history) {
	t.Helper()
	s.decoder.history = h.changes
	s.later += 2 * time.Minute
	list := ""
	for i, table := range tables() {
		if i > 0 {
			list += ", "
		}
		list += s.schema + "." + table
	}
	db.Exec(t, "TRUNCATE "+list+" RESTART IDENTITY; DELETE FROM tidemark.moved_row WHERE flow = '"+s.flow+"';"+
		" DELETE FROM tidemark.checkpoint WHERE flow = '"+s.flow+"'")
}

// decoder gives record i the i-th change of a history.
type decoder struct {
	catalog change.Catalog
	schema  string
	history []step
}

func (d *decoder) Decode(ctx context.Context, rec *record.Record, set *change.Set) error {
	i, err := strconv.Atoi(string(rec.Value.Bytes()))
	if err != nil {
		return err
	}
	s := d.history[i]
	relation, err := d.catalog.Relation(ctx, change.Name{Schema: d.schema, Table: s.table})
	if err != nil {
		return err
	}
	c := change.Change{Relation: relation, Op: s.op, Move: s.move}
	if s.row != nil {
		c.Row = set.Cells(len(s.row))
		copy(c.Row, s.row)
	}
	if len(relation.Key) == 0 {
		c.Old = s.old
	} else if s.op != change.Truncate {
		c.Key = s.key
	}
	set.Add(c)
	return nil
}
