package writer_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/apply"
	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

const flowName = "orders"

// flow drives changes through a target into a database of its own.
type flow struct {
	*postgrestest.Database
	target *target.Target
}

func newFlow(tb testing.TB, ddl string) *flow {
	tb.Helper()
	db := postgrestest.Live(tb, ddl)
	return &flow{Database: db, target: newTarget(tb, db.URL, 2)}
}

// hasExtensions says whether the server has the extensions that ddl makes, and reports what it lacks: everything else is
// tested on any server.
func hasExtensions(tb testing.TB, f *flow, ddl string) bool {
	tb.Helper()
	for part := range strings.SplitSeq(ddl, ";") {
		extension, ok := strings.CutPrefix(strings.TrimSpace(part), "CREATE EXTENSION ")
		if !ok {
			continue
		}
		extension, _, _ = strings.Cut(extension, " ")
		if f.Copy(tb, "SELECT 1 FROM pg_available_extensions WHERE name = '"+extension+"'") == "" {
			tb.Logf("the server has no extension %s: what needs it is not tested here", extension)
			return false
		}
	}
	return true
}

func newTarget(tb testing.TB, url string, connections int) *target.Target {
	tb.Helper()
	options := target.Options{Database: url, Flow: flowName, Connections: connections, Now: time.Now}
	options.Unprepared = true // types of one name are made and dropped over one session
	made, err := target.New(options)
	if err != nil {
		tb.Fatalf("make a target: %v", err)
	}
	tb.Cleanup(func() { made.Close(context.WithoutCancel(tb.Context())) })
	return made
}

// as is the flow as another user of the database sees it.
func (f *flow) as(tb testing.TB, role string) *flow {
	tb.Helper()
	config, err := pgconn.ParseConfig(f.URL)
	if err != nil {
		tb.Fatalf("parse the test's address: %v", err)
	}
	address := fmt.Sprintf("host=%s port=%d dbname=%s user=%[4]s password=%[4]s sslmode=disable",
		config.Host, config.Port, config.Database, role)
	return &flow{Database: f.Database, target: newTarget(tb, address, 1)}
}

// begin opens a transaction that the test ends.
func (f *flow) begin(tb testing.TB) apply.Transaction {
	tb.Helper()
	tx, err := f.target.Begin(tb.Context(), apply.Opening{Flow: flowName})
	if err != nil {
		tb.Fatalf("begin: %v", err)
	}
	return tx
}

// try applies changes in one transaction and returns the refusal.
func (f *flow) try(tb testing.TB, changes ...change.Change) error {
	tb.Helper()
	return f.begin(tb).Commit(tb.Context(), workOf(changes...))
}

// must applies changes in one transaction that has to pass.
func (f *flow) must(tb testing.TB, changes ...change.Change) {
	tb.Helper()
	if err := f.try(tb, changes...); err != nil {
		tb.Fatalf("apply: %v", err)
	}
}

func workOf(changes ...change.Change) apply.Work {
	work := apply.Work{Flow: flowName}
	for _, c := range changes {
		work.Groups = append(work.Groups, reduction.Group{Relation: c.Relation, Op: c.Op, Changes: []change.Change{c}})
	}
	return work
}

// inBulk applies changes of one relation and operation as one bulk group.
func (f *flow) inBulk(tb testing.TB, group reduction.Group, changes ...change.Change) error {
	tb.Helper()
	group.Relation, group.Op, group.Changes, group.Bulk = changes[0].Relation, changes[0].Op, changes, true
	return f.begin(tb).Commit(tb.Context(), apply.Work{Flow: flowName, Groups: []reduction.Group{group}})
}

// session is one more session in the flow's database.
func (f *flow) session(tb testing.TB) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), f.URL)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(tb.Context())) })
	return conn
}

// table makes changes of one relation.
type table struct{ *change.Relation }

func (f *flow) table(tb testing.TB, name string) table {
	tb.Helper()
	return f.named(tb, change.Name{Schema: "public", Table: name})
}

func (f *flow) named(tb testing.TB, name change.Name) table {
	tb.Helper()
	relation, err := f.target.Relation(tb.Context(), name)
	if err != nil {
		tb.Fatalf("read the catalog of %s: %v", name, err)
	}
	return table{relation}
}

// gone stands for a cell that the record does not carry.
type gone struct{}

// cells makes cells: a string is a text, nil is NULL, gone is missing.
func cells(values ...any) []change.Value {
	out := make([]change.Value, 0, len(values))
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			out = append(out, change.Null())
		case gone:
			out = append(out, change.Missing())
		case string:
			out = append(out, change.Text([]byte(v)))
		default:
			panic(fmt.Sprintf("a cell of type %T", v))
		}
	}
	return out
}

func (t table) keyOf(row []change.Value) []change.Value {
	var key []change.Value
	for _, i := range t.Key {
		key = append(key, row[i])
	}
	return key
}

func (t table) insert(values ...any) change.Change {
	row := cells(values...)
	return change.Change{Relation: t.Relation, Op: change.Insert, Row: row, Key: t.keyOf(row)}
}

// update changes the row whose key stands in values.
func (t table) update(values ...any) change.Change {
	c := t.insert(values...)
	c.Op = change.Update
	return c
}

// replace changes the row that equals old, in a table without a key.
func (t table) replace(old []change.Value, values ...any) change.Change {
	c := t.update(values...)
	c.Old = old
	return c
}

func (t table) delete(key ...any) change.Change {
	return change.Change{Relation: t.Relation, Op: change.Delete, Key: cells(key...)}
}

// remove deletes the row that equals old, in a table without a key.
func (t table) remove(old ...any) change.Change {
	return change.Change{Relation: t.Relation, Op: change.Delete, Old: cells(old...)}
}

func (t table) truncate() change.Change {
	return change.Change{Relation: t.Relation, Op: change.Truncate}
}

// wantRows compares a query's rows, as COPY prints them, with the lines wanted.
func (f *flow) wantRows(tb testing.TB, query string, want ...string) {
	tb.Helper()
	got := f.Copy(tb, query)
	if wanted := lines(want...); got != wanted {
		tb.Errorf("%s\n got:\n%s want:\n%s", query, got, wanted)
	}
}

func lines(rows ...string) string {
	if len(rows) == 0 {
		return ""
	}
	return strings.Join(rows, "\n") + "\n"
}

// wantFault checks class and SQLSTATE of a refusal.
func wantFault(tb testing.TB, err error, class fault.Class, state string) {
	tb.Helper()
	if !fault.Is(err, class) || stateOf(err) != state {
		tb.Errorf("got %v with SQLSTATE %q (%v), want %v with %q", fault.ClassOf(err), stateOf(err), err, class, state)
	}
}

func name(schema, table string) change.Name { return change.Name{Schema: schema, Table: table} }
