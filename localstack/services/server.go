package services

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/localstack/child"
)

// serverConfig is what a server of our own is made from.
type serverConfig struct {
	bin      string
	account  *account // nil: as this process
	durable  bool
	settings map[string]string
}

// server is one data directory and, while it is up, the process family that serves it.
type server struct {
	serverConfig
	dir      string // holds everything: data, socket, log
	password string
	port     int
	guard    *child.Guard
	process  *child.Process // nil while the server is down
}

const (
	superuser        = "postgres"
	shutdownDeadline = 15 * time.Second
	killDeadline     = 10 * time.Second
	portAttempts     = 3

	immediateShutdown = syscall.SIGQUIT
)

// newServer makes a data directory and starts a server on it. A port is free only until somebody else takes it, so a
// server that dies while starting gets another one.
func newServer(ctx context.Context, config serverConfig) (_ *server, err error) {
	s := &server{serverConfig: config, password: rand.Text()}
	if s.dir, err = os.MkdirTemp("", "tidemark-pg-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if s.guard, err = child.StartGuard(s.dir, immediateShutdown); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove())
		}
	}()
	if err := s.adoptBinaries(); err != nil {
		return nil, err
	}
	if err := s.initialize(ctx); err != nil {
		return nil, err
	}
	for range portAttempts {
		if s.port, err = child.FreePort(ctx); err != nil {
			return nil, err
		}
		if err = s.start(ctx); !errors.Is(err, errDied) {
			break
		}
	}
	return s, err
}

// adoptBinaries copies binaries that the server's account cannot reach, such as a cache in the home of root, into the
// server's folder.
func (s *server) adoptBinaries() error {
	if s.account == nil || reachable(s.bin) {
		return nil
	}
	install := filepath.Join(s.dir, "install")
	if err := os.CopyFS(install, os.DirFS(filepath.Dir(s.bin))); err != nil {
		return fmt.Errorf("copy the binaries for another account: %w", err)
	}
	s.bin = filepath.Join(install, filepath.Base(s.bin))
	return nil
}

func (s *server) initialize(ctx context.Context) error {
	passwordFile := filepath.Join(s.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(s.password), 0o600); err != nil {
		return fmt.Errorf("write the password for initdb: %w", err)
	}
	if err := s.account.give(s.dir); err != nil {
		return err
	}
	cmd := s.command(ctx, "initdb", "--pgdata="+s.data(), "--username="+superuser, "--pwfile="+passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, tail(output))
	}
	if err := os.Remove(passwordFile); err != nil {
		return fmt.Errorf("remove the password after initdb: %w", err)
	}
	return nil
}

var errDied = errors.New("the server ended while starting")

// start brings the server up and returns when it takes connections.
func (s *server) start(ctx context.Context) error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	// The server outlives ctx, which bounds the start alone.
	cmd := s.command(context.WithoutCancel(ctx), "postgres", s.arguments()...)
	cmd.Stdout, cmd.Stderr = log, log
	if s.process, err = child.Start(cmd); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	if err := s.guard.Watch(s.process.PID()); err != nil {
		return errors.Join(err, s.kill())
	}
	if err := s.awaitReady(ctx); err != nil {
		logged, _ := os.ReadFile(s.logFile()) // for the message only
		return errors.Join(fmt.Errorf("%w: %s", err, tail(logged)), s.kill())
	}
	return nil
}

const readyPoll = 10 * time.Millisecond

func (s *server) awaitReady(ctx context.Context) error {
	for {
		conn, err := pgx.Connect(ctx, s.url())
		if err == nil {
			return conn.Close(ctx)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the first connection: %w", err)
		}
		if s.process.EndsWithin(readyPoll) {
			return errDied
		}
	}
}

// shutdown is a fast shutdown: sessions are ended, a checkpoint is written. A server that does not obey is killed.
func (s *server) shutdown() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Signal(syscall.SIGINT); err != nil {
		return fmt.Errorf("ask the server to stop: %w", err)
	}
	if !s.process.EndsWithin(shutdownDeadline) {
		return s.kill()
	}
	return s.reap()
}

// kill ends the server as a crash would. The postmaster's children notice its death and end themselves; a restart before
// the last of them is gone would be refused by PostgreSQL, so kill waits for all.
func (s *server) kill() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	if !s.process.EndsWithin(killDeadline) {
		return fmt.Errorf("kill the server: its children are still there after %s", killDeadline)
	}
	return s.reap()
}

func (s *server) reap() error {
	s.process.Reap()
	s.process = nil
	return s.guard.Watch(0)
}

// remove ends the server, removes its folder and dismisses the guard.
func (s *server) remove() error {
	return errors.Join(s.shutdown(), os.RemoveAll(s.dir), s.guard.Dismiss())
}

func (s *server) url() string {
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, s.password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return address.String()
}

func (s *server) data() string    { return filepath.Join(s.dir, "data") }
func (s *server) logFile() string { return filepath.Join(s.dir, "log") }

// arguments are the server's settings. synchronous_commit stays on even where fsync is off: a commit then is in the
// kernel's cache when it is confirmed, so it outlives the server's own death, and Kill tells the truth.
func (s *server) arguments() []string {
	durable := "off"
	if s.durable {
		durable = "on"
	}
	settings := map[string]string{
		"listen_addresses": "127.0.0.1", "port": strconv.Itoa(s.port), "unix_socket_directories": s.dir,
		"fsync": durable, "full_page_writes": durable, "synchronous_commit": "on",
		"max_connections": "200", "shared_buffers": "128MB", "max_wal_size": "2GB",
		"wal_level": "logical", "max_wal_senders": "20", "max_replication_slots": "50",
		"timezone": "UTC", "log_timezone": "UTC", "lc_monetary": "C", "lc_messages": "C",
	}
	maps.Copy(settings, s.settings)
	arguments := []string{"-D", s.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		arguments = append(arguments, "-c", name+"="+settings[name])
	}
	return arguments
}

// command runs one of the server's binaries as its account, away from terminals' signals (own process group), from a
// folder that the account can read, and without this process's environment, whose PG* variables would change it.
func (s *server) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), arguments...) //nolint:gosec // found or verified binaries
	cmd.Dir = s.dir
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.account.credential()}
	return cmd
}

const tailBytes = 800

// tail is the end of a program's output, for an error message.
func tail(output []byte) string { return string(output[max(0, len(output)-tailBytes):]) }
