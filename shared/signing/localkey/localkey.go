// Package localkey owns signing keys that lie in a file: Ed25519, as one PEM block of PKCS#8.
//
// It refuses a file that others may read or write, anything else in the file, and to write where something lies already: a
// key that is overwritten is lost with everything that was to be signed by it. The private half leaves a Key through Write
// alone; no verb of fmt, no log and no encoding shows it. It is not kept out of memory or out of core dumps. A Key is
// immutable and may be shared between goroutines.
package localkey

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

// ErrNotPrivate is in the error for text that holds no private key at all, such as a public key.
var ErrNotPrivate = errors.New("there is no private key in it")

// Key is a private key and signs with it.
type Key struct {
	public signing.PublicKey
	// A function, because fmt and encoders read fields by reflection, past every method of theirs, and show of a function
	// its address at most.
	reveal func() ed25519.PrivateKey
}

// Generate makes a new key.
func Generate() (*Key, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fault.New(fault.Bug, "make key: %w", err)
	}
	return newKey(private)
}

const (
	pemBegin = "-----BEGIN "
	pemType  = "PRIVATE KEY"
)

// Parse reads a key as Write writes it: one PEM block of PKCS#8 and nothing else.
//
// Errors: fault.Misconfigured, which show nothing of the text; ErrNotPrivate for text without a private key.
func Parse(text []byte) (*Key, error) {
	if !bytes.Contains(text, []byte(pemType+"-----")) { // also the end of the longer types of other formats
		return nil, fault.New(fault.Misconfigured, "read key: %w", ErrNotPrivate).WithHint("%s", formHint)
	}
	text = bytes.TrimSpace(text)
	// The decoder skips what it cannot read up to the next block: more than one beginning, or one later than at the start,
	// means that something was skipped.
	whole := bytes.HasPrefix(text, []byte(pemBegin)) && bytes.Count(text, []byte(pemBegin)) == 1
	block, rest := pem.Decode(text)
	if !whole || block == nil || block.Type != pemType || len(block.Headers) > 0 || len(rest) > 0 {
		return nil, unreadable("it is not one PEM block of type PRIVATE KEY and nothing else")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil { // the error says nothing that helps
		return nil, unreadable("its block is not PKCS#8")
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, unreadable("it is a key of another algorithm than Ed25519")
	}
	return newKey(private)
}

func newKey(private ed25519.PrivateKey) (*Key, error) {
	public, err := signing.NewPublicKey(private.Public())
	if err != nil {
		return nil, fault.New(fault.Bug, "read key: %w", err)
	}
	return &Key{public: public, reveal: func() ed25519.PrivateKey { return private }}, nil
}

const formHint = "want an Ed25519 key in PKCS#8, as tidemark keys generate or openssl genpkey -algorithm ed25519 makes it"

func unreadable(why string) error {
	return fault.New(fault.Misconfigured, "read key: %s", why).WithHint("%s", formHint)
}

// Key is the public half.
func (k *Key) Key() signing.PublicKey { return k.public }

// Sign signs message. Errors: fault.Bug above signing.MaxMessage bytes, so that a key service can take this key's place.
func (k *Key) Sign(_ context.Context, message []byte) ([]byte, error) {
	if len(message) > signing.MaxMessage {
		return nil, fault.New(fault.Bug, "message of %d bytes, at most %d", len(message), signing.MaxMessage)
	}
	return ed25519.Sign(k.reveal(), message), nil
}

// encode gives the text that Parse reads.
func (k *Key) encode() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.reveal())
	if err != nil {
		return nil, fault.New(fault.Bug, "write key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

// Format writes the public half's id for every verb.
func (k *Key) Format(state fmt.State, _ rune) {
	_, _ = fmt.Fprintf(state, "private key %s", k.public.ID()) // fmt keeps no error of a state's writer
}

// String is the public half's id.
func (k *Key) String() string { return "private key " + k.public.ID().String() }

// GoString is the public half's id.
func (k *Key) GoString() string { return k.String() }
