//go:build integration

package brokers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/brokers"
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
	if *brokers.AsHelper {
		c := start(t, brokers.Options{Secure: true})
		_, _ = fmt.Fprintf(os.Stdout, "%s\n%s\n", c.Addresses()[0], c.Secure().CAFile)
		select {
		case <-time.After(time.Minute):
		case <-t.Context().Done():
		}
		return
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable, "-test.run=^"+t.Name()+"$", "-brokers.helper") //nolint:gosec // this binary
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	var printed []string
	for len(printed) < 2 && lines.Scan() {
		printed = append(printed, lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || len(printed) < 2 {
		t.Fatalf("got %v after the lines %q, want a killed process and its broker's address", err, printed)
	}
	eventually(t, "the broker is gone", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", printed[0])
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	eventually(t, "the folder is gone", func() bool {
		_, err := os.Stat(printed[1])
		return errors.Is(err, os.ErrNotExist)
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	after := time.After(deadline)
	for !is() {
		select {
		case <-tick.C:
		case <-after:
			t.Fatalf("never: %s", what)
		}
	}
}
