package command_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// TestListAsksTheLog: what the brokers say, or that they say nothing, is told and fails no list.
func TestListAsksTheLog(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "dbz.shop.orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	k := newKeeper(t, shop)
	k.backUp(0)
	k.env["TIDEMARK_KAFKA_TLS"], k.env["TIDEMARK_KAFKA_TIMEOUT"] = "false", "2s"
	for _, c := range []struct {
		change string
		parts  []string
	}{
		{"TIDEMARK_KAFKA_BROKERS=", []string{"sum 600 unknown", "log (unknown): TIDEMARK_KAFKA_BROKERS is not set"}},
		{"TIDEMARK_KAFKA_BROKERS=" + cluster.ListenAddrs()[0], []string{"sum 600 no log", "log (no log): dbz.shop.orders/0 ends at 0, before 100"}},
		{"TIDEMARK_KAFKA_SASL_MECHANISM=PLAIN", []string{"sum 600 unknown", "log (unknown): misconfigured: TIDEMARK_KAFKA_SASL_MECHANISM"}},
		{"TIDEMARK_KAFKA_SASL_MECHANISM=", nil},
		{"TIDEMARK_KAFKA_BROKERS=127.0.0.1:1", []string{"sum 600 unknown", "log (unknown): retryable", "127.0.0.1:1"}},
	} {
		name, value, _ := strings.Cut(c.change, "=")
		k.env[name] = value
		k.says(0, c.parts, "manifests", "list")
	}
	var list struct {
		Manifests []struct {
			Log string
			Why string `json:"log_why"`
		}
	}
	k.decode(k.expect(0, nil, "manifests", "list", "--json"), &list)
	if len(list.Manifests) != 1 || list.Manifests[0].Log != "unknown" || !strings.Contains(list.Manifests[0].Why, "127.0.0.1:1") {
		t.Errorf("got %+v", list)
	}
}
