//go:build integration

package brokers_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/brokers"
	"tidemark/localstack/child/childtest"
	"tidemark/localstack/kafkalog/kafkalogtest"
	"tidemark/shared/fault"
)

func start(t *testing.T, options brokers.Options) *brokers.Cluster {
	t.Helper()
	c, err := brokers.Start(t.Context(), options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// listed asks for the cluster's brokers.
func listed(ctx context.Context, options ...kgo.Opt) (int, error) {
	client, err := kgo.NewClient(append(options, kgo.RequestRetries(0))...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	seen, err := kadm.NewClient(client).BrokerMetadata(ctx)
	return len(seen.Brokers), err
}

const deadline = 30 * time.Second

func TestCluster(t *testing.T) { //nolint:tparallel // one after another: they restart and stop the broker
	t.Parallel()
	c := start(t, brokers.Options{Secure: true, Settings: map[string]string{"num.io.threads": "2"}})
	access := c.Secure()
	t.Run("Plain", func(t *testing.T) { kafkalogtest.Exercise(t, c.Client()...) })
	for _, mechanism := range []brokers.Mechanism{brokers.SHA256, brokers.SHA512} {
		t.Run(string(mechanism), func(t *testing.T) { kafkalogtest.Exercise(t, access.Client(mechanism)...) })
	}
	wrong, plain, stranger := access, access, access
	wrong.Password = "guess"
	plain.Addresses = c.Addresses()
	stranger.TLS = access.TLS.Clone()
	stranger.TLS.RootCAs = nil
	for name, other := range map[string]brokers.Access{
		"AWrongPassword": wrong, "TLSOnThePlainListener": plain, "AnUnknownAuthority": stranger,
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			if _, err := listed(ctx, other.Client(brokers.SHA512)...); err == nil || ctx.Err() != nil {
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
	t.Run("RestartsAndStops", func(t *testing.T) { restartsAndStops(t, c) })
}

func restartsAndStops(t *testing.T, c *brokers.Cluster) {
	t.Helper()
	if err := c.Kill(2); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want a refusal: there is no second broker", err)
	}
	if err := c.Kill(1); err != nil {
		t.Fatal(err)
	}
	if _, err := listed(t.Context(), c.Client()...); err == nil {
		t.Error("a killed broker answers")
	}
	for _, from := range []string{"killed", "running"} {
		if err := c.Restart(t.Context(), 1); err != nil {
			t.Fatalf("restart a %s broker: %v", from, err)
		}
		if got, err := listed(t.Context(), c.Secure().Client(brokers.SHA256)...); got != 1 {
			t.Errorf("got %d brokers, %v, after the restart of a %s one, want 1", got, err, from)
		}
	}
	if err := c.AwaitReplicas(t.Context()); err != nil {
		t.Error(err)
	}
	file := c.Secure().CAFile
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the authority's certificate after Stop, want none", err)
	}
	if err := c.Restart(t.Context(), 1); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want a refusal: the broker is stopped", err)
	}
}

// TestClusterDiesWithItsProcess kills a process that has a broker, which then has nobody to stop it.
func TestClusterDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	childtest.DiesWithItsProcess(t, func() (address, path string) {
		c := start(t, brokers.Options{Secure: true})
		return c.Addresses()[0], c.Secure().CAFile
	}, func(address string) bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}
