package verifications

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/verify"
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
	if o.Level == verify.Files && o.Share != verify.All {
		return o, exit.Usage(errors.New("--sample: level files looks for every object; give it with --level hash"))
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
