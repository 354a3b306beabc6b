// Package minio starts a throw-away MinIO server, an object store that speaks S3, on loopback.
//
// It owns where the server comes from and how it ends. The program is, in this order, the one that the caller names, the
// one that an earlier run built, or one built now from the version of MinIO's module that is pinned here. It refuses to
// listen anywhere but on loopback and to share keys: each server has random ones. A server that exists already is used as
// it is and never stopped.
//
// Invariants: a server that this package started dies with this process, also when the process is killed (see
// child.Guard); its folder goes with it. What a killed server had confirmed is there again after Restart, at the same
// address. Nothing outlives Stop.
//
// No goroutine waits for a server, so leak detectors stay quiet once it is stopped. Methods may be called from several
// goroutines; those that start, pause or stop a server take turns.
package minio

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tidemark/localstack/child"
	"tidemark/shared/fault"
)

// Options says where a server comes from and what it offers. The zero value is a server of its own, without TLS.
type Options struct {
	// Endpoint is the address, "host:port", of a server that exists, and the other fields of this group how to reach it. It
	// is used as it is and never stopped.
	Endpoint  string
	AccessKey string
	SecretKey string
	CAFile    string // with TLS: a PEM file of who vouches for the server; empty: the machine's authorities

	// TLS is whether the server speaks TLS. One that is started has a certificate of its own throw-away authority.
	TLS bool
	// Binary is the server's program. Empty: the one in the user's cache folder, built now if it is not there.
	Binary string
}

// Server is an object store that is up until Stop.
type Server struct {
	access

	client    *minio.Client
	transport *http.Transport

	mu   sync.Mutex
	node *node // nil when the caller named the server, and after Stop
}

// access is how a server is reached.
type access struct {
	endpoint  string
	accessKey string
	secretKey string
	tls       bool
	caFile    string
	caPool    *x509.CertPool
}

const (
	startDeadline = 90 * time.Second // of the start alone, without a build
	portAttempts  = 3
)

// Start starts a server, or takes the one that options name. It returns when a server of its own answers a signed request.
//
// Errors: fault.Misconfigured when there is no program to be had, or no authority, with what to do in its hint.
func Start(ctx context.Context, options Options) (*Server, error) {
	if options.Endpoint != "" {
		return named(options)
	}
	binary, err := findBinary(ctx, options.Binary)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	// A port is free only until somebody else takes it, so a server that dies while starting gets another one.
	for attempt := 1; ; attempt++ {
		s, err := startOwn(ctx, binary, options.TLS)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, errDied) || attempt == portAttempts {
			return nil, fmt.Errorf("start MinIO: %w", err)
		}
	}
}

// Install builds the server's program, unless it is there, so that no start has to.
func Install(ctx context.Context) error {
	_, err := findBinary(ctx, "")
	return err
}

func named(options Options) (*Server, error) {
	a := access{
		endpoint: options.Endpoint, accessKey: options.AccessKey, secretKey: options.SecretKey,
		tls: options.TLS, caFile: options.CAFile,
	}
	if _, _, err := net.SplitHostPort(a.endpoint); err != nil {
		return nil, fault.New(fault.Misconfigured, "address the object store: %w", err).
			WithHint("an Endpoint is \"host:port\", without a scheme")
	}
	if a.caFile != "" {
		var err error
		if a.caPool, err = readAuthority(a.caFile); err != nil {
			return nil, fault.New(fault.Misconfigured, "trust the object store: %w", err).
				WithHint("CAFile names a PEM file with the authority of the store's certificate")
		}
	}
	return newServer(a)
}

func startOwn(ctx context.Context, binary string, secure bool) (_ *Server, err error) {
	n, err := newNode(binary)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.remove(ctx))
		}
	}()
	a := access{accessKey: rand.Text(), secretKey: rand.Text(), tls: secure}
	if secure {
		a.caFile = n.path(keysFolder, authorityFile)
		if a.caPool, err = writeKeys(n.path(keysFolder)); err != nil {
			return nil, err
		}
	}
	ports, err := child.FreePorts(ctx, 1)
	if err != nil {
		return nil, err
	}
	a.endpoint = net.JoinHostPort(child.Loopback, strconv.Itoa(ports[0]))
	s, err := newServer(a)
	if err != nil {
		return nil, err
	}
	s.node = n
	defer func() {
		if err != nil {
			s.transport.CloseIdleConnections()
		}
	}()
	return s, s.up(ctx)
}

// newServer makes the client that asks whether the server is up, and makes buckets. It tries once: waiting is done here.
func newServer(a access) (*Server, error) {
	s := &Server{access: a, transport: &http.Transport{}}
	if a.tls {
		s.transport.TLSClientConfig = &tls.Config{RootCAs: a.caPool, MinVersion: tls.VersionTLS12}
	}
	var err error
	s.client, err = minio.New(a.endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(a.accessKey, a.secretKey, ""), Secure: a.tls, Transport: s.transport, MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("address the object store %s: %w", a.endpoint, err)
	}
	return s, nil
}

// up runs the server and returns when it answers a request that is signed with its keys: whoever else may have taken the
// port cannot.
func (s *Server) up(ctx context.Context) error {
	if err := s.node.start(ctx, s.access); err != nil {
		return err
	}
	err := s.node.awaitReady(ctx, func(ctx context.Context) error {
		_, err := s.client.ListBuckets(ctx)
		return err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %s", err, s.node.logged()), s.node.kill())
	}
	return nil
}

// Endpoint is the server's address, "host:port". It stays valid over Restart.
func (s *Server) Endpoint() string { return s.endpoint }

// TLS says whether the server speaks TLS.
func (s *Server) TLS() bool { return s.tls }

// AccessKey is the name that requests are signed with.
func (s *Server) AccessKey() string { return s.accessKey }

// SecretKey is what requests are signed with.
func (s *Server) SecretKey() string { return s.secretKey }

// CAFile is a PEM file with the authority of the server's certificate. It is empty when there is none, and one that was
// made for the server is gone after Stop.
func (s *Server) CAFile() string { return s.caFile }

// CAPool holds the authority of CAFile. Nil, as for the crypto/tls package, are the machine's authorities.
func (s *Server) CAPool() *x509.CertPool { return s.caPool }

// BucketOptions says what a new bucket keeps.
type BucketOptions struct {
	Versioned bool // what is overwritten or deleted
	Locked    bool // what has a retention, until it ends; such a bucket is Versioned too
}

// NewBucket makes a bucket.
func (s *Server) NewBucket(ctx context.Context, name string, options BucketOptions) error {
	if err := s.client.MakeBucket(ctx, name, minio.MakeBucketOptions{ObjectLocking: options.Locked}); err != nil {
		return fmt.Errorf("make bucket %s: %w", name, err)
	}
	if options.Versioned && !options.Locked {
		if err := s.client.EnableVersioning(ctx, name); err != nil {
			return fmt.Errorf("keep the versions of bucket %s: %w", name, err)
		}
	}
	return nil
}

// Pause stops the server from running, as if its machine had frozen: connections are made and nothing is answered.
func (s *Server) Pause() error { return s.withNode((*node).pause) }

// Resume lets a paused server run on.
func (s *Server) Resume() error { return s.withNode((*node).resume) }

// Kill ends the server with SIGKILL, as a crash would, and returns when it is gone.
func (s *Server) Kill() error { return s.withNode((*node).kill) }

// Restart brings the server up again at the same address with the same data, after Kill or, by an orderly shutdown first,
// while it runs.
func (s *Server) Restart(ctx context.Context) error {
	return s.withNode(func(n *node) error {
		if err := n.shutdown(ctx); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, startDeadline)
		defer cancel()
		return s.up(ctx)
	})
}

// Stop ends the server, by force when it does not obey before ctx ends, and removes its folder. It is a no-op the second
// time and for a server that the caller named.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transport.CloseIdleConnections()
	if s.node == nil {
		return nil
	}
	err := s.node.remove(ctx)
	s.node = nil
	return err
}

func (s *Server) withNode(do func(*node) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node == nil {
		return fault.New(fault.Misconfigured, "the object store is stopped or belongs to somebody else")
	}
	return do(s.node)
}

func readAuthority(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the caller's own path
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return pool, nil
}
