package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"tidemark/shared/fault"
)

const attempts = 3

// Attempt is how long one try of a question lasts: a silent broker leaves time for another one.
func (o Options) Attempt() time.Duration { return o.WithDefaults().Timeout / attempts }

// Client is how a client reaches the brokers. Files are read, nothing is dialled yet.
//
// Errors: fault.Misconfigured for options that cannot be, and for files that are not what they should be.
func (o Options) Client() ([]kgo.Opt, error) {
	o = o.WithDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	attempt := o.Attempt()
	reach := []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...), kgo.ClientID("tidemark"), kgo.DisableClientMetrics(),
		kgo.RetryTimeout(o.Timeout - attempt), // ends before the question does, so that the error says why
		kgo.RequestTimeoutOverhead(attempt),
	}
	if o.TLS == nil {
		dialer := net.Dialer{Timeout: attempt}
		reach = append(reach, kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, fault.New(fault.Misconfigured, "dial %q: %w", address, err)
			}
			if err := o.mayDial(host); err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, address)
		}))
	} else {
		secure, err := o.TLS.config()
		if err != nil {
			return nil, err
		}
		reach = append(reach, kgo.DialTLSConfig(secure), kgo.DialTimeout(attempt))
	}
	if o.SASL != nil {
		reach = append(reach, kgo.SASL(o.SASL.mechanism()))
	}
	return reach, nil
}

func (t *TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		authorities, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fault.New(fault.Misconfigured, "read the authorities of brokers: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fault.New(fault.Misconfigured, "read the authorities of brokers: %s holds no certificate", t.CAFile)
		}
	}
	if t.CertFile == "" {
		return c, nil
	}
	load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fault.New(fault.Misconfigured, "read the client's certificate: %w", err)
		}
		return &pair, nil
	}
	c.GetClientCertificate = load
	_, err := load(nil) // what is wrong from the start is said at the start
	return c, err
}

func (s *SASL) mechanism() sasl.Mechanism {
	password := func(ctx context.Context) (string, error) {
		text, err := s.Password(ctx)
		if err != nil {
			return "", fmt.Errorf("ask for the password of %s: %w", s.User, err)
		}
		return text, nil
	}
	proof := func(ctx context.Context) (scram.Auth, error) {
		text, err := password(ctx)
		return scram.Auth{User: s.User, Pass: text}, err
	}
	switch s.Mechanism {
	case SCRAM256:
		return scram.Sha256(proof)
	case SCRAM512:
		return scram.Sha512(proof)
	case Plain:
		return plain.Plain(func(ctx context.Context) (plain.Auth, error) {
			text, err := password(ctx)
			return plain.Auth{User: s.User, Pass: text}, err
		})
	case MSKIAM:
	}
	return aws.ManagedStreamingIAM(func(ctx context.Context) (aws.Auth, error) {
		signer, err := s.Credentials.Retrieve(ctx)
		if err != nil {
			return aws.Auth{}, fmt.Errorf("ask for credentials: %w", err)
		}
		return aws.Auth{
			AccessKey: signer.AccessKeyID, SecretKey: signer.SecretAccessKey, SessionToken: signer.SessionToken,
		}, nil
	})
}
