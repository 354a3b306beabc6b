package verifications

import (
	"context"

	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/manifest/body"
)

// before is the body of the manifest before, nil when it is not to be had: it may have expired.
func (v *checker) before(ctx context.Context, m listing.Manifest) *body.Body {
	previous := m.Statement.Previous
	for _, e := range v.seen.History.Entries {
		if previous.Seq == 0 || e.Lineage != previous.Lineage || e.Seq != previous.Seq {
			continue
		}
		opened, err := v.seen.History.OpenRevoked(ctx, e)
		if err != nil || opened.Digest != previous.Digest {
			continue
		}
		if b, err := v.seen.History.Body(ctx, opened); err == nil {
			return &b
		}
	}
	return nil
}
