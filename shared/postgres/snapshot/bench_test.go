package snapshot_test

import (
	"io"
	"testing"

	"tidemark/shared/backup"
	"tidemark/shared/postgres/postgrestest"
)

const benchDDL = `CREATE TABLE item (id bigint PRIMARY KEY, region text NOT NULL, at timestamptz NOT NULL, body jsonb NOT NULL);
	INSERT INTO item SELECT i, md5(i::text), '2026-01-01'::timestamptz + i * interval '1 s', jsonb_build_object('a', md5(i::text), 'b', i)
	  FROM generate_series(1, 500000) AS s (i);
	CREATE TABLE large (id integer PRIMARY KEY, v bytea); INSERT INTO large VALUES (1, decode(repeat('0123456789abcdef', 12500000), 'hex'));
	CREATE TABLE strewn (id uuid PRIMARY KEY, filler text); INSERT INTO strewn SELECT md5(i::text)::uuid, repeat('x', 100)
	  FROM generate_series(1, 500000) AS s (i)`

// BenchmarkCopy reads a table by its key, beside what the driver alone gives of the table as it lies there.
func BenchmarkCopy(b *testing.B) {
	db := postgrestest.Live(b, benchDDL)
	db.Exec(b, "VACUUM ANALYZE")
	s := held(b, db)
	r := joined(b, s)
	run := func(name string, copy func(to io.Writer) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var n counter
				if err := copy(&n); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(n))
			}
		})
	}
	for _, name := range []string{"item", "strewn", "large"} {
		of := table(b, s, name)
		run(name+"/Plain", func(to io.Writer) error {
			_, err := db.Conn.PgConn().CopyTo(b.Context(), to, "COPY "+name+" TO STDOUT BINARY")
			return err
		})
		run(name+"/ByKey", func(to io.Writer) error {
			_, err := r.Copy(b.Context(), of, backup.Range{}, to)
			return err
		})
		if name == "large" {
			continue
		}
		bounds, err := r.Split(b.Context(), of, 8)
		if err != nil {
			b.Fatal(err)
		}
		run(name+"/InParts", func(to io.Writer) error {
			var part backup.Range
			for _, bound := range append(bounds, nil) {
				part.Until = bound
				if _, err := r.Copy(b.Context(), of, part, to); err != nil {
					return err
				}
				part.From = bound
			}
			return nil
		})
		b.Run(name+"/Split", func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Split(b.Context(), of, 16); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type counter int64

// Write counts.
func (c *counter) Write(data []byte) (int, error) {
	*c += counter(len(data))
	return len(data), nil
}
