// Package recovering owns which driver stands behind which part of a recovery, as the configuration and the flow files name
// it: archive, log, database and what applies the log's records.
//
// It is apart from package wiring so that functions that recover nothing carry no Kafka client and no migrations. It refuses
// flow files that do not parse, two of one flow, and a flow of the manifest that has none, before anything is written. A
// Recovery belongs to one goroutine; its database may be called as recovery.Database says.
package recovering

import (
	"context"
	"errors"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/migrations"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/postgres/target"
	"tidemark/shared/recovery"
	"tidemark/shared/wiring"
	"tidemark/shared/wiring/flow"
	"tidemark/shared/wiring/login"
)

// Recovery is a recovery that is put together.
type Recovery struct {
	Options recovery.Options

	process  *config.Process
	flows    map[string]config.Flow // by name
	database *database
	targets  []*target.Target
}

// New puts a recovery together, beside who acts, what is allowed and who watches. files are flow files beside the one that the
// environment names. It asks services that hold keys or marks, and connects to nothing else. The caller closes it.
//
// Errors: fault.Misconfigured; fault.Retryable when a service that holds a key is away.
func New(ctx context.Context, c *config.Recovery, files []string, log recovery.Log, now func() time.Time) (*Recovery, error) {
	flows, err := readFlows(c.FlowFile, files)
	if err != nil {
		return nil, err
	}
	at, err := address.Parse(c.Database.Reveal(), c.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	postgres.LogInWith(&at.Config, login.Database(&c.Process, now))
	opened, err := wiring.OpenArchive(ctx, c.Archive, c.TargetID)
	if err != nil {
		return nil, err
	}
	written, err := wiring.Writer(ctx, c.Archive, opened, now)
	if err != nil {
		return nil, err
	}
	r := &Recovery{process: &c.Process, flows: flows, database: &database{
		up: func(ctx context.Context) error {
			_, err := migrations.Up(ctx, at.Copy(), c.LedgerSchema)
			return err
		},
		Database: restore.New(at, restore.Options{
			LedgerSchema: c.LedgerSchema, ConnectTimeout: c.ConnectTimeout, LedgerFrom: ledger.MinVersion, LedgerTo: ledger.MaxVersion,
		}),
	}}
	r.Options = recovery.Options{
		Flows: topics(flows), Unwritten: r.unwritten, WholeRows: r.wholeRows, Archive: opened, Signers: written.Signers, Pack: written.Pack,
		HighWater: written.HighWater, Log: log,
		Database: r.database, Checkpoints: r.database, Fits: r.database.Fits, Applier: r.applier, NewRunID: wiring.NewRunID, Now: now,
		NewIncarnation: func() position.Incarnation { return position.Incarnation(wiring.NewRunID()) },
	}
	return r, nil
}

// Covers refuses a plan that replays a flow without a flow file. Errors: fault.Misconfigured, which names the flow.
func (r *Recovery) Covers(plan recovery.Plan) error {
	var missing []error
	seen := map[string]bool{}
	for _, t := range plan.Tallies {
		if _, known := r.flows[t.Flow]; !known && !seen[t.Flow] {
			seen[t.Flow] = true
			missing = append(missing, noFile(t.Flow))
		}
	}
	if len(missing) == 1 {
		return missing[0]
	}
	return errors.Join(missing...)
}

// Close ends the connections of what applied. Those of the log are the caller's.
func (r *Recovery) Close(ctx context.Context) {
	for _, t := range r.targets {
		t.Close(ctx)
	}
}

// applier is live apply's, for the life that is being restored.
func (r *Recovery) applier(name string, life position.Incarnation) (recovery.Applier, error) {
	file, known := r.flows[name]
	if !known {
		return nil, noFile(name)
	}
	written, applier, err := flow.New(r.process, &file, flow.Mode{Replaying: life, Now: r.Options.Now})
	if err != nil {
		return nil, err
	}
	r.targets = append(r.targets, written)
	return applier, nil
}

// topics are those of each flow.
func topics(flows map[string]config.Flow) map[string][]string {
	of := make(map[string][]string, len(flows))
	for name := range flows {
		of[name] = flows[name].Topics
	}
	return of
}

func noFile(name string) error {
	return fault.New(fault.Misconfigured, "the manifest stands in flow %s, and no flow file is of that flow", name).
		WithHint("name its flow file: TIDEMARK_FLOW_FILE, or --flow FILE once for each flow")
}

// readFlows reads flow files; the environment may name none.
func readFlows(first string, more []string) (map[string]config.Flow, error) {
	flows := map[string]config.Flow{}
	if first != "" {
		more = append([]string{first}, more...)
	}
	for _, path := range more {
		file, err := config.ReadFlow(path)
		if err != nil {
			return nil, err
		}
		if _, twice := flows[file.Name]; twice {
			return nil, fault.New(fault.Misconfigured, "two flow files are of flow %s, the second is %s", file.Name, path).
				WithHint("name each flow's file once")
		}
		flows[file.Name] = file
	}
	return flows, nil
}
