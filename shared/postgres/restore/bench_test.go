package restore_test

import (
	"bytes"
	"testing"
	"time"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
)

// BenchmarkRestore compares a restore of one table, from the claim to the statistics, with a bare COPY of the same bytes into a
// table that was made in the same transaction, and its primary key.
func BenchmarkRestore(b *testing.B) {
	original := postgrestest.Live(b, `CREATE TABLE facts (id bigint PRIMARY KEY, at timestamptz NOT NULL, name text, price numeric(12,2), note jsonb);
		INSERT INTO facts SELECT i, now() + i * interval '1 second', md5(i::text) || md5((i + 1)::text), i / 7.0, jsonb_build_object('n', i, 'hash', md5(i::text))
		FROM generate_series(1, 900000) AS i`)
	base, objects := baseOf(b, original, 150_000)
	var chunks [][]byte
	var size int64
	for _, t := range base.Body.Tables {
		if t.Name == (body.Name{Schema: "public", Name: "facts"}) {
			for _, c := range t.Chunks {
				chunks, size = append(chunks, objects.plain[c.Object.Digest]), size+c.Object.PlainSize
			}
		}
	}
	bare := func() time.Duration {
		db := postgrestest.Empty(b)
		began := time.Now()
		db.Exec(b, "BEGIN; CREATE TABLE facts (id bigint NOT NULL, at timestamptz NOT NULL, name text, price numeric(12,2), note jsonb)")
		for _, plain := range chunks {
			if _, err := db.Conn.PgConn().CopyFrom(b.Context(), bytes.NewReader(plain), "COPY facts FROM STDIN (FORMAT binary, FREEZE)"); err != nil {
				b.Fatal(err)
			}
		}
		db.Exec(b, "COMMIT; SET maintenance_work_mem = '256MB'; ALTER TABLE facts ADD PRIMARY KEY (id)")
		return time.Since(began)
	}
	var own, other, analyzed time.Duration
	for b.Loop() {
		other += bare()
		db, d := target(b, restore.Options{})
		began := time.Now()
		claimed(b, d)
		restored(b, d, base)
		own += time.Since(began)
		began = time.Now()
		db.Exec(b, "ANALYZE")
		analyzed += time.Since(began)
	}
	b.SetBytes(size)
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(other.Seconds()/float64(b.N), "bare-s")
	b.ReportMetric(own.Seconds()/float64(b.N), "restore-s")
	b.ReportMetric(analyzed.Seconds()/float64(b.N), "analyze-s")
	b.ReportMetric(other.Seconds()/own.Seconds(), "of-bare")
	b.ReportMetric(other.Seconds()/(own-analyzed).Seconds(), "of-bare-without-analyze")
}
