package backup_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/history"
	"tidemark/shared/backup"
	"tidemark/shared/backup/backuptest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
)

// small is the size of a chunk in most tests: some twenty rows.
const small = 1 << 10

// fill gives rows of some 50 bytes with these keys. Values do not compress, so that sizes can be compared.
func fill(from, until int64) backuptest.Rows {
	rows := backuptest.Rows{}
	for key := from; key < until; key++ {
		rows[key] = value(key, 0)
	}
	return rows
}

func value(key int64, version int) []byte {
	seed, content := [32]byte{}, make([]byte, 36)
	copy(seed[:], fmt.Append(nil, key, "/", version))
	_, _ = rand.NewChaCha8(seed).Read(content) // never fails
	return content
}

// shop is a database with a table of each kind.
func shop(t *testing.T) *backuptest.World {
	t.Helper()
	w := backuptest.New(t)
	w.Database.Tables = map[string]*backuptest.Table{
		"orders":  {Rows: fill(0, 200)},
		"names":   {Rows: fill(0, 150), Text: true, Collation: "1"},
		"log":     {Rows: fill(0, 700), Keyless: true},
		"heap":    {Rows: fill(0, 100), Unordered: true},
		"empty":   {},
		"nothing": {Keyless: true},
	}
	return w
}

func mustRun(t *testing.T, o backup.Options) backup.Result {
	t.Helper()
	result, err := backup.Run(t.Context(), o.CutAt(small))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return result
}

// saved backs up a world, and checks that what the archive holds then is what the database does.
func saved(t *testing.T, w *backuptest.World) (backup.Result, body.Body) {
	t.Helper()
	p := w.Process(nil)
	result := mustRun(t, p.Options(t))
	if n := p.Open(); n != 0 {
		t.Errorf("%d claims, snapshots and readers were left open", n)
	}
	return result, wantSaved(t, w)
}

func wantSaved(t *testing.T, w *backuptest.World) body.Body {
	t.Helper()
	b, got := backuptest.Newest(t, w.Archive(t))
	want := w.Database.State()
	for name, rows := range want {
		if rows == nil {
			want[name] = backuptest.Rows{}
		}
	}
	if !maps.EqualFunc(want, got, func(a, b backuptest.Rows) bool { return maps.EqualFunc(a, b, sameValue) }) {
		t.Fatalf("rows (-database +archive):\n%s", cmp.Diff(want, got))
	}
	return b
}

func sameValue(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// listed are the manifests that there are.
func listed(t *testing.T, w *backuptest.World) int {
	t.Helper()
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return len(h.Entries)
}

func wantListed(t *testing.T, w *backuptest.World, want int) {
	t.Helper()
	if got := listed(t, w); got != want {
		t.Errorf("got %d manifests, want %d", got, want)
	}
}

func tableOf(t *testing.T, b body.Body, name string) body.Table {
	t.Helper()
	for _, table := range b.Tables {
		if table.Name.Name == name {
			return table
		}
	}
	t.Fatalf("table %s is not in the manifest", name)
	return body.Table{}
}

// sharedChunks is how many chunks of one table stand in the other too, by their objects.
func sharedChunks(a, b body.Table) (n int) {
	for _, c := range a.Chunks {
		for _, other := range b.Chunks {
			if c.Object == other.Object {
				n++
				break
			}
		}
	}
	return n
}

// edges are a table's bounds, in one line.
func edges(t body.Table) string {
	var line bytes.Buffer
	for _, c := range t.Chunks {
		fmt.Fprintf(&line, "[%s,%s) ", c.From, c.Until)
	}
	return line.String()
}

const hour = time.Hour
