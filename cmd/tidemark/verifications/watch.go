package verifications

import (
	"fmt"
	"time"

	"tidemark/cmd/tidemark/report/listing"
)

// progress tells whoever waits how far a check is, once in a while.
func (v *checker) progress(m listing.Manifest, done, of int) {
	const every = 5 * time.Second
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := v.now(); now.Sub(v.told) >= every {
		v.told = now
		_, _ = fmt.Fprintf(v.watch, "%s: %d of %d objects\n", m.ID, done, of) // nobody's check fails because nobody reads
	}
}
