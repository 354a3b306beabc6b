package packing_test

import (
	"math/rand/v2"

	"filippo.io/age"

	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// failer is what *testing.T, *testing.B and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(form string, args ...any)
	Fatal(args ...any)
}

func newPacker(t failer, options packing.Options) *packing.Packer {
	t.Helper()
	packer, err := packing.NewPacker(options)
	if err != nil {
		t.Fatal(err)
	}
	return packer
}

func newUnpacker(t failer, identities ...age.Identity) *packing.Unpacker {
	t.Helper()
	unpacker, err := packing.NewUnpacker(identities)
	if err != nil {
		t.Fatal(err)
	}
	return unpacker
}

// pack packs with a packer of its own.
func pack(t failer, options packing.Options, plain []byte, salt string) packing.Packed {
	t.Helper()
	packed, err := newPacker(t, options).Pack(plain)
	if err != nil {
		t.Fatal(err)
	}
	if salt != "" {
		packed = packed.Salted(salt)
	}
	return packed
}

// key is a pair of age keys as a configuration holds them.
type key struct {
	secret     string
	recipients []age.Recipient
	identity   age.Identity
}

func newKey(t failer) key {
	t.Helper()
	made, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key{made.String(), parseRecipients(t, made.Recipient().String()), parseIdentities(t, made.String())[0]}
}

func parseRecipients(t failer, text string) []age.Recipient {
	t.Helper()
	recipients, err := packing.ParseRecipients(text)
	if err != nil {
		t.Fatal(err)
	}
	return recipients
}

func parseIdentities(t failer, secret string) []age.Identity {
	t.Helper()
	identities, err := packing.ParseIdentities(secret)
	if err != nil {
		t.Fatal(err)
	}
	return identities
}

// noise is size bytes that do not compress.
func noise(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(content) // never fails
	return content
}

func wantClass(t failer, err error, want fault.Class) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Fatalf("got class %s of error %v, want %s", fault.ClassOf(err), err, want)
	}
}

// restated is object with the digest and size of other stored bytes, as if a packer had made them.
func restated(object manifest.Object, stored []byte) manifest.Object {
	object.Digest, object.Size = manifest.DigestOf(stored), int64(len(stored))
	return object
}
