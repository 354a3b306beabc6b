package brokers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Mechanism is how a client proves that it knows the password.
type Mechanism string

// The mechanisms that the secure listener takes.
const (
	SHA256 Mechanism = "SCRAM-SHA-256"
	SHA512 Mechanism = "SCRAM-SHA-512"
)

// Access is how clients reach the secure listener. Its authority was made for this cluster and vouches for nothing else.
type Access struct {
	Addresses []string
	CAFile    string      // the authority's certificate, as PEM
	TLS       *tls.Config // trusts that authority alone
	User      string
	Password  string
}

const user = "tidemark"

// Client is how a client reaches the brokers through the secure listener.
func (a Access) Client(mechanism Mechanism) []kgo.Opt {
	credentials := scram.Auth{User: a.User, Pass: a.Password}
	proof := func() sasl.Mechanism {
		if mechanism == SHA256 {
			return credentials.AsSha256Mechanism()
		}
		return credentials.AsSha512Mechanism()
	}
	return []kgo.Opt{kgo.SeedBrokers(a.Addresses...), kgo.DialTLSConfig(a.TLS.Clone()), kgo.SASL(proof())}
}

// access writes the authority's certificate into dir.
func (p *plan) access(dir string) (Access, error) {
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(p.keys.Authority) {
		return Access{}, errors.New("read the authority's certificate: it holds none")
	}
	a := Access{
		Addresses: p.addresses(listenerSecure), CAFile: filepath.Join(dir, "ca.pem"), User: user, Password: p.password,
		TLS: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
	}
	if err := os.WriteFile(a.CAFile, p.keys.Authority, 0o600); err != nil {
		return Access{}, fmt.Errorf("write the authority's certificate: %w", err)
	}
	return a, nil
}
