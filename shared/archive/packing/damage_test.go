package packing_test

import (
	"bytes"
	"testing"

	"filippo.io/age"

	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// damaged calls try with stored bytes of which one bit is turned, of which the end is missing, or which something
// follows.
func damaged(stored []byte, try func(what string, damaged []byte)) {
	for i := range stored {
		for bit := range 8 {
			turned := bytes.Clone(stored)
			turned[i] ^= 1 << bit
			try("turned", turned)
		}
		try("cut", stored[:i])
	}
	try("longer by a zero", append(bytes.Clone(stored), 0))
	try("longer by itself", append(bytes.Clone(stored), stored...))
}

func TestUnpackNeverGivesWrongBytes(t *testing.T) {
	t.Parallel()
	mine := newKey(t)
	rows := rowsLikeCopy(600)
	for name, c := range map[string]struct {
		options packing.Options
		plain   []byte
		salt    string
	}{
		"Rows":      {plain: rows, salt: "run-1"},
		"Noise":     {plain: noise(100)},
		"Zeros":     {plain: make([]byte, 200_000)},
		"Nothing":   {plain: []byte{}},
		"Encrypted": {options: packing.Options{Recipients: mine.recipients}, plain: rows[:100]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed, unpacker := pack(t, c.options, c.plain, c.salt), newUnpacker(t, mine.identity)
			damaged(packed.Stored, func(what string, stored []byte) {
				_, err := unpacker.Unpack(stored, packed.Object, 1<<20)
				if !fault.Is(err, fault.Corrupt) {
					t.Fatalf("%s: got class %s of error %v, want corrupt", what, fault.ClassOf(err), err)
				}
				unpackRestated(t, unpacker, stored, packed.Object, c.plain)
			})
		})
	}
}

// unpackRestated shows the decoders what the stored digest would have held back. What they do not refuse must be right:
// a bit of the salt says nothing.
func unpackRestated(t *testing.T, unpacker *packing.Unpacker, stored []byte, object manifest.Object, plain []byte) {
	t.Helper()
	got, err := unpacker.Unpack(stored, restated(object, stored), 1<<20)
	switch class := fault.ClassOf(err); {
	case err == nil && bytes.Equal(got, plain):
	case class == fault.Corrupt, class == fault.Misconfigured && object.Encrypted: // for another recipient
	default:
		t.Fatalf("%x: got %d bytes, class %s of error %v, want %d bytes or corrupt", stored, len(got), class, err, len(plain))
	}
}

func FuzzUnpack(f *testing.F) {
	mine := newKey(f)
	for _, plain := range [][]byte{{}, []byte("a row"), rowsLikeCopy(500), noise(300), make([]byte, 300_000)} {
		for _, salt := range []string{"", "run-1"} {
			f.Add(pack(f, packing.Options{}, plain, salt).Stored, plain, false)
			f.Add(pack(f, packing.Options{Recipients: mine.recipients}, plain, salt).Stored, plain, true)
		}
	}
	unpacker, identities := newUnpacker(f, mine.identity), []age.Identity{mine.identity}
	f.Fuzz(func(t *testing.T, stored, plain []byte, encrypted bool) {
		object := manifest.Object{Plain: manifest.DigestOf(plain), PlainSize: int64(len(plain)), Encrypted: encrypted}
		unpackRestated(t, unpacker, stored, object, plain)
		unpackRestated(t, newUnpacker(t, identities...), stored, object, plain)
	})
}
