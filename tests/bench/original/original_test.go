package original

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/localstack/services/servicestest"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

const tiny = 200_000

// TestOpen leaves nothing of a database that cannot be filled.
func TestOpen(t *testing.T) {
	t.Parallel()
	server := servicestest.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := Open(ctx, server, 7, tiny); err == nil {
		t.Errorf("got %v", d)
	}
	d, err := Open(t.Context(), server, 7, tiny)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Drop(ctx); err != nil { // although ctx has ended
		t.Error(err)
	}
	if conn, err := pgx.Connect(t.Context(), d.URL); err == nil {
		t.Errorf("the database is still there: %v", conn.Close(t.Context()))
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		read := func(seed uint64, n int64) string {
			text, err := io.ReadAll(newRows(k, seed, n))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		long := read(7, 2000)
		if diff := cmp.Diff(long, read(7, 2000)); diff != "" {
			t.Errorf("%s: the same seed gives other rows:\n%s", k.name, diff)
		}
		if short := read(7, 100); long[:len(short)] != short || long == read(8, 2000) {
			t.Errorf("%s: rows hang on how many there are, or not on the seed", k.name)
		}
	}
}
