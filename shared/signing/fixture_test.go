package signing_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

const (
	payloadType = "application/vnd.tidemark.test.v1+json"
	payload     = `{"seq":"7","kind":"base"}`
)

// signer signs in memory, with a key made from one byte.
type signer struct {
	key  signing.PublicKey
	sign func(message []byte) ([]byte, error)
}

func (s signer) Key() signing.PublicKey { return s.key }

func (s signer) Sign(_ context.Context, message []byte) ([]byte, error) { return s.sign(message) }

func edwards(seed byte) signer {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return signer{key: must(private.Public()), sign: func(message []byte) ([]byte, error) {
		return ed25519.Sign(private, message), nil
	}}
}

func nist(seed byte) signer {
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		panic(err)
	}
	return signer{key: must(private.Public()), sign: func(message []byte) ([]byte, error) {
		sum := sha256.Sum256(message)
		return private.Sign(rand.Reader, sum[:], crypto.SHA256)
	}}
}

func must(key crypto.PublicKey) signing.PublicKey {
	public, err := signing.NewPublicKey(key)
	if err != nil {
		panic(err)
	}
	return public
}

// ring pins the signers' keys without limits in time.
func ring(signers ...signer) signing.Keyring {
	var pinned signing.Keyring
	for _, s := range signers {
		pinned = append(pinned, signing.Trusted{Key: s.key})
	}
	return pinned
}

func seal(tb testing.TB, signers ...signing.Signer) []byte {
	tb.Helper()
	encoded, err := signing.Seal(tb.Context(), payloadType, []byte(payload), signers...)
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

// change gives the envelope with a change made to it.
func change(t *testing.T, encoded []byte, how func(*dsse.Envelope)) []byte {
	t.Helper()
	var envelope dsse.Envelope
	if err := json.Unmarshal(encoded, &envelope); err != nil {
		t.Fatal(err)
	}
	how(&envelope)
	changed, err := json.Marshal(envelope)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// damage flips a bit of a signature.
func damage(t *testing.T, sig string) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(sig)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	return base64.StdEncoding.EncodeToString(raw)
}

func opens(t *testing.T, pinned signing.Keyring, encoded []byte) {
	t.Helper()
	opened, err := pinned.Open(payloadType, encoded)
	if err != nil {
		t.Errorf("open %s: %v", encoded, err)
		return
	}
	if got := string(opened.Payload); got != payload {
		t.Errorf("payload: got %s, want %s", got, payload)
	}
}

// refused fails unless the envelope is refused as corrupt, and as untrusted if so wanted.
func refused(t *testing.T, pinned signing.Keyring, encoded []byte, untrusted bool) {
	t.Helper()
	opened, err := pinned.Open(payloadType, encoded)
	if !fault.Is(err, fault.Corrupt) || errors.Is(err, signing.ErrUntrusted) != untrusted {
		t.Errorf("open %.300s: got %v of class %v, want corrupt, untrusted %t", encoded, err, fault.ClassOf(err), untrusted)
	}
	if opened.Payload != nil {
		t.Errorf("open %.300s: a payload beside the error %v", encoded, err)
	}
}
