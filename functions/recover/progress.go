package main

import (
	"context"
	"log/slog"
	"time"
)

// progress tells from time to time how far a recovery is. It is told by one goroutine at a time.
type progress struct {
	log  *slog.Logger
	now  func() time.Time
	told time.Time // when the log was last told
}

// every is how long the log hears nothing of a recovery that goes on.
const every = 10 * time.Second

func (p *progress) note(ctx context.Context, reached ...slog.Attr) {
	if now := p.now(); now.Sub(p.told) >= every {
		p.told = now
		p.log.LogAttrs(ctx, slog.LevelInfo, "recovery goes on", reached...)
	}
}
