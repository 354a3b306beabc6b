package target_test

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/localstack/services"
	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestConnection is about connections that died while nobody looked: a function thaws with them.
func TestConnection(t *testing.T) {
	t.Parallel()
	t.Run("ADeadOneIsReplacedWithinTheCall", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		s.endSessions("idle")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(4)}, items(2, 4, "a"))
		b.MustStand(at0(4), applytest.RowsOf(items(0, 4, "a")))
	})
	t.Run("ADeadOneIsReplacedWhenTheCatalogIsRead", func(t *testing.T) {
		t.Parallel()
		s := open(t, "CREATE TABLE other (id text PRIMARY KEY)", target.Options{})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		s.endSessions("idle")
		b.MustDeliver(applytest.Want{Applied: 1, Next: at0(3)}, record.Run{
			Partition: applytest.P(0), Records: []record.Record{applytest.At(2, applytest.Put("other", "id", "1"))},
		})
	})
	t.Run("ManyDeadOnesAreReplacedWithinTheCall", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{Connections: 4})
		var held []apply.Transaction
		for n := range int32(4) {
			tx, err := s.Begin(within(t, patience), apply.Opening{Flow: "other", Partitions: []position.Partition{applytest.P(n)}})
			if err != nil {
				t.Fatalf("begin: %v", err)
			}
			held = append(held, tx)
		}
		for _, tx := range held {
			tx.Rollback(t.Context())
		}
		s.endSessions("idle")
		s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
	})
	t.Run("ACutOneIsReplacedWithinTheCall", func(t *testing.T) {
		t.Parallel()
		b, _, p := proxied(t, "", nil)
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		p.setRefuse(true)
		p.setRefuse(false)
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(4)}, items(2, 4, "a"))
	})
	t.Run("AnEndedProcessConnectsNoMore", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		s.Close(t.Context())
		b.MustDeliver(applytest.Want{Class: fault.Retryable, Next: at0(2)}, items(2, 4, "a"))
	})
	t.Run("ATransactionUnderWayEndsWithItsOwnCall", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		s.between(func() { s.Close(t.Context()) }).MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		s.await("SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database()")
	})
	t.Run("AServerThatDiedAndCameBack", func(t *testing.T) {
		t.Parallel()
		server, s := ownServer(t)
		b, run := s.bench(apply.Options{}), items(0, 2, "a")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, run)
		if err := server.Kill(); err != nil {
			t.Fatalf("kill: %v", err)
		}
		err := b.MustFail(applytest.Want{Class: fault.Retryable, Next: at0(2)}, items(2, 4, "a"))
		mustBe(t, err, fault.Retryable, "cannot be reached")
		if err := server.Restart(t.Context()); err != nil {
			t.Fatalf("restart: %v", err)
		}
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(4)}, items(2, 4, "a"))
		if err := server.Restart(t.Context()); err != nil {
			t.Fatalf("restart: %v", err)
		}
		b.MustDeliver(applytest.Want{Applied: 2, Skipped: 4, Next: at0(6)}, items(0, 6, "a"))
		s.db = another(t, s.db.URL)
		b.MustStand(at0(6), applytest.RowsOf(items(0, 6, "a")))
	})
}

// ownServer is a server for this test alone, with a live target in its first database.
func ownServer(t *testing.T) (*services.Postgres, *subject) {
	t.Helper()
	server, err := services.StartPostgres(t.Context(), services.PostgresOptions{})
	if err != nil {
		t.Fatalf("start a server: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	db := another(t, server.URL())
	db.Migrate(t)
	if _, _, err := ledger.NewOperator(db.Conn, postgrestest.Schema, "test").Init(t.Context(), postgrestest.TargetID); err != nil {
		t.Fatalf("init: %v", err)
	}
	db.Exec(t, itemDDL)
	return server, on(t, db, target.Options{Connections: 2})
}

// TestAddress is about addresses that lead nowhere: what it means, what to do, and never the password.
func TestAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		class fault.Class
		hint  string
		alter func(*url.URL)
	}{
		{"AWrongPassword", fault.Misconfigured, "TIDEMARK_DATABASE_PASSWORD", func(*url.URL) {}},
		{"AnUnknownUser", fault.Misconfigured, "the database refuses the login", func(u *url.URL) { u.User = url.UserPassword("nobody", plain()) }},
		{"AnUnreachablePort", fault.Retryable, "cannot be reached", func(u *url.URL) { u.Host = "127.0.0.1:1" }},
		{"AnUnknownHost", fault.Retryable, "host name", func(u *url.URL) { u.Host = "nowhere.invalid:5432" }},
		{"AServerWithoutTLS", fault.Retryable, "", func(u *url.URL) { u.RawQuery = "sslmode=require" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.Live(t, itemDDL)
			address := parse(t, db.URL)
			address.User = url.UserPassword(address.User.Username(), plain())
			c.alter(address)
			fails(t, on(t, db, target.Options{Database: address.String()}), c.class, c.hint)
		})
	}
	t.Run("AnUnknownDatabase", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, itemDDL)
		address := parse(t, db.URL)
		address.Path = "/tidemark_no_such"
		fails(t, on(t, db, target.Options{Database: address.String()}), fault.Misconfigured, "create it, or correct TIDEMARK_DATABASE_URL")
	})
	t.Run("AServerThatOnlyReads", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, itemDDL)
		address := parse(t, db.URL)
		address.RawQuery += "&default_transaction_read_only=on"
		fails(t, on(t, db, target.Options{Database: address.String()}), fault.Retryable, "")
	})
	for name, address := range map[string]string{
		"AnAddressThatDoesNotParse":       "postgres://u:" + plain() + "@host:port/db",
		"AnAddressWithAnUnescapedSlash":   "postgres://u:" + plain() + "/more@host:5432/db",
		"AKeywordAddressThatDoesNotParse": "user=u password='" + plain() + " host",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := target.New(target.Options{Database: address, Flow: "f", Now: time.Now})
			mustBe(t, err, fault.Misconfigured, "want postgres://")
			mustHide(t, err)
		})
	}
	t.Run("AServerThatNeverAnswers", func(t *testing.T) {
		t.Parallel()
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("listen: %v", err)
		}
		t.Cleanup(func() { _ = listener.Close() }) // nobody speaks on it
		db := postgrestest.Live(t, itemDDL)
		address := parse(t, db.URL)
		address.Host = listener.Addr().String()
		s := on(t, db, target.Options{Database: address.String(), ConnectTimeout: 100 * time.Millisecond})
		// A server that does not answer must cost a call one or two waits, and not one for each of its records.
		b, ctx := s.bench(apply.Options{}), within(t, 5*time.Second)
		outcome, err := b.Apply(ctx, record.Batch{items(0, 200, "a")})
		if ctx.Err() != nil {
			t.Error("the call outlived its deadline")
		}
		b.Check(applytest.Want{Class: fault.Retryable, Next: at0(0)}, outcome, err)
	})
}

func parse(t *testing.T, address string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatalf("parse the test's address: %v", err)
	}
	return parsed
}

// plain is a password with a character that an address must escape.
func plain() string { return "s3cr3t-Kgq/pw" }

// fails applies a batch and expects the class for all of it, the hint, and no secret.
func fails(t *testing.T, s *subject, class fault.Class, hint string) {
	t.Helper()
	err := s.bench(apply.Options{}).MustFail(applytest.Want{Class: class, Next: at0(0)}, items(0, 3, "a"))
	mustBe(t, err, class, hint)
	mustHide(t, err)
	s.db = another(t, s.db.URL)
	if rows := s.Rows(); len(rows) > 0 {
		t.Errorf("rows %v, want none", rows)
	}
}

// mustHide looks for the password, whole and in its parts, in everything that an error says.
func mustHide(t *testing.T, err error) {
	t.Helper()
	texts := []string{fault.Line(err), fault.HintOf(err)}
	for ; err != nil; err = unwrap(err) {
		texts = append(texts, err.Error())
	}
	for _, text := range texts {
		if strings.Contains(text, "s3cr3t") || strings.Contains(text, "Kgq") {
			t.Errorf("the password shows in %q", text)
		}
	}
}

func unwrap(err error) error {
	switch wraps := err.(type) { //nolint:errorlint // walks the chain itself
	case interface{ Unwrap() error }:
		return wraps.Unwrap()
	case interface{ Unwrap() []error }:
		return wraps.Unwrap()[0]
	}
	return nil
}

// TestLedgerVersion is about databases without a ledger, or with one that this release does not know.
func TestLedgerVersion(t *testing.T) {
	t.Parallel()
	const migrate = "run: tidemark migrate"
	for _, c := range []struct{ name, alter, message, hint string }{
		{"NoLedger", "DROP SCHEMA tidemark CASCADE", "no ledger in schema tidemark", migrate},
		{"NoVersionTable", "DROP TABLE tidemark.schema_version", "no ledger in schema tidemark", migrate},
		{"AnOlderLedger", "DELETE FROM tidemark.schema_version WHERE version_id > 0", "version 0", migrate},
		{"AnEmptyVersionTable", "DELETE FROM tidemark.schema_version", "version 0", migrate},
		{
			"ANewerLedger", "INSERT INTO tidemark.schema_version (version_id, is_applied) VALUES (99, true)", "version 99",
			"deploy a release that knows version 99",
		},
		{"NoTargetRow", "DELETE FROM tidemark.target", "0 target rows", "restore it from a backup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.Live(t, itemDDL)
			db.Exec(t, c.alter)
			err := on(t, db, target.Options{}).bench(apply.Options{}).
				MustFail(applytest.Want{Class: fault.Misconfigured, Next: at0(0)}, items(0, 3, "a"))
			mustBe(t, err, fault.Misconfigured, c.message, c.hint)
			if got := db.Copy(t, "SELECT count(*) FROM item"); got != "0\n" {
				t.Errorf("rows: got %q, want none", got)
			}
		})
	}
	// Functions of two releases run beside each other while the ledger is taken up: apply needs no table of version 3.
	t.Run("TheOldestLedgerThatIsKnown", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, itemDDL)
		db.Exec(t, "DROP TABLE tidemark.backup_run; DELETE FROM tidemark.schema_version WHERE version_id > "+
			strconv.Itoa(ledger.MinVersion))
		on(t, db, target.Options{}).bench(apply.Options{}).MustDeliver(applytest.Want{Applied: 3, Next: at0(3)}, items(0, 3, "a"))
	})
	t.Run("ALedgerThatComesLater", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		db.Exec(t, itemDDL)
		b := on(t, db, target.Options{}).bench(apply.Options{})
		b.MustDeliver(applytest.Want{Class: fault.Misconfigured, Next: at0(0)}, items(0, 3, "a"))
		db.Migrate(t)
		err := b.MustFail(applytest.Want{Class: fault.Misconfigured, Next: at0(0)}, items(0, 3, "a"))
		mustBe(t, err, fault.Misconfigured, "run: tidemark init")
		if _, _, err := ledger.NewOperator(db.Conn, postgrestest.Schema, "test").Init(t.Context(), postgrestest.TargetID); err != nil {
			t.Fatalf("init: %v", err)
		}
		b.MustDeliver(applytest.Want{Applied: 3, Next: at0(3)}, items(0, 3, "a"))
	})
	// The ledger is there and of the right version; what the role lacks is a grant, and migrate would not give it.
	t.Run("ALedgerThatTheRoleMayNotRead", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, itemDDL)
		role := "reader_" + strings.TrimPrefix(parse(t, db.URL).Path, "/tidemark_test_")
		db.Exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'")
		t.Cleanup(func() {
			if _, err := db.Conn.Exec(context.WithoutCancel(t.Context()), "DROP ROLE "+role); err != nil {
				t.Errorf("drop the role: %v", err)
			}
		})
		address := parse(t, db.URL)
		address.User = url.UserPassword(role, "x")
		err := on(t, db, target.Options{Database: address.String()}).bench(apply.Options{}).
			MustFail(applytest.Want{Class: fault.Misconfigured, Next: at0(0)}, items(0, 3, "a"))
		mustBe(t, err, fault.Misconfigured, "42501", "grant")
	})
}
