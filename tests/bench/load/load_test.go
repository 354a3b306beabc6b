package load_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/tests/bench/load"
)

// model replays a stream as its JSON says.
type model struct {
	rows map[int64]string // image by id
	dead int64            // whose tombstone must come next; 0 for none
}

func (m *model) take(r load.Record) error {
	var key struct{ ID int64 }
	if err := json.Unmarshal(r.Key, &key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if dead := m.dead; dead != 0 || r.Value == nil {
		m.dead = 0
		if r.Value != nil || key.ID != dead {
			return fmt.Errorf("key %d: want the tombstone of %d", key.ID, dead)
		}
		return nil
	}
	var value struct {
		Op    string
		After json.RawMessage
	}
	if err := json.Unmarshal(r.Value, &value); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	_, present := m.rows[key.ID]
	if present == (value.Op == "c") {
		return fmt.Errorf("op %s of key %d, present: %v", value.Op, key.ID, present)
	}
	if value.Op == "d" {
		delete(m.rows, key.ID)
		m.dead = key.ID
		return nil
	}
	m.rows[key.ID] = string(value.After)
	return nil
}

func TestSource(t *testing.T) {
	t.Parallel()
	const records, seed = 5000, 7
	for _, workload := range []load.Workload{load.Inserts, load.Mixed} {
		t.Run(string(workload)+"/EndsInTheRowsOfItsRecords", func(t *testing.T) {
			t.Parallel()
			source := load.New(workload, seed, load.KeysFor(records))
			m := model{rows: map[int64]string{}}
			for range records {
				if err := m.take(source.Next(nil)); err != nil {
					t.Fatal(err)
				}
			}
			got := map[int64]string{}
			for row := range source.Rows() {
				got[row.ID] = string(row.AppendJSON(nil))
			}
			if diff := cmp.Diff(m.rows, got); diff != "" {
				t.Errorf("rows (-of the records +of the source):\n%s", diff)
			}
			if source.Counts().Records() != records {
				t.Errorf("counts %+v do not add up to %d", source.Counts(), records)
			}
		})
		t.Run(string(workload)+"/RepeatsItself", func(t *testing.T) {
			t.Parallel()
			a, b := load.New(workload, seed, 50), load.New(workload, seed, 50)
			other := load.New(workload, seed+1, 50)
			same := true
			for range 200 {
				want := a.Next(nil)
				if diff := cmp.Diff(want, b.Next([]byte("room"))); diff != "" {
					t.Fatalf("two sources of one seed differ:\n%s", diff)
				}
				same = same && string(want.Value) == string(other.Next(nil).Value)
			}
			if same {
				t.Error("another seed gave the same records")
			}
		})
	}
	t.Run("MixesAllKinds", func(t *testing.T) {
		t.Parallel()
		source := load.New(load.Mixed, seed, load.KeysFor(records))
		for range records {
			source.Next(nil)
		}
		counts := source.Counts()
		for _, n := range []int{counts.Inserts, counts.Updates, counts.Deletes, counts.Tombstones} {
			if n < records/10 {
				t.Errorf("%+v: a kind has less than a tenth", counts)
			}
		}
	})
}

func TestRow(t *testing.T) {
	t.Parallel()
	row := load.Row{ID: 123456, N: 654321}
	t.Run("IsThePeersShape", func(t *testing.T) {
		t.Parallel()
		if n := len(row.AppendJSON(nil)); n < 175 || n > 200 {
			t.Errorf("a row has %d bytes", n)
		}
		value := load.New(load.Inserts, 1, 0).Next(nil).Value
		if n := len(value); n < 600 || n > 800 {
			t.Errorf("an envelope has %d bytes", n)
		}
	})
	t.Run("SaysTheSameInBothForms", func(t *testing.T) {
		t.Parallel()
		var image struct {
			ID, N              json.Number
			Amount             json.Number
			Name, Status, Note string
			At                 string
		}
		if err := json.Unmarshal(row.AppendJSON(nil), &image); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(string(row.AppendCopy(nil)), "\n"), "\t")
		want := []string{image.ID.String(), image.N.String(), image.Amount.String(), image.Name, image.Status, image.Note}
		const copied, sent = "2023-11-16 08:30:56.456+00", "2023-11-16T08:30:56.456000Z"
		if !slices.Equal(got[:6], want) || got[6] != copied || image.At != sent {
			t.Errorf("COPY %q, JSON %q", got, append(want, image.At))
		}
	})
}
