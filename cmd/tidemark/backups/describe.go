package backups

import (
	"context"
	"time"

	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/config/brokers"
	"tidemark/shared/manifest/body"
	"tidemark/shared/wiring/recovering"
)

// describing has the brokers asked about the cut, where the environment names some.
func describing(options *backup.Options) error {
	c, named, err := brokers.Load(config.OS())
	if err != nil || !named {
		return err
	}
	options.Describe = func(ctx context.Context, cut body.Cut) (body.Cut, string, error) {
		log, err := recovering.OpenLog(ctx, &c, time.Now)
		if err != nil {
			return nil, "", err
		}
		defer log.Close()
		return recovering.Describe(ctx, log, cut)
	}
	return nil
}
