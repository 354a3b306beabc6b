package backups

import (
	"context"
	"fmt"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
)

// Seen is one reading of an archive, down to which objects are there.
type Seen struct {
	History *history.History

	stock history.Stock
}

// Look reads an archive, or one bucket of it.
func Look(ctx context.Context, opened *archive.Archive, bucket string) (*Seen, error) {
	if bucket != "" {
		one := *opened
		one.Places = nil
		for _, place := range opened.Places {
			if place.Name == bucket {
				one.Places = append(one.Places, place)
			}
		}
		if len(one.Places) == 0 {
			return nil, exit.Usage(fmt.Errorf("--bucket %q: want primary, or secondary where there is one", bucket))
		}
		opened = &one
	}
	h, err := history.Read(ctx, opened)
	if err != nil {
		return nil, err
	}
	stock, err := h.Stock(ctx)
	return &Seen{h, stock}, err
}

// Warnings are what the reading passed over.
func (s *Seen) Warnings() []string {
	warnings := s.History.Warnings
	for _, err := range s.History.Unreached {
		warnings = append(warnings, fault.Line(err))
	}
	return warnings
}

// Read reads and verifies a manifest as far as it goes.
func (s *Seen) Read(ctx context.Context, e history.Entry) listing.Manifest {
	m, err := s.History.OpenRevoked(ctx, e)
	if err != nil {
		return listing.Manifest{Manifest: history.Manifest{Entry: e}, Problem: err}
	}
	read := listing.Manifest{Manifest: m}
	if read.Body, read.Problem = s.History.Body(ctx, m); read.Problem != nil {
		return read
	}
	read.Objects = history.Objects(m, read.Body)
	read.Problem = s.History.Whole(ctx, m, read.Objects, s.stock)
	return read
}
