package reach_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/reach"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func password(context.Context) (string, error) { return "secret", nil }

func credentialsOf() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("AKID", "secret", "token")
}

const elsewhere = "kafka.example.com:9096"

// TestOptions is the table of what may be and what may not.
func TestOptions(t *testing.T) {
	t.Parallel()
	nothing := filepath.Join(t.TempDir(), "nothing.pem")
	if err := os.WriteFile(nothing, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing.pem")
	scram := &reach.SASL{Mechanism: reach.SCRAM512, User: "u", Password: password}
	plain := &reach.SASL{Mechanism: reach.Plain, User: "u", Password: password}
	iam := &reach.SASL{Mechanism: reach.MSKIAM, Credentials: credentialsOf()}
	here, there, secure := []string{"127.0.0.1:9092"}, []string{elsewhere}, &reach.TLS{}
	for name, c := range map[string]struct {
		options reach.Options
		may     bool
	}{
		"Takes/LoopbackInTheClear":             {reach.Options{Brokers: here}, true},
		"Takes/LoopbackByName":                 {reach.Options{Brokers: []string{"LocalHost:1", "[::1]:1"}}, true},
		"Takes/DevelopmentInTheClear":          {reach.Options{Brokers: there, Development: true}, true},
		"Takes/SCRAMInTheClearOnLoopback":      {reach.Options{Brokers: here, SASL: scram}, true},
		"Takes/TLS":                            {reach.Options{Brokers: there, TLS: secure}, true},
		"Takes/SCRAM256":                       {reach.Options{Brokers: there, TLS: secure, SASL: &reach.SASL{Mechanism: reach.SCRAM256, User: "u", Password: password}}, true},
		"Takes/SCRAM512":                       {reach.Options{Brokers: there, TLS: secure, SASL: scram}, true},
		"Takes/PlainOverTLS":                   {reach.Options{Brokers: there, TLS: secure, SASL: plain}, true},
		"Takes/IAMOverTLS":                     {reach.Options{Brokers: there, TLS: secure, SASL: iam}, true},
		"Refuses/NoBroker":                     {reach.Options{}, false},
		"Refuses/NoPort":                       {reach.Options{Brokers: []string{"127.0.0.1"}}, false},
		"Refuses/AnEmptyPort":                  {reach.Options{Brokers: []string{"127.0.0.1:"}}, false},
		"Refuses/NoHost":                       {reach.Options{Brokers: []string{":9092"}}, false},
		"Refuses/AnotherMachineInTheClear":     {reach.Options{Brokers: append(here, there...)}, false},
		"Refuses/AnyAddressInTheClear":         {reach.Options{Brokers: []string{"0.0.0.0:9092"}}, false},
		"Refuses/PlainInTheClear":              {reach.Options{Brokers: here, SASL: plain}, false},
		"Refuses/PlainInTheClearInDevelopment": {reach.Options{Brokers: here, SASL: plain, Development: true}, false},
		"Refuses/IAMInTheClear":                {reach.Options{Brokers: here, SASL: iam}, false},
		"Refuses/AShortTimeout":                {reach.Options{Brokers: here, Timeout: time.Millisecond}, false},
		"Refuses/ALongTimeout":                 {reach.Options{Brokers: here, Timeout: time.Hour}, false},
		"Refuses/AnUnknownMechanism":           {reach.Options{Brokers: there, TLS: secure, SASL: &reach.SASL{Mechanism: "GSSAPI", User: "u", Password: password}}, false},
		"Refuses/NoUser":                       {reach.Options{Brokers: there, TLS: secure, SASL: &reach.SASL{Mechanism: reach.Plain, Password: password}}, false},
		"Refuses/NoPassword":                   {reach.Options{Brokers: there, TLS: secure, SASL: &reach.SASL{Mechanism: reach.Plain, User: "u"}}, false},
		"Refuses/SCRAMWithCredentials":         {reach.Options{Brokers: there, TLS: secure, SASL: &reach.SASL{Mechanism: reach.SCRAM256, User: "u", Password: password, Credentials: credentialsOf()}}, false},
		"Refuses/IAMWithoutCredentials":        {reach.Options{Brokers: there, TLS: secure, SASL: &reach.SASL{Mechanism: reach.MSKIAM}}, false},
		"Refuses/IAMWithAUser":                 {reach.Options{Brokers: there, TLS: secure, SASL: &reach.SASL{Mechanism: reach.MSKIAM, User: "u", Credentials: credentialsOf()}}, false},
		"Refuses/AKeyWithoutItsCertificate":    {reach.Options{Brokers: there, TLS: &reach.TLS{KeyFile: missing}}, false},
		"Refuses/ACertificateWithoutItsKey":    {reach.Options{Brokers: there, TLS: &reach.TLS{CertFile: missing}}, false},
		"Refuses/AuthoritiesThatAreNotThere":   {reach.Options{Brokers: there, TLS: &reach.TLS{CAFile: missing}}, false},
		"Refuses/AuthoritiesWithoutOne":        {reach.Options{Brokers: there, TLS: &reach.TLS{CAFile: nothing}}, false},
		"Refuses/ACertificateThatIsNone":       {reach.Options{Brokers: there, TLS: &reach.TLS{CertFile: nothing, KeyFile: nothing}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, err := c.options.Client()
			if !c.may {
				if !fault.Is(err, fault.Misconfigured) {
					t.Errorf("got %v of class %s, want misconfigured", err, fault.ClassOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(fault.Line(err))
			}
			client, err := kgo.NewClient(options...)
			if err != nil {
				t.Fatal(err)
			}
			client.Close()
		})
	}
}
