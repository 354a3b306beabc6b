package restore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/recovery"
)

// restoring is one call of Restore.
type restoring struct {
	db   *Database
	base recovery.Base
	// fitting is of a database whose tables were there.
	fitting fitting

	hold     *claim.Hold
	sessions []*claim.Session // one for each job, made when it is needed

	mu          sync.Mutex
	warnings    map[string]bool
	rows, bytes int64 // loaded by this call
	plain, of   int64 // plain bytes that are in, and all
}

func newRestoring(d *Database, b recovery.Base) *restoring {
	return &restoring{
		db: d, base: b, warnings: map[string]bool{}, sessions: make([]*claim.Session, max(b.Jobs, 1)),
	}
}

func (r *restoring) restored() recovery.Restored {
	r.mu.Lock()
	defer r.mu.Unlock()
	return recovery.Restored{Rows: r.rows, Bytes: r.bytes, Warnings: slices.Sorted(maps.Keys(r.warnings))}
}

func (r *restoring) warn(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings[fmt.Sprintf(format, args...)] = true
}

// run takes the steps in their order, while the try is held.
func (r *restoring) run(ctx context.Context) (err error) {
	if r.hold, err = r.db.Hold(ctx, r.base.Try); err != nil {
		return err
	}
	defer r.hold.Close(ctx)
	defer r.closeSessions(ctx)
	for _, part := range []func(context.Context) error{
		r.check, r.checkUnlogged,
		r.existing,
		r.beforeData, r.loadRows, r.keys, r.references, r.afterData, r.setSequences, r.rewind, r.analyze, r.hold.Finish,
	} {
		if err := part(ctx); err != nil {
			return claim.Classify(err)
		}
	}
	return nil
}

// step takes a step unless it is done, in the session of the first job.
func (r *restoring) step(ctx context.Context, name string, do func(s *claim.Session) error) error {
	if r.hold.Done[name] {
		return nil
	}
	s, err := r.session(ctx, 0)
	if err != nil {
		return err
	}
	_, err = s.Step(ctx, name, r.db.settings, func() error { return do(s) })
	return err
}

// session is the one of a job. Jobs are not at work twice at once.
func (r *restoring) session(ctx context.Context, job int) (*claim.Session, error) {
	if r.sessions[job] == nil {
		s, err := r.db.Connect(ctx)
		if err != nil {
			return nil, err
		}
		r.sessions[job] = s
	}
	return r.sessions[job], nil
}

func (r *restoring) closeSessions(ctx context.Context) {
	for _, s := range r.sessions {
		if s != nil {
			s.Close(ctx)
		}
	}
}

// beside gives every job the queue and a session. The first error ends all.
func beside[T any](ctx context.Context, r *restoring, all []T, work func(ctx context.Context, s *claim.Session, queue <-chan T) error) error {
	queue := make(chan T, len(all))
	for _, one := range all {
		queue <- one
	}
	close(queue)
	group, inner := errgroup.WithContext(ctx)
	for job := range min(len(r.sessions), len(all)) {
		group.Go(func() error {
			s, err := r.session(inner, job)
			if err != nil {
				return err
			}
			return work(inner, s, queue)
		})
	}
	return group.Wait()
}
