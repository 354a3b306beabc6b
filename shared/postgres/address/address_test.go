package address_test

import (
	"strings"
	"testing"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/postgres/address"
)

func TestParse(t *testing.T) {
	t.Parallel()
	t.Run("BoundsTheMakingOfAConnection", func(t *testing.T) {
		t.Parallel()
		got, err := address.Parse("postgres://me@db.example.com:5433/shop?sslmode=disable", 7*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if got.Host != "db.example.com" || got.Port != 5433 || got.Database != "shop" || got.ConnectTimeout != 7*time.Second {
			t.Errorf("got %s:%d/%s within %s", got.Host, got.Port, got.Database, got.ConnectTimeout)
		}
	})
	t.Run("RefusesWithoutRepeatingThePassword", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"postgres://me:hunter2@db:port/shop", "postgres://me:hunter2@db/shop?sslrootcert=/none/hunter2.pem&sslmode=verify-full", "hunter2",
		} {
			_, err := address.Parse(text, time.Second)
			if !fault.Is(err, fault.Misconfigured) || strings.Contains(fault.Line(err), "hunter2") || fault.HintOf(err) == "" {
				t.Errorf("got %v, want it misconfigured, with a hint and without the text", err)
			}
		}
	})
}
