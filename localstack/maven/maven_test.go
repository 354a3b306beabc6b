package maven_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"tidemark/localstack/maven"
	"tidemark/shared/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFetch(t *testing.T) {
	t.Parallel()
	const content = "the artifact"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/maven2/g/a.jar" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(content))
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256([]byte(content))
	good := maven.Artifact{Path: "g/a.jar", Digest: hex.EncodeToString(sum[:])}
	file := filepath.Join(t.TempDir(), "a.jar")

	other := good
	other.Digest = hex.EncodeToString(make([]byte, sha256.Size))
	if err := maven.Fetch(t.Context(), server.URL+"/maven2", other, file); !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %v, want other bytes refused", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no file: its bytes were refused", err)
	}
	missing := good
	missing.Path = "g/b.jar"
	if err := maven.Fetch(t.Context(), server.URL+"/maven2", missing, file); err == nil {
		t.Error("a missing artifact was fetched")
	}
	if err := maven.Fetch(t.Context(), server.URL+"/maven2/", good, file); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != content { //nolint:gosec // in a test's folder
		t.Errorf("got %q, %v, want %q", got, err, content)
	}
	if err := maven.Fetch(t.Context(), server.URL+"/maven2/", good, file); err == nil {
		t.Error("a file that was there before was overwritten")
	}
}
