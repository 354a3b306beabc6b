package brokers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

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
	if !trusted.AppendCertsFromPEM([]byte(p.keys.authority)) {
		return Access{}, errors.New("read the authority's certificate: it holds none")
	}
	a := Access{
		Addresses: p.addresses(listenerSecure), CAFile: filepath.Join(dir, "ca.pem"), User: user, Password: p.password,
		TLS: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
	}
	if err := os.WriteFile(a.CAFile, []byte(p.keys.authority), 0o600); err != nil {
		return Access{}, fmt.Errorf("write the authority's certificate: %w", err)
	}
	return a, nil
}

// keys are PEM documents: the authority's certificate, and the brokers' key with its chain.
type keys struct{ authority, server string }

const validity = 24 * time.Hour

// newKeys makes an authority and has it sign a certificate for 127.0.0.1. Its key is forgotten.
func newKeys() (keys, error) {
	authority := certificate(pkix.Name{CommonName: "Tidemark throw-away authority"}, 1)
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	server := certificate(pkix.Name{CommonName: "127.0.0.1"}, 2)
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	server.KeyUsage, server.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}

	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keys{}, fmt.Errorf("make a key: %w", err)
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keys{}, fmt.Errorf("make a key: %w", err)
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return keys{}, fmt.Errorf("make an authority: %w", err)
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, authority, serverKey.Public(), authorityKey)
	if err != nil {
		return keys{}, fmt.Errorf("make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return keys{}, fmt.Errorf("write a key: %w", err)
	}
	trusted := document("CERTIFICATE", authorityDER)
	return keys{authority: trusted, server: document("PRIVATE KEY", keyDER) + document("CERTIFICATE", serverDER) + trusted}, nil
}

func certificate(name pkix.Name, serial int64) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject: name, SerialNumber: big.NewInt(serial), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
	}
}

func document(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}
