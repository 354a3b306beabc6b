package snapshot_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/backup"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
)

func TestMain(m *testing.M) {
	code := servicestest.Run(m)
	if err := goleak.Find(); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = max(code, 1)
	}
	os.Exit(code)
}

// patience bounds what a test waits for.
const patience = 30 * time.Second

func config(tb testing.TB, db *postgrestest.Database) *pgx.ConnConfig {
	tb.Helper()
	parsed, err := pgx.ParseConfig(db.URL)
	if err != nil {
		tb.Fatalf("parse the test's address: %v", err)
	}
	return parsed
}

// source is one that waits long for locks.
func source(tb testing.TB, db *postgrestest.Database) *snapshot.Source {
	tb.Helper()
	return snapshot.New(config(tb, db), snapshot.Options{LockTimeout: patience})
}

// held is a snapshot of the database, closed with the test.
func held(tb testing.TB, db *postgrestest.Database) backup.Snapshot {
	tb.Helper()
	s, err := source(tb, db).Snapshot(tb.Context())
	if err != nil {
		tb.Fatalf("take a snapshot: %v", err)
	}
	closeAtEnd(tb, s)
	return s
}

func closeAtEnd(tb testing.TB, s interface{ Close(context.Context) error }) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(tb.Context())); err != nil && !errors.Is(err, snapshot.ErrGone) {
			tb.Errorf("close: %v", err)
		}
	})
}

func joined(tb testing.TB, s backup.Snapshot) backup.Reader {
	tb.Helper()
	r, err := s.Reader(tb.Context())
	if err != nil {
		tb.Fatalf("open a reader: %v", err)
	}
	closeAtEnd(tb, r)
	return r
}

// table is a table of public in the snapshot.
func table(tb testing.TB, s backup.Snapshot, name string) backup.Table {
	tb.Helper()
	for _, t := range s.Content().Tables {
		if t.Name == (body.Name{Schema: "public", Name: name}) {
			return t
		}
	}
	tb.Fatalf("the snapshot has no table %q", name)
	return backup.Table{}
}

// session is one more session with the database.
func session(tb testing.TB, db *postgrestest.Database) *postgrestest.Database {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), db.URL)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(tb.Context())) })
	return &postgrestest.Database{URL: db.URL, Conn: conn}
}

// copied is the rows of a part, as fields in COPY's binary form, in their order.
func copied(tb testing.TB, r backup.Reader, t backup.Table, part backup.Range) [][]string {
	tb.Helper()
	var out bytes.Buffer
	n, err := r.Copy(tb.Context(), t, part, &out)
	if err != nil {
		tb.Fatalf("copy %v: %v", part, err)
	}
	rows := tuples(tb, out.Bytes())
	if int(n) != len(rows) {
		tb.Fatalf("copied %d rows and said %d", len(rows), n)
	}
	return rows
}

// tuples reads COPY's binary form.
func tuples(tb testing.TB, data []byte) [][]string {
	tb.Helper()
	const header = 19
	if len(data) < header || !bytes.HasPrefix(data, []byte("PGCOPY\n\xff\r\n\x00")) {
		tb.Fatalf("%d bytes are no binary COPY", len(data))
	}
	rows := [][]string{}
	for data = data[header:]; ; {
		count := int16(binary.BigEndian.Uint16(data)) //nolint:gosec // -1 ends the rows
		data = data[2:]
		if count < 0 {
			return rows
		}
		row := []string{}
		for range count {
			size := int32(binary.BigEndian.Uint32(data)) //nolint:gosec // -1 is NULL
			data = data[4:]
			if size < 0 {
				row = append(row, "NULL")
				continue
			}
			row, data = append(row, string(data[:size])), data[size:]
		}
		rows = append(rows, row)
	}
}

// eventually waits until the database says yes.
func eventually(tb testing.TB, db *postgrestest.Database, question string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	for {
		var yes bool
		err := db.Conn.QueryRow(ctx, "SELECT ("+question+") FROM pg_sleep(0.01)").Scan(&yes)
		if err != nil {
			tb.Fatalf("%s: %v", question, err)
		}
		if yes {
			return
		}
	}
}

const (
	backupWaits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'" +
		" AND application_name = 'tidemark backup'"
	backupIsThere = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database()" +
		" AND application_name = 'tidemark backup'"
)

// during takes a snapshot whose locks wait for what another session has begun; meanwhile is done while they wait.
func during(t *testing.T, db *postgrestest.Database, from *snapshot.Source, begun string, meanwhile func()) (backup.Snapshot, error) {
	t.Helper()
	blocker := session(t, db)
	blocker.Exec(t, "BEGIN; "+begun)
	type result struct {
		s   backup.Snapshot
		err error
	}
	taken := make(chan result, 1)
	go func() {
		s, err := from.Snapshot(t.Context())
		taken <- result{s, err}
	}()
	eventually(t, db, backupWaits)
	meanwhile()
	blocker.Exec(t, "COMMIT")
	select {
	case r := <-taken:
		if r.err == nil {
			closeAtEnd(t, r.s)
		}
		return r.s, r.err
	case <-time.After(patience):
		t.Fatal("no snapshot came")
		return nil, nil
	}
}

func names(s backup.Snapshot) []string {
	var all []string
	for _, t := range s.Content().Tables {
		if t.Schema != postgrestest.Schema {
			all = append(all, t.String())
		}
	}
	return all
}

func stateOf(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}
