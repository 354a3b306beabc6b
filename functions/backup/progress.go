package main

import (
	"context"
	"log/slog"
	"time"

	"tidemark/shared/backup"
)

// progress remembers how far a backup is, and tells it from time to time. It is told by one goroutine at a time.
type progress struct {
	log  *slog.Logger
	now  func() time.Time
	told time.Time // when the log was last told
	last backup.Progress
}

// every is how long the log hears nothing of a backup that goes on.
const every = 10 * time.Second

func (p *progress) note(ctx context.Context, reached backup.Progress) {
	p.last = reached
	if now := p.now(); now.Sub(p.told) >= every {
		p.told = now
		p.log.LogAttrs(ctx, slog.LevelInfo, "backup goes on", slog.String("table", reached.Table.String()),
			slog.Int64("bytes", reached.Bytes), slog.Int64("of_bytes", reached.Of), slog.Int("parts", reached.Parts),
			slog.Int("of_parts", reached.OfPart), slog.Int64("rows", reached.Rows), slog.Int64("bytes_stored", reached.StoredBytes),
			slog.Int("objects_stored", reached.Stored), slog.Int("objects_reused", reached.Reused))
	}
}
