package minio_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	miniogo "github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tidemark/localstack/child/childtest"
	"tidemark/localstack/minio"
	"tidemark/shared/fault"
)

const deadline = 30 * time.Second

func start(t *testing.T, options minio.Options) *minio.Server {
	t.Helper()
	s, err := minio.Start(t.Context(), options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client is one that knows of the server what its methods say.
func client(t *testing.T, s *minio.Server) *miniogo.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.CAPool(), MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := miniogo.New(s.Endpoint(), &miniogo.Options{
		Creds: credentials.NewStaticV4(s.AccessKey(), s.SecretKey(), ""), Secure: s.TLS(), Transport: transport, MaxRetries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bucket(t *testing.T, s *minio.Server, name string, options minio.BucketOptions) {
	t.Helper()
	if err := s.NewBucket(t.Context(), name, options); err != nil {
		t.Fatal(err)
	}
}

// create makes an object that must not be there.
func create(ctx context.Context, c *miniogo.Client, bucket, content string) error {
	options := miniogo.PutObjectOptions{}
	options.SetMatchETagExcept("*")
	_, err := c.PutObject(ctx, bucket, "object", strings.NewReader(content), int64(len(content)), options)
	return err
}

func TestServer(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]minio.Options{"Plain": {}, "TLS": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, options)
			c := client(t, s)
			bucket(t, s, "b-plain", minio.BucketOptions{})
			if err := create(t.Context(), c, "b-plain", "first"); err != nil {
				t.Fatal(err)
			}
			err := create(t.Context(), c, "b-plain", "second")
			if got := miniogo.ToErrorResponse(err).StatusCode; got != http.StatusPreconditionFailed {
				t.Errorf("got %v, want status 412 for an object that is there", err)
			}
			refusesOtherAddresses(t, s.Endpoint())
		})
	}
}

// refusesOtherAddresses dials a second address of this machine, at which a server would answer that listens everywhere.
func refusesOtherAddresses(t *testing.T, endpoint string) {
	t.Helper()
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil || host != "127.0.0.1" {
		t.Fatalf("got the address %s, want one of 127.0.0.1", endpoint)
	}
	conn, err := (&net.Dialer{Timeout: deadline}).DialContext(t.Context(), "tcp4", net.JoinHostPort("127.0.0.2", port))
	if err == nil {
		_ = conn.Close()
		t.Error("the server listens at all addresses")
	}
}

func TestServerTLSIsOfItsOwnAuthority(t *testing.T) {
	t.Parallel()
	s := start(t, minio.Options{TLS: true})
	other := start(t, minio.Options{TLS: true})
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: other.CAPool(), MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.Endpoint())
	if err == nil {
		_ = conn.Close()
		t.Error("one server's authority vouches for another server")
	}
	if s.AccessKey() == other.AccessKey() || s.SecretKey() == other.SecretKey() {
		t.Error("two servers share keys")
	}
	if content, err := os.ReadFile(s.CAFile()); err != nil || !strings.Contains(string(content), "BEGIN CERTIFICATE") {
		t.Errorf("got %q, %v, want the authority's certificate", content, err)
	}
	named := start(t, minio.Options{
		Endpoint: s.Endpoint(), AccessKey: s.AccessKey(), SecretKey: s.SecretKey(), TLS: true, CAFile: s.CAFile(),
	})
	bucket(t, named, "by-the-file", minio.BucketOptions{})
}

func TestServerNewBucket(t *testing.T) {
	t.Parallel()
	s := start(t, minio.Options{})
	c := client(t, s)
	for name, options := range map[string]minio.BucketOptions{
		"plain": {}, "versioned": {Versioned: true}, "locked": {Locked: true}, "both": {Versioned: true, Locked: true},
	} {
		bucket(t, s, name, options)
		versions, err := c.GetBucketVersioning(t.Context(), name)
		if want := options.Versioned || options.Locked; err != nil || versions.Enabled() != want {
			t.Errorf("%s: got versions %v, %v, want %v", name, versions.Enabled(), err, want)
		}
		lock, _, _, _, err := c.GetObjectLockConfig(t.Context(), name)
		if (err == nil && lock == "Enabled") != options.Locked {
			t.Errorf("%s: got lock %q, %v, want %v", name, lock, err, options.Locked)
		}
	}
	if err := s.NewBucket(t.Context(), "plain", minio.BucketOptions{}); err == nil {
		t.Error("a bucket was made twice")
	}
}

func TestServerKeepsWhatItConfirmed(t *testing.T) {
	t.Parallel()
	s := start(t, minio.Options{TLS: true})
	c := client(t, s)
	bucket(t, s, "kept", minio.BucketOptions{})
	if err := create(t.Context(), c, "kept", "first"); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListBuckets(t.Context()); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.Pause(); err == nil {
		t.Error("a server that is down was paused")
	}
	for _, from := range []string{"killed", "running"} {
		if err := s.Restart(t.Context()); err != nil {
			t.Fatalf("restart a %s server: %v", from, err)
		}
		if _, err := c.StatObject(t.Context(), "kept", "object", miniogo.StatObjectOptions{}); err != nil {
			t.Errorf("a %s server lost an object: %v", from, err)
		}
	}
}

func TestServerPause(t *testing.T) {
	t.Parallel()
	s := start(t, minio.Options{})
	c := client(t, s)
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.ListBuckets(t.Context())
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a paused server answered: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("got %v after the pause, want the answer", err)
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Errorf("restart a paused server: %v", err)
	}
}

func TestServerStop(t *testing.T) {
	t.Parallel()
	s := start(t, minio.Options{TLS: true})
	named := start(t, minio.Options{
		Endpoint: s.Endpoint(), AccessKey: s.AccessKey(), SecretKey: s.SecretKey(), TLS: true, CAFile: s.CAFile(),
	})
	if err := named.Kill(); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want a refusal to kill somebody else's server", err)
	}
	if err := named.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := client(t, s)
	if _, err := c.ListBuckets(t.Context()); err != nil {
		t.Fatalf("somebody else's server was stopped: %v", err)
	}
	for range 2 {
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ListBuckets(t.Context()); err == nil {
		t.Error("a stopped server answers")
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(s.CAFile()))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the server's folder after Stop, want none", err)
	}
	if err := s.Restart(t.Context()); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want a refusal: the server is stopped", err)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options minio.Options
		hint    string
	}{
		"AURL":              {minio.Options{Endpoint: "http://127.0.0.1:9000"}, "host:port"},
		"AnEmptyAuthority":  {minio.Options{Endpoint: "127.0.0.1:9000", TLS: true, CAFile: empty}, "CAFile"},
		"AMissingAuthority": {minio.Options{Endpoint: "127.0.0.1:9000", TLS: true, CAFile: empty + ".none"}, "CAFile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := minio.Start(t.Context(), c.options)
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), c.hint) {
				t.Errorf("got %v with the hint %q, want misconfigured and %q", err, fault.HintOf(err), c.hint)
			}
		})
	}
}

// TestServerThatCannotStart has a program that ends at once: its last words are in the error, and nothing is left.
func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "minio")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho no room here >&2\nexit 1\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	_, err := minio.Start(t.Context(), minio.Options{Binary: program})
	if err == nil || !strings.Contains(err.Error(), "no room here") {
		t.Errorf("got %v, want what the program said", err)
	}
}

// TestServerDiesWithItsProcess kills a process that has a server, which then has nobody to stop it.
func TestServerDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	childtest.DiesWithItsProcess(t, func() (address, path string) {
		s := start(t, minio.Options{TLS: true})
		return s.Endpoint(), s.CAFile()
	}, func(address string) bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}
