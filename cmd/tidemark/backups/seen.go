package backups

import (
	"context"
	"fmt"
	"slices"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive"
	"tidemark/shared/archive/attestation"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
)

// Seen is one reading of an archive, down to which objects are there.
type Seen struct {
	History *history.History

	stock   history.Stock
	reports *attestation.Reports
	unseen  []string // places whose reports could not be listed
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
	if err != nil {
		return nil, err
	}
	reports, unseen, err := attestation.List(ctx, opened)
	return &Seen{h, stock, reports, unseen}, err
}

// Warnings are what the reading passed over.
func (s *Seen) Warnings() []string {
	warnings := append(slices.Clone(s.History.Warnings), s.unseen...)
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
	read.Report, read.Ignored = s.reports.Newest(ctx, m)
	if read.Body, read.Problem = s.History.Body(ctx, m); read.Problem != nil {
		return read
	}
	read.Objects = history.Objects(m, read.Body)
	read.Problem = s.History.Whole(ctx, m, read.Objects, s.stock)
	return read
}
