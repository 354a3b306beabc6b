package history_test

import (
	"context"
	"iter"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// absent is a bucket that lets nobody in.
type absent struct{ archive.Bucket }

func denied() error { return fault.New(fault.Misconfigured, "ask: %w", archive.ErrDenied) }

func (absent) Read(context.Context, string, archive.Span) ([]byte, error) { return nil, denied() }

func (absent) Stat(context.Context, string) (archive.Info, error) { return archive.Info{}, denied() }

func (absent) List(context.Context, string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) { yield(archive.Info{}, denied()) }
}
