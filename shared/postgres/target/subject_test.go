package target_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
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
const patience = 20 * time.Second

const itemDDL = "CREATE TABLE item (id text PRIMARY KEY, body text CHECK (body <> 'refused'));"

// subject is a live database with the suite's table and a target on it.
type subject struct {
	*target.Target

	t  *testing.T
	db *postgrestest.Database
}

// open makes a database with the suite's table and ddl, and a target on it as options say.
func open(t *testing.T, ddl string, options target.Options) *subject {
	t.Helper()
	return on(t, postgrestest.Live(t, itemDDL+ddl), options)
}

// on puts a target on a database. An address in options leads there by another way.
func on(t *testing.T, db *postgrestest.Database, options target.Options) *subject {
	t.Helper()
	if options.Database == "" {
		options.Database = db.URL
	}
	options.Flow = applytest.Flow
	if options.Now == nil {
		options.Now = time.Now
	}
	opened, err := target.New(options)
	if err != nil {
		t.Fatalf("make a target: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		opened.Close(ctx)
	})
	return &subject{Target: opened, t: t, db: db}
}

func (s *subject) bench(options apply.Options) *applytest.Bench {
	s.t.Helper()
	return applytest.NewBench(s.t, s, options)
}

// between is a bench whose first transaction meets do between its Begin and its Commit.
func (s *subject) between(do func()) *applytest.Bench {
	s.t.Helper()
	return applytest.NewBench(s.t, &interrupted{Subject: s, do: do}, apply.Options{})
}

type interrupted struct {
	applytest.Subject

	once sync.Once
	do   func()
}

func (i *interrupted) Begin(ctx context.Context, opening apply.Opening) (apply.Transaction, error) {
	tx, err := i.Subject.Begin(ctx, opening)
	if err == nil {
		i.once.Do(i.do)
	}
	return tx, err
}

// endSessions ends what other sessions of the database are in that state, and waits until they are gone.
func (s *subject) endSessions(state string) {
	s.t.Helper()
	s.db.Exec(s.t, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database()"+
		" AND pid <> pg_backend_pid() AND state = '"+state+"'")
}

// Rows are the rows of item. See applytest.Subject.
func (s *subject) Rows() map[string]string {
	s.t.Helper()
	rows := map[string]string{}
	for line := range strings.Lines(s.db.Copy(s.t, "SELECT id, body FROM public.item")) {
		id, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		rows[id] = body
	}
	return rows
}

// Checkpoints is where partitions stand. See applytest.Subject.
func (s *subject) Checkpoints() position.Cut {
	s.t.Helper()
	cut := position.Cut{}
	text := s.db.Copy(s.t, "SELECT topic, partition, next_offset FROM tidemark.checkpoint WHERE flow = '"+applytest.Flow+"'")
	for line := range strings.Lines(text) {
		var p position.Partition
		var next position.Offset
		if _, err := fmt.Sscan(line, &p.Topic, &p.Number, &next); err != nil {
			s.t.Fatalf("read a checkpoint: %v", err)
		}
		cut[p] = next
	}
	return cut
}

// Life is the target row. See applytest.Subject.
func (s *subject) Life() applytest.Life {
	s.t.Helper()
	var life applytest.Life
	_, err := fmt.Sscan(s.db.Copy(s.t, "SELECT target_id, incarnation, state, EXISTS (SELECT FROM tidemark.quarantine"+
		" WHERE state = 'parked') FROM tidemark.target"), &life.TargetID, &life.Incarnation, &life.State, new(string))
	if err != nil {
		s.t.Fatalf("read the target row: %v", err)
	}
	return life
}

// SetLife locks the checkpoints first, as whoever changes the target row must. See applytest.Subject.
func (s *subject) SetLife(life applytest.Life) {
	s.t.Helper()
	parked := "DELETE FROM tidemark.quarantine"
	if life.Parked {
		parked = "INSERT INTO tidemark.quarantine (flow, topic, partition, \"offset\", fault_class, reason, state)" +
			" VALUES ('" + applytest.Flow + "', 'orders', 0, 0, 'poison', 'a test', 'parked')"
	}
	s.db.Exec(s.t, fmt.Sprintf("BEGIN; SELECT 1 FROM tidemark.checkpoint ORDER BY flow, topic, partition FOR UPDATE;"+
		" UPDATE tidemark.target SET target_id = '%s', incarnation = '%s', state = '%s';"+
		" UPDATE tidemark.checkpoint SET incarnation = '%[2]s'; %[4]s; COMMIT",
		life.TargetID, life.Incarnation, life.State, parked))
}

// session is a second session on the subject's database, beside the one that reads it.
func (s *subject) session() *postgrestest.Database {
	s.t.Helper()
	return another(s.t, s.db.URL)
}

// awaitWaiter returns when a session of the database waits for a lock.
func (s *subject) awaitWaiter() {
	s.t.Helper()
	s.await("SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
}

// await asks the database again and again until the answer is true.
func (s *subject) await(question string) {
	s.t.Helper()
	eventually(s.t, question, func() bool { return s.db.Copy(s.t, question) == "t\n" })
}

// eventually asks until the answer is yes, and fails the test when its patience ends.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}

// within bounds a call of Apply.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// span is the range [from, until).
func span(from, until position.Offset) position.Range {
	return position.Range{From: from, Until: until}
}

// items is a run of partition 0.
func items(from, until position.Offset, body string) record.Run {
	return applytest.Items(applytest.P(0), span(from, until), body)
}

// at0 is the cut that has partition 0 alone.
func at0(next position.Offset) position.Cut { return position.Cut{applytest.P(0): next} }

func mustBe(t *testing.T, err error, class fault.Class, parts ...string) {
	t.Helper()
	if !fault.Is(err, class) {
		t.Errorf("got %v (%s), want %s", err, fault.ClassOf(err), class)
		return
	}
	for _, part := range parts {
		if !strings.Contains(fault.Line(err), part) {
			t.Errorf("got %q, want %q in it", fault.Line(err), part)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	applytest.Exercise(t, func(t *testing.T) applytest.Subject {
		t.Helper()
		return open(t, "", target.Options{Connections: 4})
	})
}

// another is a session of its own on the database at url.
func another(t *testing.T, url string) *postgrestest.Database {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("open another session: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) }) // the database is dropped with its sessions
	return &postgrestest.Database{URL: url, Conn: conn}
}
