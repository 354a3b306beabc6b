// Package flow owns how a flow file becomes what applies it: target, decoders and applier. Live apply and a recovery's replay
// are put together here and nowhere else, so that both are the same code.
//
// It connects to nothing: the first batch does. It refuses flow files whose keys do not fit together.
package flow

import (
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/config"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/wiring/login"
)

// Mode says who applies.
type Mode struct {
	Replaying position.Incarnation // the life that a recovery restores; empty: live apply
	Now       func() time.Time
}

// New puts target and applier of a flow together.
//
// Errors: fault.Misconfigured for everything that is wrong with the environment or the flow file.
func New(process *config.Process, file *config.Flow, mode Mode) (*target.Target, *apply.Applier, error) {
	written, err := target.New(target.Options{
		Database: process.Database.Reveal(), LedgerSchema: process.LedgerSchema, Flow: file.Name,
		Route: route(file.Routes), IgnoreUnknownTables: file.IgnoreUnknownTables,
		Connections: process.Connections, ConnectTimeout: process.ConnectTimeout,
		Unprepared: !process.PreparedStatements, Replaying: !mode.Replaying.IsZero(), Now: mode.Now,
		Logins: login.Database(process, mode.Now),
	})
	if err != nil {
		return nil, nil, err
	}
	own, decoder, err := decoders(written, file)
	if err != nil {
		return nil, nil, err
	}
	applier, err := apply.New(written, decoder, apply.Options{
		Flow: file.Name, TargetID: process.TargetID, Topics: file.Topics,
		Decoders: own,
		MaxRows:  file.MaxTransactionRows, MaxBytes: int(file.MaxTransactionBytes), Reserve: file.DeadlineReserve,
		Identity: apply.IdentityOptions(file.Identity), Replaying: mode.Replaying, Now: mode.Now,
	})
	return written, applier, err
}

// route leads tables as the flow says and leaves the others where they are.
func route(routes []config.Route) func(change.Name) change.Name {
	to := make(map[change.Name]change.Name, len(routes))
	for _, r := range routes {
		to[r.From] = r.To
	}
	return func(n change.Name) change.Name {
		if led, ok := to[n]; ok {
			return led
		}
		return n
	}
}
