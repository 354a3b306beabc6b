package wiring

import (
	"context"
	"strings"
	"time"

	"filippo.io/age"

	"tidemark/shared/archive"
	"tidemark/shared/archive/filemark"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/ssmmark"
	"tidemark/shared/archive/writer"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
	"tidemark/shared/signing/kmskey"
	"tidemark/shared/signing/localkey"
)

// Writer gives what a backup needs beside its rows, for an archive that OpenArchive gave.
//
// Errors: fault.Misconfigured; fault.Retryable when a service that holds a key is away.
func Writer(ctx context.Context, c config.Archive, a *archive.Archive, now func() time.Time) (writer.Options, error) {
	signers, err := Signers(ctx, c)
	if err != nil {
		return writer.Options{}, err
	}
	mark, err := HighWater(ctx, c)
	if err != nil {
		return writer.Options{}, err
	}
	form, err := Packing(c)
	if err != nil {
		return writer.Options{}, err
	}
	return writer.Options{
		Archive: a, Signers: signers, HighWater: mark, Pack: packWith(form), Retain: c.ObjectLock, Recipients: len(form.Recipients),
		Encryption: encryption(c.Primary.KMSKey), Now: now,
	}, nil
}

// Signers opens the keys that sign. Errors: fault.Misconfigured, also when there is none; fault.Retryable when a service is
// away.
func Signers(ctx context.Context, c config.Archive) ([]signing.Signer, error) {
	const variable = "TIDEMARK_SIGNING_KEYS"
	if len(c.SigningKeys) == 0 {
		return nil, fault.New(fault.Misconfigured, "%s is not set, and this needs a signature", variable).
			WithHint("name a key whose public half is among the trusted keys; tidemark keys generate makes one")
	}
	signers := make([]signing.Signer, 0, len(c.SigningKeys))
	for _, named := range c.SigningKeys {
		if named.KMS != "" {
			key, err := kmskey.Dial(ctx, kmskey.Options{}, named.KMS)
			if err != nil {
				return nil, naming(variable, err)
			}
			signers = append(signers, key)
			continue
		}
		key, err := localkey.Load(named.File)
		if err != nil {
			return nil, naming(variable, err)
		}
		signers = append(signers, key)
	}
	return signers, nil
}

// HighWater gives where the newest manifest is remembered, nil when nobody remembers it. Errors: fault.Misconfigured.
func HighWater(ctx context.Context, c config.Archive) (history.HighWater, error) {
	switch {
	case c.HighWater.File != "":
		return filemark.At(c.HighWater.File), nil
	case c.HighWater.Parameter != "":
		mark, err := ssmmark.Dial(ctx, ssmmark.Options{}, c.HighWater.Parameter)
		if err != nil {
			return nil, naming("TIDEMARK_HIGH_WATER", err)
		}
		return mark, nil
	}
	return nil, nil //nolint:nilnil // none is a choice that plans and reports tell of
}

// Packing says how objects are packed. Errors: fault.Misconfigured.
func Packing(c config.Archive) (packing.Options, error) {
	options := packing.Options{Level: c.CompressionLevel}
	if len(c.Recipients) == 0 {
		return options, nil
	}
	recipients, err := packing.ParseRecipients(strings.Join(c.Recipients, "\n"))
	if err != nil {
		return options, naming("TIDEMARK_AGE_RECIPIENTS", err)
	}
	options.Recipients = recipients
	if _, err := packing.NewPacker(options); err != nil { // recipients may exclude each other
		return options, naming("TIDEMARK_AGE_RECIPIENTS", err)
	}
	return options, nil
}

// Identities are the keys that open objects, none when no file is named. Errors: fault.Misconfigured.
func Identities(c config.Archive) ([]age.Identity, error) {
	const variable = "TIDEMARK_AGE_IDENTITY_FILE"
	if c.IdentityFile == "" {
		return nil, nil
	}
	text, err := readFile(c.IdentityFile)
	if err != nil {
		return nil, naming(variable, err)
	}
	identities, err := packing.ParseIdentities(string(text))
	if err != nil {
		return nil, naming(variable+", "+c.IdentityFile, err)
	}
	return identities, nil
}

// packWith packs one object with a packer of its own: a backup packs one body, and its memory goes with the packer.
func packWith(options packing.Options) func([]byte) (packing.Packed, error) {
	return func(plain []byte) (packing.Packed, error) {
		packer, err := packing.NewPacker(options)
		if err != nil {
			return packing.Packed{}, err
		}
		return packer.Pack(plain)
	}
}

// encryption is what the store is told, as it stands in manifests.
func encryption(kmsKey string) string {
	if kmsKey == "" {
		return ""
	}
	return "aws:kms " + kmsKey
}
