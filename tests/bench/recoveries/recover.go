package recoveries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/recovery"
	"tidemark/shared/secret"
	"tidemark/shared/wiring/recovering"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/original"
)

// flow is the flow that is replayed, and flowFile its file.
const (
	flow     = "bench"
	flowFile = "flow: " + flow + "\nformat: debezium\nlog: dense\ntopics: [" + load.Topic + "]\n"
)

// process is the environment of whoever writes to a database.
func process(url string) config.Process {
	const patience = 10 * time.Second
	return config.Process{
		TargetID: original.Target, Database: secret.New(url), LedgerSchema: original.Schema, Connections: 1, ConnectTimeout: patience,
		PreparedStatements: true,
	}
}

// recover runs a recovery as the operator's command does, into an empty database.
func recoverInto(ctx context.Context, into *original.Database, from *original.Store, log recovery.Log, n int) (_ recovery.Report, err error) {
	folder, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return recovery.Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "flow.yaml")
	if err := os.WriteFile(file, []byte(flowFile), 0o600); err != nil {
		return recovery.Report{}, err
	}
	opened, err := recovering.New(ctx, &config.Recovery{
		Process: process(into.URL), Archive: from.Config, FlowFile: file,
	}, nil, log, time.Now)
	if err != nil {
		return recovery.Report{}, err
	}
	defer opened.Close(context.WithoutCancel(ctx))
	opened.Options.Jobs, opened.Options.Actor, opened.Options.Tool = n, "bench", "bench"
	report, err := recovery.Run(ctx, opened.Options)
	if err == nil && len(report.Restored.Warnings) > 0 {
		err = fmt.Errorf("recover: %q", report.Restored.Warnings)
	}
	return report, err
}

// restore measures a recovery of a base without a tail.
func (o Options) restore(ctx context.Context, b *base, n int) (r restored, err error) {
	into, err := original.New(ctx, o.URL)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, into.Drop(ctx)) }()
	if err := o.checkpoint(ctx, into); err != nil {
		return r, err
	}
	begun, err := meter.Begin(o.Server)
	if err != nil {
		return r, err
	}
	report, err := recoverInto(ctx, into, b.store, &memory{}, n)
	if err != nil {
		return r, err
	}
	if r.whole, err = begun.End(int(b.original.Bytes)); err != nil {
		return r, err
	}
	r.restore = report.Restore.Seconds()
	return r, b.check(ctx, into)
}
