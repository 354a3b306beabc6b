package recovery

import (
	"context"

	"tidemark/shared/archive/history"
)

// Choose chooses the manifest as a recovery does, for one who needs neither the log nor a life. Of o it takes the archive, the
// mark, which manifest is wanted, and how old it may be. Warnings say how sure it is that the choice is the newest.
//
// Errors: a refusal.Error by name, and the archive's own.
func Choose(ctx context.Context, o Options) (choice history.Choice, warnings []string, err error) {
	if choice, _, err = o.choose(ctx, nil); err != nil {
		return choice, nil, err
	}
	warnings, err = o.freshness(choice)
	return choice, warnings, err
}
