// Package localkeytest gives tests a signing key in files, as an operator has one.
//
// It refuses to be used outside of tests. No state.
package localkeytest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tidemark/shared/signing/localkey"
)

// Files makes a key and gives the paths of its private half and of a file of trusted keys that holds the other.
func Files(t *testing.T) (private, trusted string) {
	t.Helper()
	key, err := localkey.Generate()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	private, trusted = filepath.Join(dir, "key.pem"), filepath.Join(dir, "trusted.pem")
	if err := errors.Join(key.Write(private), os.WriteFile(trusted, key.Key().PEM(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return private, trusted
}
