package recoveries

import (
	"context"
	"time"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/origin"
	"tidemark/shared/config"
	"tidemark/shared/wiring/recovering"
)

// Open puts the recovery together that the flags and the environment ask for, and gives what closes it.
//
// Errors: marked with where they came from; fault.Misconfigured.
func (f *Flags) Open(ctx context.Context, actor, tool string) (*recovering.Recovery, func(), error) {
	if err := f.valid(); err != nil {
		return nil, nil, err
	}
	environment, err := config.LoadRecovery(config.OS())
	if err != nil {
		return nil, nil, err
	}
	f.kafka = environment.Kafka
	log, err := recovering.OpenLog(ctx, &environment.Kafka, time.Now)
	if err != nil {
		return nil, nil, exit.Kafka(err)
	}
	opened, err := recovering.New(ctx, &environment, f.flows, origin.Log(log), time.Now)
	if err != nil {
		log.Close()
		return nil, nil, exit.Archive(err)
	}
	closeAll := func() {
		opened.Close(context.WithoutCancel(ctx))
		log.Close()
	}
	o := &opened.Options
	o.AllowGap, o.AllowOlder, o.Jobs, o.Actor, o.Tool = f.allowGap, f.allowOlder, f.jobs, actor, tool
	o.MintInSecondary, o.FromBucket = f.mintInSecondary, f.fromBucket
	if err := f.extent.apply(o); err != nil {
		closeAll()
		return nil, nil, err
	}
	f.into.apply(o)
	o.Database, o.Checkpoints, o.Applier = origin.Database(o.Database), origin.Checkpoints(o.Checkpoints), origin.Appliers(o.Applier)
	if o.Manifest, err = find(ctx, o.Archive, f.manifest); err != nil {
		closeAll()
		return nil, nil, exit.Archive(err)
	}
	return opened, closeAll, nil
}
