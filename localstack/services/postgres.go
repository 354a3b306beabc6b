// Package services starts the servers that a demo, a test or a laptop needs: a throw-away PostgreSQL and an in-process
// Kafka stand-in, both on loopback. Real Kafka brokers are in localstack/brokers.
//
// It owns where a server comes from and how it ends. A PostgreSQL server is, in this order, one that the caller names,
// one made from binaries on this machine, or one made from binaries downloaded from a Maven repository against a digest
// pinned here. It refuses servers older than PostgreSQL 15, to listen anywhere but on 127.0.0.1, and to guess: when no
// way is open it says which three there are. It reads no environment variable of its own; callers pass addresses in.
//
// Invariants: a server that this package started dies with this process, also when the process is killed (see child.Guard);
// its folder goes with it; a server that the caller named is never stopped. What a killed server had committed survives
// until Stop, because only power failure, not process failure, is given up for speed.
//
// Nothing runs in the background of a PostgreSQL server here: no goroutine waits for it, so leak detectors stay quiet.
// Methods may be called from several goroutines; those that start or stop a server take turns.
package services

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"tidemark/shared/fault"
)

// PostgresOptions says where a server comes from and how careful it is. The zero value takes what the machine has.
type PostgresOptions struct {
	// URL is the address of a server that exists, with a superuser. It is used as it is and never stopped.
	URL string
	// SearchDirs are folders that may hold initdb and postgres, best first. Nil means PATH and the usual places of
	// packages; an empty slice means that the machine's own binaries are not looked for.
	SearchDirs []string
	// Mirror is the address of a Maven repository that has the server's binaries. Empty means Maven Central.
	Mirror string
	// CacheDir keeps downloaded binaries. Empty means "tidemark/postgres" in the user's cache folder.
	CacheDir string
	// Durable makes the server survive power failure: fsync and full page writes on.
	Durable bool
	// Settings are added to the server's configuration and win over this package's own.
	Settings map[string]string
}

// Postgres is a server that is up until Stop.
type Postgres struct {
	url string

	mu     sync.Mutex
	server *server // nil when the caller named the server, and after Stop
}

// startDeadline bounds initdb and the wait for the first connection.
const startDeadline = 90 * time.Second

// StartPostgres starts a server, or takes the one that options name. Only a caller-named server outlives the process.
//
// Errors: fault.Misconfigured when there is no server to be had, with the three ways to supply one in its hint;
// fault.Corrupt when a download does not have the pinned digest.
func StartPostgres(ctx context.Context, options PostgresOptions) (*Postgres, error) {
	if options.URL != "" {
		if _, err := url.Parse(options.URL); err != nil {
			return nil, fault.New(fault.Misconfigured, "parse the PostgreSQL address: not a URL")
		}
		return &Postgres{url: options.URL}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	runAs, err := unprivileged()
	if err != nil {
		return nil, err
	}
	bin, err := findBinaries(ctx, options, runAs)
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, serverConfig{bin: bin, account: runAs, durable: options.Durable, settings: options.Settings})
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL from %s: %w", bin, err)
	}
	return &Postgres{url: s.url(), server: s}, nil
}

// URL is the superuser's address of the server's "postgres" database, password included. It stays valid over Restart.
func (p *Postgres) URL() string { return p.url }

// Stop ends the server by a fast shutdown, or by force after a deadline, and removes its folder. It is a no-op the second
// time and for a server that the caller named.
func (p *Postgres) Stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	err := p.server.remove()
	p.server = nil
	return err
}

// Kill ends the server with SIGKILL, as a crash would, and returns when its last process is gone. What was committed is
// there again after Restart.
func (p *Postgres) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.own(); err != nil {
		return err
	}
	return p.server.kill()
}

// Restart brings the server up again at the same address, after Kill or, by a fast shutdown first, while it runs.
func (p *Postgres) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.own(); err != nil {
		return err
	}
	if err := p.server.shutdown(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	return p.server.start(ctx)
}

func (p *Postgres) own() error {
	if p.server == nil {
		return fault.New(fault.Misconfigured, "the PostgreSQL server is stopped or belongs to somebody else")
	}
	return nil
}
