package minio

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
	"os"
	"path/filepath"
	"time"
)

const validity = 24 * time.Hour

// writeKeys makes an authority, has it sign a certificate for 127.0.0.1, and writes all but the authority's key, which is
// forgotten, into dir under the names that the server looks for. The authority lies outside the folder's CAs, in which
// the server would look for whom to trust itself.
func writeKeys(dir string) (*x509.CertPool, error) {
	authority := certificate("Tidemark throw-away authority", 1)
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	server := certificate(loopback, 2)
	server.IPAddresses = []net.IP{net.ParseIP(loopback)}
	server.KeyUsage, server.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}

	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, authority, serverKey.Public(), authorityKey)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	for name, block := range map[string]*pem.Block{
		authorityFile: {Type: "CERTIFICATE", Bytes: authorityDER},
		"public.crt":  {Type: "CERTIFICATE", Bytes: serverDER},
		"private.key": {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, fmt.Errorf("write a certificate: %w", err)
		}
	}
	return readAuthority(filepath.Join(dir, authorityFile))
}

// authorityFile holds the authority's certificate in the folder of the server's keys.
const authorityFile = "ca.pem"

func certificate(name string, serial int64) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, SerialNumber: big.NewInt(serial),
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
	}
}
