// Package replays owns whether the log still holds what follows each of several backups, as a list of them shows it.
//
// The brokers are asked once for all. It decides nothing: a recovery asks more, and its word is the one that counts. What keeps
// the brokers from being asked, or from answering, leaves every answer unknown, with the reason. No state.
package replays

import (
	"context"
	"time"

	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/config"
	"tidemark/shared/config/brokers"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/wiring/recovering"
)

// Log is what is asked.
type Log interface {
	// Topics describes topics; one that is not there is not in the answer.
	Topics(ctx context.Context, names []string) (map[string]inspection.Topic, error)
	// Bounds gives where partitions begin and end.
	Bounds(ctx context.Context, of []position.Partition) (map[position.Partition]inspection.Bounds, error)
}

// Tell asks the brokers that the environment names, and notes in each manifest what they answer.
func Tell(ctx context.Context, list []listing.Manifest) {
	c, named, err := brokers.Load(config.OS())
	switch {
	case !named:
		note(list, listing.Log{State: listing.UnknownLog, Why: "TIDEMARK_KAFKA_BROKERS is not set"})
		return
	case err != nil:
		note(list, unknown(err))
		return
	}
	log, err := recovering.OpenLog(ctx, &c, time.Now)
	if err != nil {
		note(list, unknown(err))
		return
	}
	defer log.Close()
	Judge(ctx, list, log, time.Now())
}

func unknown(err error) listing.Log {
	return listing.Log{State: listing.UnknownLog, Why: fault.Line(err)}
}

func note(list []listing.Manifest, all listing.Log) {
	for i := range list {
		list[i].Log = all
	}
}

// Judge holds manifests against a log.
func Judge(ctx context.Context, list []listing.Manifest, log Log, now time.Time) {
	asked, err := ask(ctx, list, log)
	if err != nil {
		note(list, unknown(err))
		return
	}
	for i := range list {
		if m := &list[i]; m.IsRead() {
			m.Log = asked.judge(m.Body, now)
		} else {
			m.Log = listing.Log{State: listing.UnknownLog, Why: "its positions cannot be read"}
		}
	}
}
