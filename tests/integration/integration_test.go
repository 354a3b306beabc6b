//go:build integration

// Package integration holds the promises that only real brokers can test: the real function as a process, a real
// PostgreSQL, and three Kafka brokers with TLS, SCRAM, three replicas of everything and two needed for a write, one of
// which may die.
//
// It imports no stand-in of Kafka and no handler of its own: events come from localstack/eventsource, replies from the
// binary. What brokers do to a log in earnest happens here: leaders change, retention and compaction take records away,
// topics are made anew, transactions leave markers. Each test has a database, topics and functions of its own on brokers
// that the whole process shares.
package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/localstack/brokers"
	"tidemark/localstack/kafkalog"
	"tidemark/localstack/services/servicestest"
	"tidemark/shared/fault"
	"tidemark/tests/internal/binary"
)

// What the tests of this process share, made before the first of them.
var (
	bootstrap string // the function's binary
	command   string // the operator's
	cluster   *brokers.Cluster
	log       *kafkalog.Log
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

type runner struct{ *testing.M }

// Run makes what the tests share, runs them and takes it down again.
func (r runner) Run() int {
	dir, err := os.MkdirTemp("", "tidemark-integration-")
	if err == nil {
		err = share(dir)
	}
	code := 1
	if err == nil {
		code = servicestest.Run(r.M)
	}
	if log != nil {
		log.Close()
	}
	if cluster != nil {
		err = errors.Join(err, cluster.Stop())
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "integration tests:", fault.Line(err))
		return max(code, 1)
	}
	return code
}

const shareDeadline = 5 * time.Minute

func share(dir string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), shareDeadline)
	defer cancel()
	bootstrap, command = filepath.Join(dir, "apply", "bootstrap"), filepath.Join(dir, "tidemark")
	if err := errors.Join(binary.Build(ctx, bootstrap, "./functions/apply"), binary.Build(ctx, command, binary.Command)); err != nil {
		return err
	}
	cluster, err = brokers.Start(ctx, brokers.Options{
		Count: 3, Secure: true,
		Settings: map[string]string{"log.cleaner.backoff.ms": "100"}, // compaction at once
	})
	if err != nil {
		return err
	}
	log, err = kafkalog.Open(cluster.Secure().Client(brokers.SHA512)...)
	return err
}
