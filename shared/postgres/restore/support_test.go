package restore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/apply"
	"tidemark/shared/archive/layout"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/capture"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
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

const (
	runID     = "0190c5ae-7e1f-7abc-8def-0123456789ac"
	otherRun  = "0190c5ae-7e1f-7abc-8def-0123456789ad"
	backupRun = "0190c5ae-7e1f-7abc-8def-0123456789ae"
	newLife   = "0190c5ae-7e1f-7abc-8def-0123456789ff"
)

func tryOf(run manifest.RunID) recovery.Try {
	return recovery.Try{
		RunID: run, TargetID: postgrestest.TargetID, Lineage: 2, Incarnation: newLife,
		Base: layout.ID{Lineage: 1, Seq: 7, Run: backupRun}, Statement: manifest.DigestOf([]byte("statement")),
		Ends: body.Cut{{Flow: "shop", Topic: "orders", NextOffset: 99}}, Began: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Actor: "ops",
	}
}

// store holds the chunks of a base, as an archive does.
type store struct {
	mu      sync.Mutex
	plain   map[manifest.Digest][]byte
	fetched int
}

func (s *store) put(plain []byte) manifest.Object {
	digest := manifest.DigestOf(plain)
	s.plain[digest] = plain
	return manifest.Object{Digest: digest, Size: int64(len(plain)), Plain: digest, PlainSize: int64(len(plain))}
}

// fetch gives bytes whose digest is right.
func (s *store) fetch(_ context.Context, object manifest.Object) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched++
	plain := s.plain[object.Digest]
	if manifest.DigestOf(plain) != object.Plain {
		return nil, fault.New(fault.Corrupt, "object %s has other bytes", object.Digest)
	}
	return plain, nil
}

// baseOf backs a database up by hand, into chunks of so many rows.
func baseOf(tb testing.TB, db *postgrestest.Database, rowsInChunk int) (recovery.Base, *store) {
	tb.Helper()
	schema := read(tb, db)
	s := &store{plain: map[manifest.Digest][]byte{}}
	b := body.Body{
		Version: 1, TargetID: postgrestest.TargetID, Lineage: 1, Seq: 7, RunID: backupRun, Snapshot: snapshotOf(tb, db),
		Definitions: schema.Definitions, Sequences: schema.Sequences, Uncaptured: schema.Uncaptured,
	}
	for _, t := range schema.Tables {
		for _, c := range chunksOf(tb, db, t, rowsInChunk) {
			c.Object, t.Rows = s.put(c.plain), t.Rows+c.Rows
			t.Chunks = append(t.Chunks, c.Chunk)
		}
		b.Tables = append(b.Tables, t)
	}
	return recovery.Base{Body: b, Fetch: s.fetch, Try: tryOf(runID), Jobs: 2}, s
}

func snapshotOf(tb testing.TB, db *postgrestest.Database) body.Snapshot {
	tb.Helper()
	s := body.Snapshot{Database: "shop", LedgerSchema: postgrestest.Schema, LedgerVersion: 3, LSN: "0/1"}
	err := db.Conn.QueryRow(tb.Context(), `SELECT current_setting('server_version_num')::integer, pg_encoding_to_char(encoding),
		concat_ws(' ', datlocprovider, datcollate, daticulocale, pg_database_collation_actual_version(oid))
		FROM pg_database WHERE datname = current_database()`).Scan(&s.ServerVersion, &s.Encoding, &s.Collation)
	if err != nil {
		tb.Fatalf("ask the server: %v", err)
	}
	return s
}

type plainChunk struct {
	body.Chunk

	plain []byte
}

const copyHeader = 19

// chunksOf cuts what COPY gives of a table.
func chunksOf(tb testing.TB, db *postgrestest.Database, t body.Table, rowsInChunk int) []plainChunk {
	tb.Helper()
	var names []string
	for _, c := range t.Columns {
		names = append(names, postgres.QuoteName(c.Name))
	}
	var out bytes.Buffer
	db.CopyTo(tb, &out, "COPY (SELECT "+strings.Join(names, ", ")+" FROM ONLY "+postgres.QuoteTable(t.Schema, t.Name.Name)+
		") TO STDOUT (FORMAT binary)")
	header, left := out.Bytes()[:copyHeader], out.Bytes()[copyHeader:]
	chunks := []plainChunk{{plain: slices.Clone(header)}}
	for int16(binary.BigEndian.Uint16(left)) >= 0 { //nolint:gosec // -1 ends the rows
		if last := &chunks[len(chunks)-1]; last.Rows == int64(rowsInChunk) {
			chunks = append(chunks, plainChunk{plain: slices.Clone(header)})
		}
		size := 2
		for range binary.BigEndian.Uint16(left) {
			size += 4 + int(max(0, int32(binary.BigEndian.Uint32(left[size:])))) //nolint:gosec // -1 is NULL
		}
		last := &chunks[len(chunks)-1]
		last.plain, last.Rows, left = append(last.plain, left[:size]...), last.Rows+1, left[size:]
	}
	for i := range chunks {
		chunks[i].plain = append(chunks[i].plain, 0xff, 0xff)
	}
	return chunks
}

// read captures the database as a backup does.
func read(tb testing.TB, db *postgrestest.Database) capture.Schema {
	tb.Helper()
	tx, err := db.Conn.BeginTx(tb.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		tb.Fatalf("begin: %v", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(tb.Context())) }()
	schema, err := capture.Read(tb.Context(), tx)
	if err != nil {
		tb.Fatalf("capture: %v", err)
	}
	return schema
}

// rich is a live target with everything that a database may have, rows and positions.
func rich(tb testing.TB) *postgrestest.Database {
	tb.Helper()
	db := postgrestest.Live(tb, "")
	for _, name := range []string{"rich.sql", "rows.sql"} {
		content, err := os.ReadFile(filepath.Clean("../capture/testdata/" + name))
		if err != nil {
			tb.Fatal(err)
		}
		db.Exec(tb, string(content))
	}
	fillLedger(tb, db)
	db.Exec(tb, "RESET ALL")
	return db
}

// fillLedger gives a target positions and a past.
func fillLedger(tb testing.TB, db *postgrestest.Database) {
	tb.Helper()
	db.Exec(tb, `
		INSERT INTO tidemark.checkpoint (flow, topic, partition, next_offset, incarnation, generation)
			SELECT 'shop', 'orders', p, 100 + p, (SELECT incarnation FROM tidemark.target), 1 FROM generate_series(0, 2) AS p;
		INSERT INTO tidemark.checkpoint (flow, topic, partition, next_offset, incarnation)
			SELECT 'web', 'clicks', 0, 5, incarnation FROM tidemark.target;
		INSERT INTO tidemark.gap (flow, topic, partition, from_offset, until_offset, how, who) VALUES ('shop', 'orders', 0, 0, 7, 'origin', 'x');
		INSERT INTO tidemark.backup_run (run_id, lineage, seq, incarnation, attempt, state, actor)
			SELECT '`+backupRun+`', 1, 7, incarnation, 1, 'running', 'x' FROM tidemark.target`)
}

// target is an empty database and the adapter for it.
func target(tb testing.TB, options restore.Options) (*postgrestest.Database, *restore.Database) {
	tb.Helper()
	db := postgrestest.Empty(tb)
	return db, at(tb, db, options)
}

func at(tb testing.TB, db *postgrestest.Database, options restore.Options) *restore.Database {
	tb.Helper()
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		tb.Fatalf("parse the test's address: %v", err)
	}
	return restore.New(config, options)
}

func claimed(tb testing.TB, d *restore.Database) {
	tb.Helper()
	if err := d.Claim(tb.Context(), tryOf(runID)); err != nil {
		tb.Fatalf("claim: %v", err)
	}
}

func restored(tb testing.TB, d *restore.Database, b recovery.Base) recovery.Restored {
	tb.Helper()
	got, err := d.Restore(tb.Context(), b)
	if err != nil {
		tb.Fatalf("restore: %v", err)
	}
	return got
}

func settled(tb testing.TB, d *restore.Database) {
	tb.Helper()
	end := recovery.Settlement{Try: tryOf(runID), State: apply.StateLive, Report: map[string]any{"applied": 3}}
	if err := d.Settle(tb.Context(), end); err != nil {
		tb.Fatalf("settle: %v", err)
	}
}

// sameRows compares all rows of all tables and filled views, but those of the ledger that a recovery changes.
func sameRows(tb testing.TB, original, copied *postgrestest.Database) {
	tb.Helper()
	names := []string{}
	for _, t := range read(tb, original).Tables {
		if t.Schema != postgrestest.Schema || !slices.Contains([]string{"target", "checkpoint", "audit"}, t.Name.Name) {
			names = append(names, "ONLY "+postgres.QuoteTable(t.Schema, t.Name.Name))
		}
	}
	names = append(names, strings.Fields(original.Copy(tb, "SELECT oid::regclass FROM pg_class WHERE relkind = 'm' AND relispopulated"))...)
	filled := 0
	for _, name := range names {
		query := `SELECT t::text FROM ` + name + ` AS t ORDER BY t::text COLLATE "C"`
		rows := original.Copy(tb, query)
		if rows != "" {
			filled++
		}
		if diff := cmp.Diff(rows, copied.Copy(tb, query)); diff != "" {
			tb.Errorf("rows of %s (-original +restored):\n%s", name, diff)
		}
	}
	if filled == 0 {
		tb.Error("no table has rows to compare")
	}
}

// sameSchema compares what a backup would say of both, with where sequences stand unless they were raised.
func sameSchema(tb testing.TB, want capture.Schema, copied *postgrestest.Database, raised ...string) {
	tb.Helper()
	ignore := cmp.Options{
		cmpopts.IgnoreFields(body.Column{}, "OID"), cmpopts.EquateEmpty(),
		cmpopts.IgnoreSliceElements(func(s body.Sequence) bool { return slices.Contains(raised, s.String()) }),
	}
	if diff := cmp.Diff(want, read(tb, copied), ignore); diff != "" {
		tb.Errorf("captured again (-original +restored):\n%s", diff)
	}
}

// life is the ledger's word on the target.
func life(tb testing.TB, db *postgrestest.Database) string {
	tb.Helper()
	return strings.TrimSpace(db.Copy(tb, "SELECT target_id, incarnation, lineage, state FROM tidemark.target"))
}

const restoringLife = "test-target\t" + newLife + "\t2\trestoring"

// refusedAs checks an error's class and that it names something.
func refusedAs(tb testing.TB, err error, class fault.Class, names ...string) {
	tb.Helper()
	if !fault.Is(err, class) {
		tb.Errorf("got %v of class %s, want %s", err, fault.ClassOf(err), class)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			tb.Errorf("got %q, want %q in it", err, name)
		}
	}
	if (class == fault.Misconfigured || class == fault.Fenced) && fault.HintOf(err) == "" {
		tb.Errorf("%v has no hint", err)
	}
}
