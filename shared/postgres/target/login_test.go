package target_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/migrations"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
	"tidemark/shared/postgres/target"
	"tidemark/shared/secret"
	"tidemark/shared/wiring/login"
)

// vault keeps the login of a test's database, beside a clock.
type vault struct {
	mu      sync.Mutex
	now     time.Time
	kept    secret.Login
	away    error
	fetches int
}

func (v *vault) fetch(context.Context) (secret.Login, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fetches++
	return v.kept, v.away
}

func (v *vault) clock() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// set changes what is kept, some time later.
func (v *vault) set(after time.Duration, user, password string, away error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now, v.kept, v.away = v.now.Add(after), secret.Login{User: user, Password: secret.New(password)}, away
}

func (v *vault) mustHaveBeenAsked(t *testing.T, times int) {
	t.Helper()
	if v.fetches != times {
		t.Errorf("%d fetches, want %d", v.fetches, times)
	}
}

// guarded is a target whose connections log in with what a vault keeps, and the names of two roles that may.
func guarded(t *testing.T) (s *subject, v *vault, one, other string) {
	t.Helper()
	db := postgrestest.Live(t, itemDDL)
	at := parse(t, db.URL)
	one = "one_" + strings.TrimPrefix(at.Path, "/tidemark_test_")
	other = "other_" + strings.TrimPrefix(at.Path, "/tidemark_test_")
	for _, role := range []string{one, other} {
		db.Exec(t, "CREATE ROLE "+role+" SUPERUSER LOGIN PASSWORD '"+first+"'")
		t.Cleanup(func() {
			if _, err := db.Conn.Exec(context.WithoutCancel(t.Context()), "DROP ROLE "+role); err != nil {
				t.Errorf("drop the role: %v", err)
			}
		})
	}
	at.User = url.UserPassword(one, "s3cr3t-stale") // overruled
	v = &vault{now: time.Unix(1_000_000, 0)}
	v.set(0, "", first, nil)
	source := secret.NewSource(secret.Options{Fetch: v.fetch, TTL: time.Minute, Now: v.clock})
	return on(t, db, target.Options{Database: at.String(), Logins: login.Kept(source)}), v, one, other
}

const (
	first  = "s3cr3t-first"
	second = "s3cr3t-second"
)

// TestLogins is about secrets that are rotated under a process that is warm: its next connection succeeds, without a restart.
func TestLogins(t *testing.T) {
	t.Parallel()
	t.Run("ARotatedPasswordIsTakenWithinTheCall", func(t *testing.T) {
		t.Parallel()
		s, v, one, _ := guarded(t)
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		s.db.Exec(t, "ALTER ROLE "+one+" PASSWORD '"+second+"'")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(4)}, items(2, 4, "a")) // its connection is up: nobody asks
		v.mustHaveBeenAsked(t, 1)
		v.set(10*time.Second, "", second, nil)
		s.endSessions("idle")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(6)}, items(4, 6, "a"))
		v.mustHaveBeenAsked(t, 2)
		b.MustStand(at0(6), applytest.RowsOf(items(0, 6, "a")))
	})
	t.Run("AnotherUserIsTakenWithinTheCall", func(t *testing.T) {
		t.Parallel()
		s, v, one, other := guarded(t)
		v.set(0, one, first, nil)
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		s.db.Exec(t, "ALTER ROLE "+one+" NOLOGIN; ALTER ROLE "+other+" PASSWORD '"+second+"'")
		v.set(10*time.Second, other, second, nil)
		s.endSessions("idle")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(4)}, items(2, 4, "a"))
		v.mustHaveBeenAsked(t, 2)
		users := s.db.Copy(t, "SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if diff := cmp.Diff(other+"\n", users); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("AnExpiredOneIsFetchedAnewForANewConnection", func(t *testing.T) {
		t.Parallel()
		s, v, _, other := guarded(t)
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		v.set(time.Hour, other, first, nil)
		s.endSessions("idle")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(4)}, items(2, 4, "a"))
		v.mustHaveBeenAsked(t, 2)
		v.set(time.Hour, "", "", fault.New(fault.Retryable, "the service is away"))
		s.endSessions("idle")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(6)}, items(4, 6, "a"))
		v.mustHaveBeenAsked(t, 3)
	})
	t.Run("AWrongOneIsNoStorm", func(t *testing.T) {
		t.Parallel()
		s, v, _, _ := guarded(t)
		v.set(0, "", "s3cr3t-wrong", nil)
		b := s.bench(apply.Options{})
		for range 4 {
			err := b.MustFail(applytest.Want{Class: fault.Misconfigured, Next: at0(0)}, items(0, 2, "a"))
			mustBe(t, err, fault.Misconfigured, "28P01", "refuses the login")
			mustHide(t, err)
		}
		v.mustHaveBeenAsked(t, 1)
		v.set(10*time.Second, "", "s3cr3t-wrong", nil)
		for range 2 {
			mustHide(t, b.MustFail(applytest.Want{Class: fault.Misconfigured, Next: at0(0)}, items(0, 2, "a")))
		}
		v.mustHaveBeenAsked(t, 2)
		v.set(10*time.Second, "", first, nil)
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		v.mustHaveBeenAsked(t, 3)
	})
	t.Run("OneThatCannotBeFetchedKeepsItsClass", func(t *testing.T) {
		t.Parallel()
		for class, hint := range map[fault.Class]string{fault.Retryable: "try again later", fault.Misconfigured: "allow this"} {
			s, v, _, _ := guarded(t)
			v.set(0, "", "", fault.New(class, "fetch secret shop").WithHint("%s", hint))
			err := s.bench(apply.Options{}).MustFail(applytest.Want{Class: class, Next: at0(0)}, items(0, 2, "a"))
			mustBe(t, err, class, "fetch secret shop", hint)
			mustHide(t, err)
		}
	})
	// The sessions of a backup and of a recovery are made of one address, and those of the operator's command.
	t.Run("SessionsOfOthersTakeARotatedOneToo", func(t *testing.T) {
		t.Parallel()
		s, v, one, other := guarded(t)
		at, err := address.Parse(s.db.URL, patience)
		if err != nil {
			t.Fatal(err)
		}
		source := secret.NewSource(secret.Options{Fetch: v.fetch, TTL: time.Minute, Now: v.clock})
		postgres.LogInWith(&at.Config, login.Kept(source))
		from := snapshot.New(at, snapshot.Options{LedgerSchema: postgrestest.Schema})
		for _, c := range []struct{ user, password string }{{one, first}, {one, second}, {other, first}} {
			s.db.Exec(t, "ALTER ROLE "+one+" PASSWORD '"+c.password+"'")
			v.set(10*time.Second, c.user, c.password, nil)
			taken, err := from.Snapshot(within(t, patience))
			if err != nil {
				t.Fatalf("%s: %v", fault.Line(err), err)
			}
			if err := taken.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if _, err := migrations.Up(t.Context(), at, postgrestest.Schema); err != nil {
			t.Error(err)
		}
		v.mustHaveBeenAsked(t, 3)
	})
	t.Run("AnAddressThatLeavesThisMachineSaysHowItIsEncrypted", func(t *testing.T) {
		t.Parallel()
		_, err := target.New(target.Options{Database: "postgres://u@db.example.com/d", Flow: "f", Now: time.Now})
		mustBe(t, err, fault.Misconfigured, "how the connection is encrypted", "sslmode=verify-full")
	})
}
