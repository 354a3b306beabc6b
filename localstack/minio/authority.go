package minio

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"tidemark/localstack/authority"
)

// writeKeys makes keys for a server on loopback and writes them into dir under the names that the server looks for. The
// authority lies outside the folder's CAs, in which the server would look for whom to trust itself.
func writeKeys(dir string) (*x509.CertPool, error) {
	keys, err := authority.New()
	if err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{
		authorityFile: keys.Authority, "public.crt": keys.Certificate, "private.key": keys.Key,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("write a certificate: %w", err)
		}
	}
	return readAuthority(filepath.Join(dir, authorityFile))
}

// authorityFile holds the authority's certificate in the folder of the server's keys.
const authorityFile = "ca.pem"
