// Package signing owns which signatures make a document of the archive trusted.
//
// Documents are signed in DSSE envelopes: the signature covers the payload's exact bytes and its type, so nothing is made
// canonical and a document of one kind never passes for another. Several signatures may stand in one envelope, which is how
// keys are rotated. A verifier knows its keys beforehand, each with one algorithm; what an envelope says of keys is a hint.
// Rules: at least one pinned key verifies, a bad signature under a pinned key's id refuses whatever else is there, unknown
// keys are ignored. It refuses to make signatures itself: that is for the packages localkey and kmskey. No I/O, no clock.
// Values may be shared between goroutines.
package signing

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"tidemark/shared/fault"
)

// Signer makes signatures with one key.
type Signer interface {
	// Key is the public half.
	Key() PublicKey
	// Sign signs message, at most MaxMessage bytes, in the form that the key's algorithm gives. Errors carry a class.
	Sign(ctx context.Context, message []byte) ([]byte, error)
}

// MaxMessage is the largest message in bytes that a Signer takes: the limit of AWS KMS. A message is a payload with its type
// and some 30 bytes of header.
const MaxMessage = 4096

// MaxEnvelope is the largest envelope in bytes: a payload and a handful of signatures.
const MaxEnvelope = 16 << 10

// maxSignatures bounds the work that a stranger's envelope makes.
const maxSignatures = 16

// ErrUntrusted is in every error that says that a document must not be believed.
var ErrUntrusted = errors.New("not signed by a trusted key")

// Seal signs payload with every signer and gives the envelope's bytes. Signing twice may give other bytes: keep them.
//
// Errors: fault.Misconfigured for signers that make no envelope, fault.Bug for a payload that is too large or a signature
// that its own key refuses; those of the signers keep their class.
func Seal(ctx context.Context, payloadType string, payload []byte, signers ...Signer) ([]byte, error) {
	message := dsse.PAE(payloadType, payload)
	if err := sealable(message, signers); err != nil {
		return nil, fmt.Errorf("sign %s: %w", payloadType, err)
	}
	envelope := dsse.Envelope{PayloadType: payloadType, Payload: encode(payload)}
	for _, signer := range signers {
		signature, err := signer.Sign(ctx, message)
		if err == nil && !signer.Key().Verifies(message, signature) {
			err = fault.New(fault.Bug, "the signature does not fit the key")
		}
		if err != nil {
			return nil, fmt.Errorf("sign %s with key %s: %w", payloadType, signer.Key().ID(), err)
		}
		envelope.Signatures = append(envelope.Signatures, dsse.Signature{KeyID: signer.Key().ID().String(), Sig: encode(signature)})
	}
	encoded, err := json.Marshal(envelope)
	if err != nil {
		return nil, fault.New(fault.Bug, "write envelope of %q: %w", payloadType, err)
	}
	if len(encoded) > MaxEnvelope {
		return nil, fault.New(fault.Bug, "write envelope of %q: %d bytes, at most %d", payloadType, len(encoded), MaxEnvelope)
	}
	return encoded, nil
}

// Seal signs a payload that says when it was created, and makes sure that whoever reads by this keyring will believe it when a
// store has it from about the second time on.
//
// Errors: fault.Misconfigured with ErrUntrusted when they would not; see Seal.
func (k Keyring) Seal(
	ctx context.Context, created, stored time.Time, payloadType string, payload []byte, signers ...Signer,
) ([]byte, error) {
	envelope, err := Seal(ctx, payloadType, payload, signers...)
	if err != nil {
		return nil, err
	}
	opened, err := k.Open(payloadType, envelope)
	if err == nil {
		err = opened.JudgeAt(created, stored)
	}
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "the signing key would not be believed: %w", err).
			WithHint("add it to the trusted keys, with a window that covers what it signs and has not ended")
	}
	return envelope, nil
}

// sealable refuses what no reader would open.
func sealable(message []byte, signers []Signer) error {
	if len(message) > MaxMessage {
		return fault.New(fault.Bug, "message of %d bytes, at most %d", len(message), MaxMessage)
	}
	if len(signers) == 0 || len(signers) > maxSignatures {
		return fault.New(fault.Misconfigured, "%d signing keys, want 1 to %d", len(signers), maxSignatures).
			WithHint("tidemark keys generate makes a key")
	}
	seen := map[KeyID]bool{}
	for _, signer := range signers {
		id := signer.Key().ID()
		if seen[id] {
			return fault.New(fault.Misconfigured, "key %s is there twice", id).WithHint("name each signing key once")
		}
		seen[id] = true
	}
	return nil
}

// Opened is a payload that at least one pinned key signed. Whether those keys were valid at the time is for JudgeAt.
type Opened struct {
	Payload []byte
	signers []Trusted
}

// Open gives the payload of an envelope of the wanted type.
//
// Errors are fault.Corrupt. Those of an envelope that reads well and that no pinned key vouches for are ErrUntrusted too; a
// flipped bit in a payload or in a signature looks the same as a forgery, so another copy may open in either case.
func (k Keyring) Open(payloadType string, encoded []byte) (Opened, error) {
	envelope, payload, err := parse(payloadType, encoded)
	if err != nil {
		return Opened{}, err
	}
	message := dsse.PAE(payloadType, payload)
	opened := Opened{Payload: payload}
	for _, signature := range envelope.Signatures {
		pinned, known := k.find(signature.KeyID)
		if !known {
			continue
		}
		raw, ok := decode(signature.Sig)
		if !ok || !pinned.Key.Verifies(message, raw) {
			return Opened{}, untrusted("the signature of key %s does not fit", pinned)
		}
		opened.signers = append(opened.signers, pinned)
	}
	if len(opened.signers) == 0 {
		return Opened{}, untrusted("it has %d signatures, none by one of %d pinned keys", len(envelope.Signatures), len(k))
	}
	return opened, nil
}

// parse reads an envelope strictly: the library's reader takes what ours must refuse, such as a member that stands twice.
func parse(payloadType string, encoded []byte) (envelope dsse.Envelope, payload []byte, err error) {
	if len(encoded) > MaxEnvelope {
		return envelope, nil, fault.New(fault.Corrupt, "envelope of %d bytes, at most %d", len(encoded), MaxEnvelope)
	}
	if err := json.Unmarshal(encoded, &envelope, json.RejectUnknownMembers(true)); err != nil {
		return envelope, nil, fault.New(fault.Corrupt, "read envelope: %.300s", err) // a stranger chose some of its text
	}
	payload, ok := decode(envelope.Payload)
	switch {
	case !ok:
		return envelope, nil, fault.New(fault.Corrupt, "read envelope: its payload is not base64")
	case envelope.PayloadType != payloadType:
		return envelope, nil, untrusted("its payload is %.100q, want %s", envelope.PayloadType, payloadType)
	case len(envelope.Signatures) == 0, len(envelope.Signatures) > maxSignatures:
		return envelope, nil, untrusted("it has %d signatures, want 1 to %d", len(envelope.Signatures), maxSignatures)
	}
	return envelope, payload, nil
}

func encode(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

// decode takes the one text that encode gives: the library passes over line breaks even when it is strict.
func decode(text string) ([]byte, bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	return raw, err == nil && encode(raw) == text
}

func untrusted(form string, args ...any) *fault.Error {
	return fault.New(fault.Corrupt, form+": %w", append(args, ErrUntrusted)...).
		WithHint("if the key is right, pin it in the trusted keys; else somebody else wrote this")
}
