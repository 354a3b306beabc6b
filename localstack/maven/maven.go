// Package maven downloads artifacts from a Maven repository against digests that the caller pinned.
//
// It refuses bytes of another digest: none of them are left for anybody to look at. Where artifacts are kept, and what
// is in them, is the caller's business. It keeps no state and may be used concurrently.
package maven

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"tidemark/shared/fault"
)

// Central is the repository that digests are pinned from. A mirror must serve the same bytes.
const Central = "https://repo1.maven.org/maven2"

const (
	deadline = 10 * time.Minute
	largest  = 256 << 20
)

// Artifact is one file of a repository.
type Artifact struct {
	Path   string // in the repository: group, with slashes, name, version, file
	Digest string // SHA-256, in hexadecimal
}

// Fetch downloads the artifact from repository, Central when empty, into a new file and compares its digest.
//
// Errors: fault.Corrupt when the bytes are others; the file is gone then. After any other error it may hold a part.
func Fetch(ctx context.Context, repository string, wanted Artifact, file string) error {
	address := strings.TrimSuffix(cmp.Or(repository, Central), "/") + "/" + wanted.Path
	got, err := download(ctx, address, file)
	if err != nil || got == wanted.Digest {
		return err
	}
	refused := fault.New(fault.Corrupt, "download %s: the SHA-256 digest is %s, want %s", address, got, wanted.Digest).
		WithHint("the mirror serves other bytes than Maven Central, or the download was cut off; nothing of it was used")
	if err := os.Remove(file); err != nil {
		refused.Err = errors.Join(refused.Err, err)
	}
	return refused
}

// download writes what address gives into a new file and returns its digest.
func download(ctx context.Context, address, path string) (digest string, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", fmt.Errorf("download: %w", err)
	}
	// A client of its own: the connection ends with the download instead of staying in a pool.
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("download: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // only read from
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("download %s: status %s", address, response.Status)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the caller's own path
	if err != nil {
		return "", fmt.Errorf("download: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(response.Body, largest)); err != nil {
		return "", fmt.Errorf("download %s: %w", address, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
