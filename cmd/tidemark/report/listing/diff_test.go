package listing_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// shown is a manifest with a body, as it is after it was verified.
func shown(seq int64, b body.Body) listing.Manifest {
	m := history.Manifest{
		Entry:     history.Entry{ID: layout.ID{Lineage: 1, Seq: seq, Run: "11111111-0000-4000-8000-000000000001"}, Copies: []history.Copy{{}}},
		Statement: manifest.Statement{Seq: seq, Lineage: 1, Created: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)},
	}
	return listing.Manifest{Manifest: m, Body: b, Objects: b.Objects()}
}

func table(name string, rows int64, contents ...string) body.Table {
	t := body.Table{Name: body.Name{Schema: "shop", Name: name}, Rows: rows}
	for _, content := range contents {
		t.Chunks = append(t.Chunks, body.Chunk{Rows: rows, Object: manifest.Object{Digest: manifest.DigestOf([]byte(content)), Size: int64(len(content))}})
	}
	return t
}

func TestDifference(t *testing.T) {
	t.Parallel()
	ddl := func(kind, name, sql string) body.Definition {
		return body.Definition{Phase: body.BeforeData, Kind: kind, Schema: "shop", Name: name, SQL: sql}
	}
	from := shown(1, body.Body{
		Tables:      []body.Table{table("gone", 1, "gone"), table("same", 2, "same"), table("grown", 3, "grown"), table("rewritten", 4, "before")},
		Cut:         body.Cut{{Flow: "shop", Topic: "a", NextOffset: 10}, {Flow: "shop", Topic: "b", NextOffset: 7}, {Flow: "shop", Topic: "c"}},
		Definitions: []body.Definition{ddl("table", "gone", "1"), ddl("table", "same", "2"), ddl("function", "f()", "3")},
	})
	to := shown(2, body.Body{
		Tables:      []body.Table{table("new\x1b", 5, "new"), table("same", 2, "same"), table("grown", 9, "grown", "more"), table("rewritten", 4, "behind")},
		Cut:         body.Cut{{Flow: "shop", Topic: "a", NextOffset: 15}, {Flow: "shop", Topic: "c"}, {Flow: "shop", Topic: "d", NextOffset: 1}},
		Definitions: []body.Definition{ddl("table", "same", "2"), ddl("function", "f()", "4"), ddl("table", "new\x1b", "5")},
	})
	difference := listing.Difference{From: from, To: to}
	var out bytes.Buffer
	if err := difference.PrintJSON(&out); err != nil {
		t.Fatal(err)
	}
	type changed struct{ Name, Change string }
	var got struct {
		Tables  []changed
		Same    int `json:"tables_unchanged"`
		Objects struct{ New, Shared, Gone int }
		Cut     []struct {
			Topic    string
			From, To *string
		}
		Definitions map[string][]string
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	want := []changed{{"new\x1b", "added"}, {"grown", "changed"}, {"rewritten", "changed"}, {"gone", "removed"}}
	if diff := cmp.Diff(want, got.Tables); diff != "" || got.Same != 1 || got.Objects.New != 3 || got.Objects.Shared != 2 || got.Objects.Gone != 2 {
		t.Errorf("%s got %+v", diff, got)
	}
	if len(got.Cut) != 3 || got.Cut[0].Topic != "a" || *got.Cut[0].To != "15" || got.Cut[1].To != nil || got.Cut[2].From != nil {
		t.Errorf("got %+v", got.Cut)
	}
	definitions := map[string][]string{"added": {"table shop.new\x1b"}, "removed": {"table shop.gone"}, "changed": {"function shop.f()"}}
	if diff := cmp.Diff(definitions, got.Definitions); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := difference.Print(&out); err != nil || strings.ContainsRune(out.String(), 0x1b) || !strings.Contains(out.String(), `shop.new\x1b`) {
		t.Errorf("got %v, %q", err, out.String())
	}
}
