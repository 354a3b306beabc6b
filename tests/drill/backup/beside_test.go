//go:build drill

package backup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
	"tidemark/tests/internal/harness"
)

// changed is a database of which one transaction changes three things: rows go by TRUNCATE, a column comes, and a row says so.
const changed = `CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item SELECT generate_series(1, 50);
	CREATE TABLE other (id int PRIMARY KEY); INSERT INTO other SELECT generate_series(1, 50); CREATE TABLE marker (id int PRIMARY KEY);`

// TestOthersAtEveryEffect lets another session truncate one table and alter another, in one transaction, at each statement of
// a backup between its claim and the end of its snapshot. Either waits, or is in the backup as a whole: never is a table
// empty whose rows were there. A backup that cannot have its locks says so, lists nothing, and can be made again.
func TestOthersAtEveryEffect(t *testing.T) {
	t.Parallel()
	p := newProxied(t, changed, 1)
	other, err := pgx.Connect(t.Context(), p.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.WithoutCancel(t.Context())) }() // the database goes with its sessions
	backUp(t, p.inProcess(t, 1, quick()))
	o := p.origin(t)
	p.proxy.Watch()
	backUp(t, p.inProcess(t, 1, quick()))
	effects := p.proxy.Effects()
	told, first := map[string]int{}, secondConnect(t, effects)
	reading := slices.IndexFunc(effects, func(e harness.Effect) bool { return e.Text == "select to_regclass" })
	reached := 0
	for i, at := range effects[:len(effects)-2] {
		if i < first || i > reading && i%3 > 0 { // from the first rows on its readers do the same again and again
			continue
		}
		reached++
		p.reset(t, o, other.PgConn().PID())
		told[p.changeAt(t, other, at)]++
		if t.Failed() {
			t.Fatalf("at effect %s", at)
		}
	}
	t.Logf("%d effects reached: %v", reached, told)
	for _, outcome := range []string{"before", "after", "gave up"} {
		if told[outcome] == 0 {
			t.Errorf("no backup ended as: %s", outcome)
		}
	}
}

// quick waits less for locks than backups do.
func quick() snapshot.Options { return snapshot.Options{LockTimeout: 100 * time.Millisecond, Tries: 3} }

// secondConnect is where the snapshot's own session begins, behind the claim's.
func secondConnect(t *testing.T, effects []harness.Effect) int {
	t.Helper()
	for i, e := range effects {
		if i > 0 && e.Text == harness.Connect {
			return i
		}
	}
	t.Fatalf("there is no second session among %v", effects)
	return 0
}

// changeAt lets the other session act at one effect and says which state the backup shows.
func (p *proxied) changeAt(t *testing.T, other *pgx.Conn, at harness.Effect) string {
	t.Helper()
	statements := []string{"TRUNCATE item", "ALTER TABLE other ADD COLUMN extra int NOT NULL DEFAULT 7"}
	if at.Number%2 == 0 {
		statements[0], statements[1] = statements[1], statements[0]
	}
	ended := make(chan error, 1)
	p.proxy.Arm(harness.Trigger{Number: at.Number, Act: func(harness.Point) harness.Verdict {
		go func() {
			_, err := other.PgConn().Exec(t.Context(),
				"BEGIN; "+strings.Join(statements, "; ")+"; INSERT INTO marker VALUES (1); COMMIT").ReadAll()
			ended <- err
		}()
		p.settled(t, other.PgConn().PID())
		return harness.Pass
	}})
	_, err := backup.Run(t.Context(), p.inProcess(t, 1, quick()))
	if met, fired := p.proxy.Fired(); !fired || met.Effect != at {
		t.Fatalf("the other session did not act at %s: fired %v at %s, of %v; %v", at, fired, met.Effect, p.proxy.Effects(), err)
	}
	p.proxy.Watch()
	if err := <-ended; err != nil {
		t.Errorf("the other session: %v", err)
	}
	now := p.sound(t)
	p.db.Exec(t, "DELETE FROM marker; INSERT INTO item SELECT generate_series(1, 50); ALTER TABLE other DROP COLUMN extra")
	if err != nil {
		if !fault.Is(err, fault.Retryable) || !strings.Contains(err.Error(), "lock the tables") || len(now) != 1 {
			t.Errorf("got %s, and %d manifests; want it retryable, with what it waited for, and the first alone", fault.Line(err), len(now))
		}
		return "gave up"
	}
	return shown(t, now[now.newest()])
}

// settled waits until a session is done or waits for a lock.
func (p *proxied) settled(t *testing.T, pid uint32) {
	t.Helper()
	is := func() bool {
		state := p.db.Copy(t, fmt.Sprintf("SELECT state, wait_event_type FROM pg_stat_activity WHERE pid = %d", pid))
		return strings.HasSuffix(state, "\tLock\n") || strings.HasPrefix(state, "idle\t") &&
			p.db.Copy(t, "SELECT count(*) FROM marker") == "1\n"
	}
	if !eventually(t.Context(), is) {
		t.Error("the other session neither waits nor is done")
	}
}

// shown says which of the two states a body shows.
func shown(t *testing.T, b body.Body) string {
	t.Helper()
	rows, columns, marks := tableOf(t, b, "public", "item").Rows, len(tableOf(t, b, "public", "other").Columns),
		tableOf(t, b, "public", "marker").Rows
	switch {
	case rows == 50 && columns == 1 && marks == 0:
		return "before"
	case rows == 0 && columns == 2 && marks == 1:
		return "after"
	}
	t.Errorf("item has %d rows, other %d columns, marker %d rows: no state was ever so", rows, columns, marks)
	return ""
}

// TestLockThatIsNotToBeHad is about a session that holds a table and does not let go.
func TestLockThatIsNotToBeHad(t *testing.T) {
	t.Parallel()
	v := newVault(t, kiosk, 1)
	v.db.Exec(t, "BEGIN; LOCK TABLE item IN ACCESS EXCLUSIVE MODE")
	_, err := backup.Run(t.Context(), v.inProcess(t, 1, quick()))
	line := fault.Line(err)
	if !fault.Is(err, fault.Retryable) || !strings.Contains(line, "lock the tables") || !strings.Contains(line, "another session") {
		t.Errorf("got %s, want it retryable, with what was waited for", line)
	}
	v.db.Exec(t, "COMMIT")
	if listed := v.sound(t); len(listed) != 0 {
		t.Errorf("%d manifests are listed", len(listed))
	}
	if states := v.db.Copy(t, "SELECT state FROM tidemark.backup_run"); states != "failed\n" {
		t.Errorf("the ledger says %q", states)
	}
	v.run(t, 0)
}

// TestSequencesAreAhead takes backups while sessions insert rows by sequences, one upwards and one downwards: no row of a backup
// has a number that its sequence would give again.
func TestSequencesAreAhead(t *testing.T) {
	t.Parallel()
	const tables = "CREATE TABLE up (id bigint PRIMARY KEY); CREATE TABLE down (id bigint PRIMARY KEY)"
	v, scratch := newVault(t, tables+`; CREATE SEQUENCE down_ids INCREMENT BY -3 MAXVALUE -1 MINVALUE -9000000000 START WITH -1;
		ALTER TABLE up ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY; ALTER TABLE down ALTER COLUMN id SET DEFAULT nextval('down_ids')`, 1),
		postgrestest.Empty(t)
	scratch.Exec(t, tables)
	stop := v.insert(t)
	defer stop()
	a, ahead := v.archive(t), 0
	for range 12 {
		backUp(t, v.inProcess(t, 2, snapshot.Options{}))
		b := newest(t, a).Body
		scratch.Exec(t, "TRUNCATE up, down")
		load(t, a, scratch, tableOf(t, b, "public", "up"))
		load(t, a, scratch, tableOf(t, b, "public", "down"))
		var highest, lowest int64
		if err := scratch.Conn.QueryRow(t.Context(), "SELECT coalesce(max(up.id), 0), (SELECT coalesce(min(id), 0) FROM down) FROM up").
			Scan(&highest, &lowest); err != nil {
			t.Fatal(err)
		}
		up, down := sequenceOf(t, b, "up_id_seq"), sequenceOf(t, b, "down_ids")
		if !up.Called || !down.Called || up.Last < highest || down.Last > lowest {
			t.Errorf("rows go up to %d and down to %d, the sequences stand at %+v and %+v", highest, lowest, up, down)
		}
		if up.Last > highest || down.Last < lowest {
			ahead++
		}
	}
	t.Logf("in %d of 12 backups a sequence was ahead of the rows", ahead)
	if ahead == 0 {
		t.Error("no sequence was ever ahead: nobody inserted during a snapshot")
	}
}

func sequenceOf(t *testing.T, b body.Body, name string) body.Sequence {
	t.Helper()
	for _, s := range b.Sequences {
		if s.Name.Name == name {
			return s
		}
	}
	t.Fatalf("sequence %s is not in the manifest", name)
	return body.Sequence{}
}

// insert inserts rows as fast as a session can, until it is stopped.
func (v *vault) insert(t *testing.T) (stop func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), v.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := conn.Exec(ctx, "INSERT INTO up DEFAULT VALUES"); err != nil {
				ended <- err
				return
			}
			if _, err := conn.Exec(ctx, "INSERT INTO down DEFAULT VALUES"); err != nil {
				ended <- err
				return
			}
		}
	}()
	await(t, "the first rows", func() bool { return v.db.Copy(t, "SELECT count(*) > 1 FROM down") == "t\n" })
	return func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("insert: %v", err)
		}
		_ = conn.Close(context.WithoutCancel(t.Context())) // it was broken
	}
}
