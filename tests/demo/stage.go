package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tidemark/localstack/services"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/tests/internal/capture"
)

// stage is what the demo runs on: the services, the binaries and the flow file.
type stage struct {
	dir      string
	postgres *services.Postgres
	kafka    *services.Kafka
	records  []capture.Record
	topics   []string
}

// environment is what the function and the operator's command are told.
func (s *stage) environment() map[string]string {
	told := s.archive()
	told["TIDEMARK_TARGET_ID"] = "demo"
	told["TIDEMARK_DATABASE_URL"] = s.postgres.URL()
	told["TIDEMARK_FLOW_FILE"] = filepath.Join(s.dir, "flow.yaml")
	told["TIDEMARK_PARTIAL_REPLIES"] = "true"
	if s.kafka != nil { // the function asks no brokers; a recovery reads the log itself
		told["TIDEMARK_KAFKA_BROKERS"] = strings.Join(s.kafka.Brokers(), ",")
		told["TIDEMARK_KAFKA_TLS"], told["TIDEMARK_KAFKA_DEVELOPMENT"] = "false", "true"
	}
	return told
}

func (s *stage) bootstrap() string { return filepath.Join(s.dir, "apply", "bootstrap") }

// build sets the stage: binaries, services, the source's schema in the target, its ledger, and the records in Kafka.
func build(ctx context.Context, records []capture.Record, report *report) (*stage, error) {
	dir, err := os.MkdirTemp("", "tidemark-demo-")
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, records: records}
	steps := []struct {
		say string
		do  func(context.Context) error
	}{
		{"building the apply function and the operator's command", s.compile},
		{"starting a throw-away PostgreSQL", s.startPostgres},
		{"making the source's tables in the target", s.makeTables},
		{"tidemark keys generate, for an archive in a folder", s.makeArchive},
		{"tidemark migrate, tidemark init", s.makeLedger},
		{"starting Kafka (in process)", s.startKafka},
	}
	for _, step := range steps {
		report.line("  " + step.say)
		if err := step.do(ctx); err != nil {
			return nil, s.close(fmt.Errorf("%s: %w", step.say, err))
		}
	}
	report.line(fmt.Sprintf("  a recording of %d records in %d topics", len(records), len(s.topics)))
	return s, nil
}

func (s *stage) compile(ctx context.Context) error {
	for output, source := range map[string]string{s.bootstrap(): "./functions/apply", s.command(): "./cmd/tidemark"} {
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", output, source) //nolint:gosec // fixed words
		build.Dir = capture.Root()
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) command() string { return filepath.Join(s.dir, "tidemark") }

func (s *stage) startPostgres(ctx context.Context) (err error) {
	s.postgres, err = services.StartPostgres(ctx, services.PostgresOptions{})
	return err
}

func (s *stage) makeTables(ctx context.Context) (err error) {
	ddl, err := capture.DDL()
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.postgres.URL())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	_, err = conn.PgConn().Exec(ctx, ddl).ReadAll()
	return err
}

func (s *stage) makeLedger(ctx context.Context) error {
	topics, _ := capture.Topics(s.records)
	s.topics = topics
	flow := "flow: demo\nformat: debezium\nlog: dense\non_unknown_column: ignore\n" +
		"debezium: {unrepresentable: 'null'}\ntopics:\n  - " + strings.Join(topics, "\n  - ") + "\n"
	if err := os.WriteFile(filepath.Join(s.dir, "flow.yaml"), []byte(flow), 0o600); err != nil {
		return err
	}
	for _, verb := range []string{"migrate", "init"} {
		if _, err := s.tidemark(ctx, verb); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) startKafka(ctx context.Context) (err error) {
	_, partitions := capture.Topics(s.records)
	s.kafka, err = services.StartKafka(ctx, services.KafkaOptions{Topics: partitions})
	return err
}

// publish appends records to their partitions.
func (s *stage) publish(ctx context.Context, records []capture.Record) error {
	runs := map[position.Partition][]record.Record{}
	for _, r := range records {
		runs[r.Partition] = append(runs[r.Partition], r.Record)
	}
	var batch record.Batch
	for partition, records := range runs {
		batch = append(batch, record.Run{Partition: partition, Records: records})
	}
	slices.SortFunc(batch, func(a, b record.Run) int { return a.Partition.Compare(b.Partition) })
	_, err := s.kafka.Publish(ctx, batch)
	return err
}

// close stops everything, and joins what goes wrong to err.
func (s *stage) close(err error) error {
	if s.kafka != nil {
		s.kafka.Stop()
	}
	if s.postgres != nil {
		err = errors.Join(err, s.postgres.Stop())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
