// Package aws starts stand-ins for the services of AWS on loopback: LocalStack, which speaks for S3, KMS (P-256), SSM and
// most others, and MiniStack, which speaks for fewer but has KMS keys of Ed25519.
//
// It owns where the stand-ins come from and how they end. Both are programs in Python, installed once into a folder of the
// user's cache that is named after the list of their packages, each file pinned by its digest. It refuses an interpreter
// that is too old, and to listen anywhere but on 127.0.0.1, whatever the stand-ins' own defaults are. A stand-in that
// exists already is used as it is and never stopped.
//
// Invariants: a stand-in that this package started dies with this process, also when the process is killed (see
// child.Guard); its folder, and with it all that it kept, goes with it. Two stand-ins share nothing but the program.
//
// No goroutine waits for a stand-in, so leak detectors stay quiet once it is stopped. Methods may be called from several
// goroutines.
package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"tidemark/shared/fault"
)

// Region is the region that a stand-in is in when Options name none.
const Region = "eu-central-1"

// AccessKey and SecretKey are what clients sign with. No stand-in checks a signature: there only has to be one.
const (
	AccessKey = "test"
	SecretKey = "test"
)

// Options says where a stand-in comes from. The zero value takes what the machine has.
type Options struct {
	// Endpoint is the address of a stand-in that exists, such as "http://127.0.0.1:4566". It is used as it is and never
	// stopped.
	Endpoint string
	// Region is the region that the stand-in is in. Empty: the constant Region.
	Region string
	// Python is the interpreter that installs the stand-in and runs it. Empty: of PATH, else of pyenv.
	Python string
	// CacheDir keeps what is installed. Empty: "tidemark" in the user's cache folder.
	CacheDir string
}

// Server is a stand-in that is up until Stop.
type Server struct {
	endpoint  string
	region    string
	transport *http.Transport

	mu   sync.Mutex
	host *host // nil when the caller named the stand-in, and after Stop
}

const (
	startDeadline = 90 * time.Second // of the start alone, without an installation
	portAttempts  = 3
)

// StartLocalStack starts LocalStack, or takes the one that options name. It returns when it answers; a service of it is
// loaded by the first call.
//
// Errors: fault.Misconfigured when there is no interpreter or its packages cannot be had, with what to do in its hint.
func StartLocalStack(ctx context.Context, options Options) (*Server, error) {
	return start(ctx, localStack(), options)
}

// StartMiniStack starts MiniStack, or takes the one that options name. It returns when it answers.
//
// Errors: as those of StartLocalStack.
func StartMiniStack(ctx context.Context, options Options) (*Server, error) {
	return start(ctx, miniStack(), options)
}

// Install installs both stand-ins, unless they are there, so that no start has to.
func Install(ctx context.Context, options Options) error {
	for _, p := range []program{localStack(), miniStack()} {
		if _, err := p.install(ctx, options); err != nil {
			return err
		}
	}
	return nil
}

func start(ctx context.Context, p program, options Options) (*Server, error) {
	if options.Region == "" {
		options.Region = Region
	}
	s := &Server{region: options.Region, transport: &http.Transport{MaxIdleConnsPerHost: clientConnections}}
	if options.Endpoint != "" {
		s.endpoint = strings.TrimSuffix(options.Endpoint, "/")
		return s, nil
	}
	python, err := p.install(ctx, options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	// A port is free only until somebody else takes it, so a stand-in that dies while starting gets another one.
	for attempt := 1; ; attempt++ {
		s.host, err = newHost(ctx, p, python, options.Region)
		if err == nil {
			s.endpoint = s.host.endpoint()
			return s, nil
		}
		if !errors.Is(err, errDied) || attempt == portAttempts {
			return nil, fmt.Errorf("start %s %s: %w", p.name, p.version, err)
		}
	}
}

// Endpoint is the URL of all services, without a slash at its end.
func (s *Server) Endpoint() string { return s.endpoint }

// Region is the region that the stand-in is in.
func (s *Server) Region() string { return s.region }

// clientConnections are kept for each Server's clients. The default of two would make a test with more goroutines open
// and close a connection for each call.
const clientConnections = 16

// Config is how a client of any service reaches the stand-in. Nothing of the environment or of files in the home folder is
// in it. Clients made from it share connections, which Stop closes.
func (s *Server) Config() aws.Config {
	return aws.Config{
		Region: s.region, BaseEndpoint: aws.String(s.endpoint), HTTPClient: &http.Client{Transport: s.transport},
		Credentials: credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, ""),
	}
}

// Stop ends the stand-in, by force when it does not obey before ctx ends, and removes all that it kept. It is a no-op the
// second time; of a stand-in that the caller named it closes the connections.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transport.CloseIdleConnections()
	if s.host == nil {
		return nil
	}
	err := s.host.remove(ctx)
	s.host = nil
	return err
}

// noProgram is the error of a stand-in that cannot be had.
func (p program) noProgram(format string, args ...any) error {
	return fault.New(fault.Misconfigured, p.name+" "+p.version+": "+format, args...).WithHint("do one of three: "+
		"(1) name a %s that is up, as Endpoint; "+
		"(2) install Python 3.%d or later with its module venv, where PATH or pyenv has it (apt-get install python3-venv, "+
		"brew install python, pyenv install 3.13); "+
		"(3) let pip reach a package index, or copy the installed folder of the cache from a machine where it does",
		p.name, p.oldest)
}
