package target_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

type testDecoder struct{ catalog change.Catalog }

func (d testDecoder) Decode(ctx context.Context, rec *record.Record, set *change.Set) error {
	var row struct {
		Op string
		ID string
		V  string
	}
	if err := json.Unmarshal(rec.Value.Bytes(), &row); err != nil {
		return err
	}
	rel, err := d.catalog.Relation(ctx, change.Name{Schema: "public", Table: "t"})
	if err != nil {
		return err
	}
	cells := set.Cells(2)
	cells[0], cells[1] = change.Text([]byte(row.ID)), change.Text([]byte(row.V))
	set.Add(change.Change{Relation: rel, Op: change.Insert, Row: cells, Key: cells[:1]})
	return nil
}

func TestSmoke(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "CREATE TABLE t (id int PRIMARY KEY, v text)")
	tg, err := target.New(target.Options{Database: db.URL, Flow: "f", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close(t.Context())
	a, err := apply.New(tg, testDecoder{tg}, apply.Options{Flow: "f", TargetID: postgrestest.TargetID, Topics: []string{"t"}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	batch := record.Batch{{Partition: position.Partition{Topic: "t"}, Records: []record.Record{
		{Offset: 0, Time: time.UnixMilli(1000), Value: record.Present([]byte(`{"id":"1","v":"a"}`))},
		{Offset: 1, Time: time.UnixMilli(1001), Value: record.Present([]byte(`{"id":"2","v":"b"}`))},
		{Offset: 2, Time: time.UnixMilli(1002), Value: record.Present([]byte(`{"id":"1","v":"c"}`))},
	}}}
	for range 3 {
		out, err := a.Apply(t.Context(), batch)
		t.Log(out, err)
	}
	t.Log(db.Copy(t, "SELECT * FROM t ORDER BY 1"), db.Copy(t, "SELECT * FROM tidemark.checkpoint"))
}
