// Package trustfile owns the file of trusted keys: whose signatures make a document of the archive believed, and from when
// to when.
//
// The file is YAML, and so may be JSON, with a list of keys, or plain PEM with one or more blocks of type PUBLIC KEY, which
// are then trusted without limits in time. It is meant to be kept beside whoever verifies and away from what is verified.
// The package refuses what it does not know, a key that is there twice, an empty list, and private keys, which it never
// shows. Values may be shared between goroutines.
package trustfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"tidemark/shared/config/setting"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

// Read reads the file at path. The keyring has at least one key and each key once.
//
// Errors: fault.Misconfigured when the file cannot be read, or for everything that is wrong in it, in one error.
func Read(path string) (signing.Keyring, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, notRead(err)
	}
	defer func() { _ = file.Close() }() // read only: nothing is lost
	data, err := io.ReadAll(io.LimitReader(file, setting.MaxYAMLBytes+1))
	if err != nil {
		return nil, notRead(err)
	}
	return Parse(path, data)
}

func notRead(err error) error {
	return fault.New(fault.Misconfigured, "read trusted keys: %w", err).
		WithHint("name a file of trusted keys that this process may read")
}

// privateBegin finds a private key of any format, in PEM or quoted.
var privateBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`)

// Parse reads a file's content. name stands before line and column in errors.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func Parse(name string, data []byte) (signing.Keyring, error) {
	if found := privateBegin.FindIndex(data); found != nil {
		line := 1 + bytes.Count(data[:found[0]], []byte("\n"))
		return nil, fault.New(fault.Misconfigured, "%s:%d: a private key stands among the trusted keys", name, line).
			WithHint("put its public half here (tidemark keys show FILE prints it); if others may read this file, revoke the key")
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(pemBegin)) {
		return parsePEM(name, data)
	}
	hint := "correct " + name + "; tidemark keys show prints a key as it stands there"
	read, err := setting.ReadYAML(keys(), name, data, hint)
	return read.keys, err
}

// Settings lists the keys that the file may have.
func Settings() []setting.Setting { return setting.Describe(keys()) }

// content is what the file says.
type content struct{ keys []signing.Trusted }

const (
	maxKeys  = 100
	pemBegin = "-----BEGIN "
	pemHint  = "want blocks of type PUBLIC KEY and nothing else, as tidemark keys show prints them"
	publicly = "a public key in PEM, as tidemark keys show prints it"
)

func keys() []setting.Field[content] {
	return []setting.Field[content]{
		setting.List(setting.Setting{
			Name: "keys", Required: true,
			Meaning: "The keys whose signatures are trusted. At least one; while keys are exchanged, the old and the new one.",
		}, setting.Maps(maxKeys, keyFields(), unique), func(c *content) *[]signing.Trusted { return &c.keys }).
			Where(func(c content) error {
				if len(c.keys) == 0 {
					return errors.New("holds no key that can be trusted; write at least one")
				}
				return nil
			}),
	}
}

// unique is what no two entries may share.
func unique(t signing.Trusted) []string {
	return []string{"name " + t.Name, "key " + t.Key.ID().String()}
}

func keyFields() []setting.Field[signing.Trusted] {
	return []setting.Field[signing.Trusted]{
		setting.Scalar(setting.Setting{
			Name: "name", Required: true, Example: "desk-2026", Meaning: "What messages call the key.",
		}, setting.Text("1 to 63 of a-z, 0-9, '.', '_' and '-'", parseName),
			func(t *signing.Trusted) *string { return &t.Name }),
		setting.Scalar(setting.Setting{
			Name: "public_key", Required: true, Meaning: "The key itself.",
			Secret: true, // what stands here by mistake may be one
		}, setting.Text(publicly, parseKey), func(t *signing.Trusted) *signing.PublicKey { return &t.Key }),
		moment("not_before", "What says that it was created before is refused.",
			func(t *signing.Trusted) *time.Time { return &t.NotBefore }),
		moment("not_after", "What says that it was created after, or was stored after, is refused.",
			func(t *signing.Trusted) *time.Time { return &t.NotAfter }).
			Where(func(t signing.Trusted) error {
				if !t.NotAfter.IsZero() && t.NotAfter.Before(t.NotBefore) {
					return errors.New("is before not_before: the key would never be valid")
				}
				return nil
			}),
		moment("revoked_at", "What was stored from then on is refused, whatever it says of itself.",
			func(t *signing.Trusted) *time.Time { return &t.RevokedAt }),
	}
}

func moment(name, meaning string, at func(*signing.Trusted) *time.Time) setting.Field[signing.Trusted] {
	return setting.Scalar(setting.Setting{Name: name, Meaning: meaning, Example: "2026-01-31T12:00:00Z"},
		setting.Text("a time of RFC 3339 from the year 2000 on, as in 2026-01-31T12:00:00Z", parseTime), at)
}

var namePattern = regexp.MustCompile(`^[a-z0-9._-]{1,63}$`)

func parseName(text string) (string, error) {
	if !namePattern.MatchString(text) {
		return "", errors.New("is not a name for a key")
	}
	return text, nil
}

func parseKey(text string) (signing.PublicKey, error) {
	key, err := signing.ParsePublicKey([]byte(text))
	if err != nil {
		return signing.PublicKey{}, errors.New("is not a public key of Ed25519 or of ECDSA on P-256")
	}
	return key, nil
}

// timePattern holds the library to RFC 3339: it also takes hours of one digit and a comma before the fraction.
var timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`)

// parseTime takes no time long before Tidemark: the zero time would stand for no limit at all.
func parseTime(text string) (time.Time, error) {
	const earliest = 2000
	t, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil || !timePattern.MatchString(text):
		return time.Time{}, errors.New("is not a time of RFC 3339")
	case t.UTC().Year() < earliest:
		return time.Time{}, errors.New("is before the year 2000")
	}
	return t.UTC(), nil
}

// parsePEM reads blocks of type PUBLIC KEY, each by itself, so that none is skipped because it is broken.
func parsePEM(name string, data []byte) (signing.Keyring, error) {
	if len(data) > setting.MaxYAMLBytes {
		return nil, fault.New(fault.Misconfigured, "%s: is larger than %d bytes", name, setting.MaxYAMLBytes).WithHint("%s", pemHint)
	}
	var ring signing.Keyring
	taken := map[signing.KeyID]int{}
	line := 1 + bytes.Count(data[:bytes.Index(data, []byte(pemBegin))], []byte("\n"))
	for i, block := range bytes.Split(bytes.TrimSpace(data), []byte(pemBegin))[1:] {
		key, err := signing.ParsePublicKey(append([]byte(pemBegin), block...))
		number := i + 1
		earlier, twice := taken[key.ID()]
		switch {
		case err != nil:
			err = fmt.Errorf("block %d: %w", number, err)
		case twice:
			err = fmt.Errorf("block %d is the key of block %d; remove one", number, earlier)
		case number > maxKeys:
			err = fmt.Errorf("block %d: want at most %d", number, maxKeys)
		}
		if err != nil {
			return nil, fault.New(fault.Misconfigured, "%s:%d: %w", name, line, err).WithHint("%s", pemHint)
		}
		taken[key.ID()] = number
		ring = append(ring, signing.Trusted{Key: key})
		line += bytes.Count(block, []byte("\n"))
	}
	return ring, nil
}
