package verifications

import (
	"context"
	"io"
	"sync"
	"time"

	"tidemark/cmd/tidemark/backups"
	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive/attestation"
	"tidemark/shared/config"
	"tidemark/shared/manifest/document"
	"tidemark/shared/verify"
	"tidemark/shared/wiring"
)

// checker is one command at work.
type checker struct {
	asked   *asked
	options verify.Options
	attest  attestation.Options
	seen    *backups.Seen
	now     func() time.Time

	watch io.Writer
	mu    sync.Mutex
	told  time.Time // when the watch was told last
}

// open gets the keys before hours are spent on what then cannot be said.
func (v *checker) open(ctx context.Context, c config.Archive) (err error) {
	v.attest.Now = v.now
	if !v.asked.noReport {
		if v.attest.Signers, err = wiring.Signers(ctx, c); err != nil {
			return err
		}
	}
	v.options.NewUnpacker, err = wiring.Unpackers(c)
	return err
}

// check looks at one manifest as far as it can be read.
func (v *checker) check(ctx context.Context, m listing.Manifest) (f finding, err error) {
	f = finding{Manifest: m, begun: document.Moment(v.now())}
	f.subject = wiring.Subject(m.Manifest, m.Body, v.before(ctx, m), v.asked.bucket)
	if m.IsRead() {
		options := v.options
		options.OnProgress = func(done, of int) { v.progress(m, done, of) }
		f.outcome, err = verify.Check(ctx, f.subject, options)
	} else {
		f.outcome = verify.Outcome{Level: v.options.Level, Share: v.options.Share, Seed: v.options.Seed}
	}
	f.judge()
	f.ended = document.Moment(v.now())
	if err != nil || v.asked.noReport {
		return f, err
	}
	return f, v.sign(ctx, &f)
}

// sign writes the report. Of a statement that cannot be believed there is nothing to attest.
func (v *checker) sign(ctx context.Context, f *finding) error {
	if f.Statement.Seq == 0 {
		return nil
	}
	r := wiring.Attested(f.outcome, f.subject)
	r.Begun, r.Ended, r.Actor, r.Tool = f.begun, f.ended, v.asked.actor(), v.asked.tool
	var err error
	f.written, err = attestation.Write(ctx, v.attest, f.Manifest.Manifest, r)
	return err
}
