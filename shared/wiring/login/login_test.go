package login_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/config/brokers"
	"tidemark/shared/fault"
	"tidemark/shared/secret"
	"tidemark/shared/wiring/login"
)

// keeping is a source whose secret is read from the given place.
func keeping(kept *secret.Login, err *error, now func() time.Time) *secret.Source {
	return secret.NewSource(secret.Options{TTL: time.Minute, Now: now, Fetch: func(context.Context) (secret.Login, error) {
		return *kept, *err
	}})
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	if got := login.Database(&config.Process{}, time.Now); got != nil {
		t.Errorf("without a secret: got %v, want none", got)
	}
	kept, away, now := secret.Login{User: "u", Password: secret.New("a")}, error(nil), time.Unix(1_000_000, 0)
	logins := login.Kept(keeping(&kept, &away, func() time.Time { return now }))
	if user, password, err := logins.Login(t.Context()); user != "u" || password != "a" || err != nil {
		t.Errorf("got %s, %s, %v", user, password, err)
	}
	now = now.Add(10 * time.Second)
	if logins.Refused(t.Context(), "a") {
		t.Error("there is another one, though the service keeps the refused one")
	}
	now, kept.Password = now.Add(10*time.Second), secret.New("b")
	if !logins.Refused(t.Context(), "a") {
		t.Error("there is no other one, though the service keeps it")
	}
	now, away = now.Add(10*time.Second), fault.New(fault.Retryable, "away")
	if logins.Refused(t.Context(), "b") {
		t.Error("there is another one, though nobody could fetch it")
	}
}

func TestKafka(t *testing.T) {
	t.Parallel()
	t.Run("GivesWhatTheEnvironmentSays", func(t *testing.T) {
		t.Parallel()
		user, password, err := login.Kafka(t.Context(), &brokers.Kafka{User: "u", Password: secret.New("p")}, time.Now)
		if got := must(t, password); user != "u" || got != "p" || err != nil {
			t.Errorf("got %s, %s, %v", user, got, err)
		}
	})
	t.Run("GivesThePasswordOfTheMoment", func(t *testing.T) {
		t.Parallel()
		kept, away, now := secret.Login{User: "u", Password: secret.New("a")}, error(nil), time.Unix(1_000_000, 0)
		c := &brokers.Kafka{Secret: secret.Name{ID: "AmazonMSK_shop"}}
		user, password, err := login.KeptKafka(t.Context(), c, keeping(&kept, &away, func() time.Time { return now }))
		if got := must(t, password); user != "u" || got != "a" || err != nil {
			t.Errorf("got %s, %s, %v", user, got, err)
		}
		now, kept.Password = now.Add(time.Hour), secret.New("b")
		if got := must(t, password); got != "b" {
			t.Errorf("after a rotation: got %s", got)
		}
		now, kept.User = now.Add(time.Hour), "other"
		_, err = password(t.Context())
		refused(t, err, fault.Misconfigured, "names another user")
	})
	t.Run("NeedsAUser", func(t *testing.T) {
		t.Parallel()
		kept, away := secret.Login{Password: secret.New("hunter2")}, error(nil)
		c := &brokers.Kafka{Secret: secret.Name{ID: "AmazonMSK_shop"}}
		_, _, err := login.KeptKafka(t.Context(), c, keeping(&kept, &away, time.Now))
		refused(t, err, fault.Misconfigured, "names no user")
		c.User = "u"
		user, password, err := login.KeptKafka(t.Context(), c, keeping(&kept, &away, time.Now))
		if got := must(t, password); user != "u" || got != "hunter2" || err != nil {
			t.Errorf("got %s, %s, %v", user, got, err)
		}
		away = fault.New(fault.Retryable, "away")
		c.User = ""
		_, _, err = login.KeptKafka(t.Context(), c, keeping(&kept, &away, time.Now))
		refused(t, err, fault.Retryable, "away")
	})
}

func must(t *testing.T, password func(context.Context) (string, error)) string {
	t.Helper()
	got, err := password(t.Context())
	if err != nil {
		t.Errorf("ask for the password: %v", err)
	}
	return got
}

func refused(t *testing.T, err error, class fault.Class, says string) {
	t.Helper()
	if line := fault.Line(err); !fault.Is(err, class) || !strings.Contains(line, says) || strings.Contains(line, "hunter2") {
		t.Errorf("got %v, want %s with %q and nothing of the secret", err, class, says)
	}
}
