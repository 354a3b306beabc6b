package services

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ulikunitz/xz"

	"tidemark/shared/fault"
)

// member is one member of a made-up archive: a file, or a link when target is set.
type member struct {
	name, content, target string
	mode                  int64
}

// jarOf builds a jar as the repository has them.
func jarOf(t *testing.T, members ...member) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressor, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressor)
	for _, m := range members {
		header := &tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(m.content)), Typeflag: tar.TypeReg}
		if m.target != "" {
			header.Typeflag, header.Linkname = tar.TypeSymlink, m.target
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, m.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressor.Close(); err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	zipped := zip.NewWriter(&jar)
	for name, content := range map[string][]byte{"META-INF/MANIFEST.MF": []byte("x"), "postgres.txz": packed.Bytes()} {
		w, err := zipped.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
}

// repository serves one jar and counts how often it is asked.
func repository(t *testing.T, wanted artifact, jar []byte) (address string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/maven/"+wanted.path() {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(jar)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/maven/", asked
}

func artifactFor(jar []byte) artifact {
	sum := sha256.Sum256(jar)
	return artifact{name: "embedded-postgres-binaries-test", version: "1.0", digest: hex.EncodeToString(sum[:])}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

func TestInstallArtifact(t *testing.T) {
	t.Parallel()
	jar := jarOf(t,
		member{name: "./bin/initdb", content: "#!/bin/sh\n", mode: 0o755},
		member{name: "lib/libpq.so.5.18", content: "library", mode: 0o644},
		member{name: "lib/libpq.so", target: "libpq.so.5.18"},
	)
	wanted := artifactFor(jar)
	mirror, asked := repository(t, wanted, jar)
	cache := filepath.Join(t.TempDir(), "cache")
	for range 2 {
		bin, err := installArtifact(t.Context(), mirror, cache, wanted)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(bin, "initdb"))
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Fatalf("got %v, %v, want an executable initdb", info, err)
		}
		library, err := os.ReadFile(filepath.Join(bin, "..", "lib", "libpq.so")) //nolint:gosec // in a test's folder
		if err != nil || string(library) != "library" {
			t.Errorf("got %q, %v, want the file behind the link", library, err)
		}
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("got %d downloads, want one: the second is from the cache", got)
	}
	if left := entries(t, cache); len(left) != 1 {
		t.Errorf("got %q in the cache, want the installation alone", left)
	}
}

func TestInstallArtifactRefuses(t *testing.T) {
	t.Parallel()
	good := jarOf(t, member{name: "bin/initdb", content: "x", mode: 0o755})
	outside := jarOf(t, member{name: "../escaped", content: "x", mode: 0o644})
	through := jarOf(t, member{name: "bin", target: "/tmp"}, member{name: "bin/escaped", content: "x", mode: 0o644})
	for name, c := range map[string]struct {
		wanted artifact
		jar    []byte
		class  fault.Class
		text   string
	}{
		"OtherBytes":          {artifactFor([]byte("other")), good, fault.Corrupt, "SHA-256"},
		"ACutOffDownload":     {artifactFor(good), good[:len(good)-1], fault.Corrupt, "SHA-256"},
		"APathOutside":        {artifactFor(outside), outside, fault.Unclassified, "escape"},
		"APathThroughALink":   {artifactFor(through), through, fault.Unclassified, "escape"},
		"WhatIsNoJar":         {artifactFor([]byte("text")), []byte("text"), fault.Unclassified, "zip"},
		"AMissingArtifact":    {artifact{name: "elsewhere", version: "2", digest: strings.Repeat("0", 64)}, nil, fault.Unclassified, "404"},
		"AnArtifactOfNoBytes": {artifactFor(nil), nil, fault.Unclassified, "zip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := c.wanted
			if c.text == "404" {
				served.name = "another"
			}
			mirror, _ := repository(t, served, c.jar)
			cache := t.TempDir()
			_, err := installArtifact(t.Context(), mirror, cache, c.wanted)
			if err == nil || fault.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v of class %s, want %s about %q", err, fault.ClassOf(err), c.class, c.text)
			}
			if left := entries(t, cache); len(left) != 0 {
				t.Errorf("got %q in the cache, want nothing", left)
			}
		})
	}
}

func TestArtifactOf(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
		found, err := artifactOf(platform)
		if err != nil {
			t.Fatal(err)
		}
		if digest, err := hex.DecodeString(found.digest); err != nil || len(digest) != sha256.Size {
			t.Errorf("%s: got digest %q, want a SHA-256", platform, found.digest)
		}
	}
	if _, err := artifactOf("plan9/arm"); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want misconfigured", err)
	}
}

func TestFirstNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": 15, "/usr/lib/postgresql/9/bin": 9, "none": 0,
	} {
		if got := firstNumber(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
