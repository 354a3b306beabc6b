package health

import (
	"context"
	"fmt"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

// Keys asks whether what is signed here would be believed, now and for a while.
type Keys struct {
	Trusted signing.Keyring
	Signers []signing.Signer
	Now     func() time.Time
}

const (
	// probeType is of a document that nobody reads: it never passes for one of the archive's.
	probeType = "application/vnd.tidemark.probe.v1"
	// soon is how long before its end a key is spoken of.
	soon = 30 * 24 * time.Hour
)

// Examine signs a document that is thrown away, with each key, and reads it as everybody else would.
func (k Keys) Examine(ctx context.Context) []Finding {
	f := &findings{about: "keys"}
	f.fine("trusted", "keys that are believed: %d", len(k.Trusted))
	if len(k.Signers) == 0 {
		f.doubtful("signing", "no key signs here, so this process can read backups and make none", "set TIDEMARK_SIGNING_KEYS where backups are made")
	}
	for _, signer := range k.Signers {
		if err := k.sign(ctx, signer); err != nil {
			f.failed("signing", err)
		} else {
			f.fine("signing", "key %s signs and is believed", k.name(signer.Key()))
		}
	}
	k.checkEnds(f)
	return f.list
}

func (k Keys) sign(ctx context.Context, signer signing.Signer) error {
	now := k.Now()
	envelope, err := signing.Seal(ctx, probeType, []byte(now.UTC().Format(time.RFC3339Nano)), signer)
	if err != nil {
		return err
	}
	opened, err := k.Trusted.Open(probeType, envelope)
	if err == nil {
		err = opened.JudgeAt(now, now)
	}
	if err != nil {
		return fault.New(fault.Misconfigured, "key %s signs, and nobody would believe it: %w", k.name(signer.Key()), err).
			WithHint("add it to TIDEMARK_TRUSTED_KEYS, with a window that has begun and not ended: tidemark keys show FILE prints it")
	}
	return nil
}

// checkEnds speaks of keys whose time is nearly over. An old key that signs no more may end in peace.
func (k Keys) checkEnds(f *findings) {
	now := k.Now()
	for _, pinned := range k.Trusted {
		end := pinned.NotAfter
		if end.IsZero() || end.Before(now) || end.Sub(now) > soon || len(k.Signers) > 0 && !k.isSigner(pinned) {
			continue
		}
		f.doubtful("window", fmt.Sprintf("key %s is believed until %s alone", pinned, end.UTC().Format(time.RFC3339)),
			"make its successor with tidemark keys generate, pin both, let both sign, then drop this one")
	}
}

func (k Keys) isSigner(pinned signing.Trusted) bool {
	for _, signer := range k.Signers {
		if signer.Key().ID() == pinned.Key.ID() {
			return true
		}
	}
	return false
}

// name is how people call a key.
func (k Keys) name(key signing.PublicKey) string {
	for _, pinned := range k.Trusted {
		if pinned.Key.ID() == key.ID() {
			return pinned.String()
		}
	}
	return key.ID().String()
}
