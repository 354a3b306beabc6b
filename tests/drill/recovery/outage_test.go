//go:build drill

package recovery_test

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/localstack/services"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/record"
	"tidemark/tests/internal/harness"
)

// TestOutage takes away what a recovery works with while it does: the broker, the database, the archive's folder. It waits, or
// stops with the code of what is away, and the same command goes on.
//
// The log behind the backup is more than the command reads ahead.
func TestOutage(t *testing.T) { //nolint:tparallel // each takes away what the next one needs
	t.Parallel()
	w := newWorld(t)
	const large, records = 512 << 10, 40
	random, noise := rand.NewChaCha8([32]byte{1}), make([]byte, large)
	var tail []record.Record
	for id := range records {
		_, _ = random.Read(noise) // it never fails; what compresses would be one answer
		tail = append(tail, note(100+id, base64.StdEncoding.EncodeToString(noise)))
	}
	if _, err := w.log.Publish(t.Context(), record.Batch{run(1, tail...)}); err != nil {
		t.Fatal(err)
	}
	clean := newSweep(t, w)
	clean.run(t, 0, clean.own(), recovering()...)
	want := state(t, clean.db)
	for name, outage := range map[string]func(t *testing.T, s *sweep){
		"TheDatabase": databaseAway, "TheFolder": folderAway,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSweep(t, w)
			s.want = want
			outage(t, s)
		})
	}
	t.Run("TheBroker/InTheReplay", func(t *testing.T) { brokerAway(t, w, want) })
	t.Run("TheBroker/ForAWhile", func(t *testing.T) { brokerBack(t, w, want) })
}

// replaying is the first statement of a replay that writes rows.
const replaying = "insert shop.entries in bulk"

// stops runs the command with something that happens at the first statement of a kind, and wants a code and a word.
func (s *sweep) stops(t *testing.T, at string, what func() error, code int, variables map[string]string, say string) {
	t.Helper()
	happened := make(chan error, 1)
	s.proxy.Arm(harness.Trigger{Text: at, Act: func(harness.Point) harness.Verdict {
		happened <- what()
		return harness.Pass
	}})
	env := s.own()
	for name, value := range variables {
		env[name] = value
	}
	p := s.run(t, code, env, recovering()...)
	if said := p.Errors.String(); !strings.Contains(said, say) {
		t.Errorf("%q is not in: %s", say, said)
	}
	if _, fired := s.proxy.Fired(); !fired {
		t.Fatalf("no statement was: %s", at)
	}
	if err := <-happened; err != nil {
		t.Fatal(err)
	}
	s.proxy.Watch()
}

// goesOn gives the command again, which must come through.
func (s *sweep) goesOn(t *testing.T) {
	t.Helper()
	s.run(t, 0, s.own(), recovering()...)
	is(t, s.db, s.want)
	if got, want := lives(t, s.folder), lives(t, s.archive)+1; got != want {
		t.Errorf("the archive has %d records of lives, want %d", got, want)
	}
}

func brokerAway(t *testing.T, w *world, want string) {
	t.Helper()
	s := newSweep(t, w)
	s.want = want
	s.stops(t, replaying, func() error { return w.cluster.Kill(1) }, 31, map[string]string{"TIDEMARK_KAFKA_TIMEOUT": "2s"}, "retryable")
	if s.live(t) {
		t.Error("the target is live, and its log was away")
	}
	s.run(t, 31, map[string]string{"TIDEMARK_DATABASE_URL": s.db.URL, "TIDEMARK_KAFKA_TIMEOUT": "1s"}, recovering()...)
	if err := w.cluster.Restart(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.goesOn(t)
}

// brokerBack has the broker come back while the command waits for it.
func brokerBack(t *testing.T, w *world, want string) {
	t.Helper()
	s := newSweep(t, w)
	s.want = want
	back := make(chan error, 1)
	s.stops(t, replaying, func() error {
		err := w.cluster.Kill(1)
		go func() { back <- w.cluster.Restart(context.WithoutCancel(t.Context()), 1) }()
		return err
	}, 0, map[string]string{"TIDEMARK_KAFKA_TIMEOUT": "60s"}, "")
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	is(t, s.db, want)
}

func folderAway(t *testing.T, s *sweep) {
	t.Helper()
	aside := s.folder + ".aside"
	s.stops(t, "copy shop.orders", func() error { return os.Rename(s.folder, aside) }, 21, nil, "bring back the folder")
	if s.live(t) {
		t.Error("the target is live, and its archive was away")
	}
	if err := os.Rename(aside, s.folder); err != nil {
		t.Fatal(err)
	}
	s.goesOn(t)
}

// databaseAway has a server of its own, which dies as in a crash.
func databaseAway(t *testing.T, s *sweep) {
	t.Helper()
	server, err := services.StartPostgres(t.Context(), services.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	s.reach(t, server.URL())
	s.stops(t, "copy shop.orders", server.Kill, 30, nil, "retryable")
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	s.db = &postgrestest.Database{URL: server.URL(), Conn: conn}
	s.goesOn(t)
}

// note is the insert of an entry with a text.
func note(id int, text string) record.Record {
	r := entries(id, id+1)[0]
	r.Value = record.Present([]byte(strings.Replace(string(r.Value.Bytes()), `"note":"n"`, `"note":"`+text+`"`, 1)))
	return r
}
