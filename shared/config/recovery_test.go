package config_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/config"
	"tidemark/shared/config/brokers"
	"tidemark/shared/secret"
)

// recovering is the least environment of whoever recovers, with changes in the form NAME=VALUE.
func recovering(changes ...string) environment {
	return backing(append([]string{"TIDEMARK_KAFKA_BROKERS=b-1.example.com:9092"}, changes...)...)
}

func (e environment) loadRecovery() (config.Recovery, error) {
	return config.LoadRecovery(e.lookup, e.environ())
}

func brokerLimits() []limit {
	noZero := map[string]string{"\x00": "zero byte"}
	return []limit{
		{"TIDEMARK_KAFKA_BROKERS", []string{"b:9092", "b:9092, c:1", "[::1]:65535"}, map[string]string{
			"b": "HOST:PORT", ":9092": "HOST:PORT", "b:0": "HOST:PORT", "b:65536": "HOST:PORT", "b:http": "HOST:PORT",
			"b:1,": "HOST:PORT", "b:1,b:1": "twice", "SASL://b:1": "HOST:PORT",
		}},
		{"TIDEMARK_KAFKA_TLS", []string{"", "true", "false"}, map[string]string{"yes": "true"}},
		{"TIDEMARK_KAFKA_CA_FILE", []string{"", "/ca.pem"}, noZero},
		{"TIDEMARK_KAFKA_CERT_FILE", []string{""}, noZero},
		{"TIDEMARK_KAFKA_KEY_FILE", []string{""}, noZero},
		{"TIDEMARK_KAFKA_SERVER_NAME", []string{"", "kafka.internal"}, noZero},
		{"TIDEMARK_KAFKA_DEVELOPMENT", []string{"", "true", "false"}, map[string]string{"1": "true"}},
		{"TIDEMARK_KAFKA_TIMEOUT", []string{"", "1s", "10m"}, map[string]string{"999ms": "below", "11m": "above", "30": "unit"}},
		{"TIDEMARK_KAFKA_SASL_MECHANISM", []string{"", "AWS_MSK_IAM"}, map[string]string{"scram-sha-256": "SCRAM-SHA-256"}},
		{"TIDEMARK_KAFKA_USER", []string{""}, noZero},
		{"TIDEMARK_KAFKA_SECRET", []string{""}, map[string]string{"hunter 2": "names no secret"}},
		{"TIDEMARK_KAFKA_PASSWORD", []string{""}, noZero},
		{"TIDEMARK_SCRATCH_DATABASE_URL", []string{"", "postgres://u@s.example.com/rehearsal"}, map[string]string{
			"mysql://u@s/d": "another scheme", "postgres:///d": "names no host",
		}},
	}
}

func TestLoadRecovery(t *testing.T) {
	t.Parallel()
	t.Run("KeepsLimits", func(t *testing.T) {
		t.Parallel()
		covered(t, slices.Concat(variableLimits(), archiveLimits(), brokerLimits()), config.Recovery{}.Settings())
		for _, l := range brokerLimits() {
			for _, value := range l.takes {
				if _, err := recovering(l.setting + "=" + value).loadRecovery(); err != nil {
					t.Errorf("%s=%s: %v", l.setting, value, err)
				}
			}
			for value, why := range l.refuses {
				_, err := recovering(l.setting + "=" + value).loadRecovery()
				refused(t, err, l.setting, why)
			}
		}
	})
	t.Run("DefaultsWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		got, err := recovering().loadRecovery()
		if err != nil {
			t.Fatal(err)
		}
		want := brokers.Kafka{Addresses: []string{"b-1.example.com:9092"}, TLS: true, Timeout: 30 * time.Second, SecretTTL: 5 * time.Minute}
		if diff := cmp.Diff(want, got.Kafka, cmp.AllowUnexported(secret.Text{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("ChecksWhatBelongsTogether", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			changes []string
			says    []string // none: it is taken
		}{
			{[]string{"TIDEMARK_KAFKA_CERT_FILE=/c"}, []string{"TIDEMARK_KAFKA_KEY_FILE", "belong together"}},
			{[]string{"TIDEMARK_KAFKA_KEY_FILE=/k"}, []string{"TIDEMARK_KAFKA_CERT_FILE", "belong together"}},
			{[]string{"TIDEMARK_KAFKA_CERT_FILE=/c", "TIDEMARK_KAFKA_KEY_FILE=/k"}, nil},
			{[]string{"TIDEMARK_KAFKA_TLS=false", "TIDEMARK_KAFKA_CA_FILE=/c"}, []string{"TIDEMARK_KAFKA_CA_FILE", "is for TLS"}},
			{[]string{"TIDEMARK_KAFKA_TLS=false"}, nil},
			{[]string{"TIDEMARK_KAFKA_SASL_MECHANISM=SCRAM-SHA-512"}, []string{"TIDEMARK_KAFKA_USER", "set both"}},
			{[]string{"TIDEMARK_KAFKA_SASL_MECHANISM=PLAIN", "TIDEMARK_KAFKA_USER=u"}, []string{"set both"}},
			{[]string{"TIDEMARK_KAFKA_SASL_MECHANISM=PLAIN", "TIDEMARK_KAFKA_USER=u", "TIDEMARK_KAFKA_PASSWORD=p"}, nil},
			{[]string{"TIDEMARK_KAFKA_USER=u", "TIDEMARK_KAFKA_PASSWORD=p"}, []string{"TIDEMARK_KAFKA_SASL_MECHANISM"}},
			{[]string{"TIDEMARK_KAFKA_SASL_MECHANISM=AWS_MSK_IAM", "TIDEMARK_KAFKA_USER=u"}, []string{"SCRAM and PLAIN"}},
			{[]string{"TIDEMARK_KAFKA_SASL_MECHANISM=PLAIN", "TIDEMARK_KAFKA_SECRET=AmazonMSK_shop"}, nil},
			{[]string{"TIDEMARK_KAFKA_SASL_MECHANISM=PLAIN", "TIDEMARK_KAFKA_SECRET=AmazonMSK_shop", "TIDEMARK_KAFKA_USER=u"}, nil},
			{[]string{"TIDEMARK_KAFKA_SASL_MECHANISM=PLAIN", "TIDEMARK_KAFKA_SECRET=s", "TIDEMARK_KAFKA_PASSWORD=p"}, []string{"exclude each other"}},
			{[]string{"TIDEMARK_KAFKA_SECRET=s"}, []string{"TIDEMARK_KAFKA_SECRET", "SCRAM and PLAIN"}},
			{[]string{"TIDEMARK_KAFKA_SASL_MECHANISM=AWS_MSK_IAM", "TIDEMARK_KAFKA_TLS=false"}, []string{"whoever listens"}},
		} {
			_, err := recovering(c.changes...).loadRecovery()
			if len(c.says) > 0 {
				refused(t, err, c.says...)
			} else if err != nil {
				t.Errorf("%v: %v", c.changes, err)
			}
		}
	})
	t.Run("ShowsNoPassword", func(t *testing.T) {
		t.Parallel()
		got, err := recovering("TIDEMARK_KAFKA_SASL_MECHANISM=PLAIN", "TIDEMARK_KAFKA_USER=u", "TIDEMARK_KAFKA_PASSWORD="+torn).loadRecovery()
		if err != nil || got.Kafka.Password.Reveal() != torn {
			t.Fatalf("the value holds no secret: the test proves nothing: %v", err)
		}
		searchValue(t, got)
		_, err = recovering("TIDEMARK_KAFKA_USER=u", "TIDEMARK_KAFKA_PASSWORD="+torn).loadRecovery()
		searchError(t, err)
	})
	t.Run("IsNothingToTheOtherProcesses", func(t *testing.T) {
		t.Parallel()
		if _, err := recovering("TIDEMARK_BACKUP_JOBS=2").loadRecovery(); err != nil {
			t.Error(err)
		}
		if _, err := recovering().loadBackup(); err != nil {
			t.Error(err)
		}
	})
}
