package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// Algorithm is how a key signs. It is pinned to the key, never taken from an envelope.
type Algorithm string

// The algorithms.
const (
	Ed25519 Algorithm = "ed25519"           // over the message
	P256    Algorithm = "ecdsa-p256-sha256" // over the message's SHA-256, in ASN.1 DER
)

// KeyID names a public key: the SHA-256 of its SubjectPublicKeyInfo in DER, as hexadecimal digits.
type KeyID string

// String is the id itself.
func (id KeyID) String() string { return string(id) }

// PublicKey is a key that verifies. The zero value is no key and verifies nothing.
type PublicKey struct {
	id        KeyID
	algorithm Algorithm
	key       crypto.PublicKey
	der       []byte
}

// NewPublicKey takes an ed25519.PublicKey, or an *ecdsa.PublicKey on P-256, and keeps a copy of it.
func NewPublicKey(key crypto.PublicKey) (PublicKey, error) {
	algorithm := Ed25519
	switch k := key.(type) {
	case ed25519.PublicKey:
		if len(k) != ed25519.PublicKeySize {
			return PublicKey{}, fmt.Errorf("ed25519 public key of %d bytes, want %d", len(k), ed25519.PublicKeySize)
		}
	case *ecdsa.PublicKey:
		if k == nil || k.Curve != elliptic.P256() {
			return PublicKey{}, errors.New("public key on another curve, want Ed25519 or ECDSA on P-256")
		}
		algorithm = P256
	default:
		return PublicKey{}, fmt.Errorf("public key of type %T, want Ed25519 or ECDSA on P-256", key)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, fmt.Errorf("write public key: %w", err)
	}
	copied, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return PublicKey{}, fmt.Errorf("read public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return PublicKey{id: KeyID(hex.EncodeToString(sum[:])), algorithm: algorithm, key: copied, der: der}, nil
}

// ParsePublicKey reads one PEM block of type PUBLIC KEY and nothing else.
func ParsePublicKey(text []byte) (PublicKey, error) {
	text = bytes.TrimSpace(text)
	// The decoder skips what it cannot read up to the next block: more than one beginning, or one later than at the start,
	// means that something was skipped.
	whole := bytes.HasPrefix(text, []byte(pemBegin)) && bytes.Count(text, []byte(pemBegin)) == 1
	block, rest := pem.Decode(text)
	if !whole || block == nil || block.Type != "PUBLIC KEY" || len(block.Headers) > 0 || len(rest) > 0 {
		return PublicKey{}, errors.New("want one PEM block of type PUBLIC KEY and nothing else")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, fmt.Errorf("read public key: %w", err)
	}
	return NewPublicKey(key)
}

const pemBegin = "-----BEGIN "

// ID names the key.
func (k PublicKey) ID() KeyID { return k.id }

// Algorithm is how the key signs.
func (k PublicKey) Algorithm() Algorithm { return k.algorithm }

// IsZero says whether there is no key.
func (k PublicKey) IsZero() bool { return k.key == nil }

// PEM is the key as text, which ParsePublicKey reads.
func (k PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.der})
}

// Verifies says whether signature is the key's over message, in the form that its algorithm gives.
//
// An ECDSA signature has a twin, with n-s for s, that verifies too and that anybody can compute: a signature proves who
// signed and is never an identity. Encodings other than DER and Ed25519's larger s are refused.
func (k PublicKey) Verifies(message, signature []byte) bool {
	switch key := k.key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, signature)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(message)
		return ecdsa.VerifyASN1(key, sum[:], signature)
	}
	return false
}

// Trusted is a pinned key and when it may be believed. Zero times are open.
type Trusted struct {
	Name      string // what people call it; may be empty
	Key       PublicKey
	NotBefore time.Time // what was created before is refused
	NotAfter  time.Time // what was created or stored after is refused
	RevokedAt time.Time // what was stored from then on is refused, whenever it says it was created
}

// Keyring is the pinned keys, each once.
type Keyring []Trusted

func (k Keyring) find(id string) (Trusted, bool) {
	for _, pinned := range k {
		if pinned.Key.ID().String() == id {
			return pinned, true
		}
	}
	return Trusted{}, false
}

// JudgeAt refuses a payload none of whose signers was valid when the document says that it was created and when the store
// got its first copy. A zero time is an unknown one, which satisfies no limit. Errors: ErrUntrusted.
func (o Opened) JudgeAt(created, stored time.Time) error {
	if len(o.signers) == 0 {
		return untrusted("nobody signed it")
	}
	var reasons []error
	for _, signer := range o.signers {
		err := signer.judge(created, stored)
		if err == nil {
			return nil
		}
		reasons = append(reasons, err)
	}
	return untrusted("%w", errors.Join(reasons...)).
		WithHint("an older document of a key that was valid then may do; correct the key's times if they are wrong")
}

func (t Trusted) judge(created, stored time.Time) error {
	bounded := !t.NotBefore.IsZero() || !t.NotAfter.IsZero() || !t.RevokedAt.IsZero()
	switch {
	case bounded && (created.IsZero() || stored.IsZero()):
		return fmt.Errorf("key %s has limits in time, and when this was created or stored is unknown", t)
	case !t.NotBefore.IsZero() && created.Before(t.NotBefore):
		return fmt.Errorf("key %s is valid from %s, this was created %s", t, stamp(t.NotBefore), stamp(created))
	case !t.NotAfter.IsZero() && (created.After(t.NotAfter) || stored.After(t.NotAfter)):
		return fmt.Errorf("key %s was valid until %s, this was created %s and stored %s", t, stamp(t.NotAfter),
			stamp(created), stamp(stored))
	case !t.RevokedAt.IsZero() && !stored.Before(t.RevokedAt):
		return fmt.Errorf("key %s was revoked %s, this was stored %s", t, stamp(t.RevokedAt), stamp(stored))
	}
	return nil
}

// String is how messages name the key.
func (t Trusted) String() string {
	if t.Name == "" {
		return t.Key.ID().String()
	}
	return fmt.Sprintf("%s (%s)", t.Name, t.Key.ID())
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
