package verifications

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/verify"
	"tidemark/shared/wiring"
)

// asked is what the command line says.
type asked struct {
	actor                                 func() string
	tool                                  string
	level, manifest, sample, seed, bucket string
	all, asJSON, noReport                 bool
}

// options are those of every check. The seed is chosen once for all of them.
func (a *asked) options() (o verify.Options, err error) {
	o.Level = verify.Level(a.level)
	if o.Level != verify.Files && o.Level != verify.Hash {
		return o, exit.Usage(fmt.Errorf("--level %q: want files or hash", a.level))
	}
	if o.Share, err = verify.ParseShare(a.sample); err != nil {
		return o, exit.Usage(fmt.Errorf("--sample: %w", err))
	}
	if a.seed == "" {
		var random [8]byte
		_, _ = rand.Read(random[:]) // it never fails
		o.Seed = binary.BigEndian.Uint64(random[:])
		return o, nil
	}
	const base, bits = 16, 64
	if o.Seed, err = strconv.ParseUint(a.seed, base, bits); err != nil || len(a.seed) != base {
		return o, exit.Usage(errors.New("--seed: want 16 hexadecimal digits, as a report has them"))
	}
	return o, nil
}

// run does what was asked.
func (a *asked) run(cmd *cobra.Command) error {
	options, err := a.options()
	if err != nil {
		return err
	}
	environment, err := config.LoadArchivist(config.OS())
	if err != nil {
		return err
	}
	v := &checker{asked: a, options: options, now: time.Now}
	if v.attest.Archive, err = wiring.OpenArchive(cmd.Context(), environment.Archive, environment.TargetID); err != nil {
		return err
	}
	if err := v.open(cmd.Context(), environment.Archive); err != nil {
		return exit.Archive(err)
	}
	if v.seen, err = backups.Look(cmd.Context(), v.attest.Archive, a.bucket); err != nil {
		return exit.Archive(err)
	}
	findings, err := v.all(cmd.Context())
	if err := a.print(cmd, findings); err != nil {
		return err
	}
	if err == nil && cmd.Context().Err() != nil {
		err = fault.New(fault.Retryable, "verify: %w", cmd.Context().Err())
	}
	return findings.end(err)
}
