// Package authority makes certificates for servers on loopback: an authority that vouches for one server and is then forgotten.
//
// It refuses names and addresses other than 127.0.0.1, and to keep the authority's key. It does no I/O and keeps no state.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"tidemark/localstack/child"
)

// Keys are PEM documents: the authority's certificate, the server's certificate and the server's key.
type Keys struct{ Authority, Certificate, Key []byte }

// validity is more than a server of a test or of a demo lives.
const validity = 24 * time.Hour

// New makes an authority and has it sign a certificate for loopback.
func New() (Keys, error) {
	authority := certificate("Tidemark throw-away authority", 1)
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	server := certificate(child.Loopback, 2)
	server.IPAddresses = []net.IP{net.ParseIP(child.Loopback)}
	server.KeyUsage, server.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}

	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Keys{}, fmt.Errorf("make a key: %w", err)
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Keys{}, fmt.Errorf("make a key: %w", err)
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return Keys{}, fmt.Errorf("make an authority: %w", err)
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, authority, serverKey.Public(), authorityKey)
	if err != nil {
		return Keys{}, fmt.Errorf("make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return Keys{}, fmt.Errorf("write a key: %w", err)
	}
	return Keys{
		Authority:   document("CERTIFICATE", authorityDER),
		Certificate: document("CERTIFICATE", serverDER),
		Key:         document("PRIVATE KEY", keyDER),
	}, nil
}

func certificate(name string, serial int64) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, SerialNumber: big.NewInt(serial),
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
	}
}

func document(kind string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
}
