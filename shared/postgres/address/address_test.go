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
	t.Run("RefusesAnotherMachineWithoutAWordOnEncryption", func(t *testing.T) {
		t.Parallel()
		for text, taken := range map[string]bool{
			"postgres://me@db.example.com/shop":                                    false,
			"postgres://me:sslmode=x@db.example.com/shop":                          false,
			"postgres://me@127.0.0.1,db.example.com/shop":                          false,
			"host=10.0.0.1 user=me":                                                false,
			"host=db.example.com user=me sslmode=require":                          true,
			"postgres://me@db.example.com/shop?application_name=b&sslmode=disable": true,
			"postgres://me@127.0.0.1,db.example.com/shop?sslmode=verify-ca":        true,
			"postgres://me@localhost/shop":                                         true,
			"postgres://me@[::1]:5433/shop":                                        true,
			"host=/var/run/postgresql user=me":                                     true,
		} {
			if _, err := address.Parse(text, time.Second); (err == nil) != taken {
				t.Errorf("%s: got %v, want it taken: %t", text, err, taken)
			} else if err != nil && (!fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "verify-full")) {
				t.Errorf("%s: got %v, want it misconfigured, with the word to say", text, err)
			}
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
