package signing_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

// judge fails when damaged bytes give another payload, or an error that nobody classified. It says whether they opened.
func judge(tb testing.TB, pinned signing.Keyring, damaged []byte) bool {
	tb.Helper()
	opened, err := pinned.Open(payloadType, damaged)
	switch {
	case err != nil && (!fault.Is(err, fault.Corrupt) || opened.Payload != nil):
		tb.Errorf("open %q: class %v, payload %q: %v", damaged, fault.ClassOf(err), opened.Payload, err)
	case err == nil && string(opened.Payload) != payload:
		tb.Errorf("open %q: another payload, %q", damaged, opened.Payload)
	}
	return err == nil
}

// TestDamage: nothing that befalls an envelope's bytes makes another payload of it.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, signers := range map[string][]signing.Signer{
		"Ed25519": {edwards(1)}, "P256": {nist(1)}, "Both": {edwards(1), nist(1)}, "BesideAStranger": {edwards(9), edwards(1)},
	} {
		encoded := seal(t, signers...)
		pinned := ring(edwards(1), nist(1))
		t.Run(name+"/RefusesEveryPrefix", func(t *testing.T) {
			t.Parallel()
			for size := range encoded {
				if judge(t, pinned, encoded[:size]) {
					t.Errorf("the first %d of %d bytes open", size, len(encoded))
				}
			}
		})
		t.Run(name+"/TakesNoFlippedBitForAnotherPayload", func(t *testing.T) {
			t.Parallel()
			opened := 0
			for bit := range len(encoded) * 8 {
				damaged := append([]byte(nil), encoded...)
				damaged[bit/8] ^= 1 << (bit % 8)
				if judge(t, pinned, damaged) {
					opened++
				}
			}
			// With one signature, a changed hint leaves nobody who signed. With two, it makes of one of them a stranger's.
			if alone := len(signers) == 1; alone != (opened == 0) {
				t.Errorf("%d of %d flips opened", opened, len(encoded)*8)
			}
		})
	}
	t.Run("TakesNoEditForAnotherPayload", func(t *testing.T) {
		t.Parallel()
		encoded, pinned := seal(t, edwards(1), nist(1)), ring(edwards(1), nist(1))
		other, err := signing.Seal(t.Context(), payloadType+"2", []byte(`{"seq":"8"}`), edwards(1))
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(r *rapid.T) {
			from := rapid.IntRange(0, len(encoded)).Draw(r, "from")
			until := rapid.IntRange(from, len(encoded)).Draw(r, "until")
			begin := rapid.IntRange(0, len(other)).Draw(r, "begin")
			end := rapid.IntRange(begin, len(other)).Draw(r, "end")
			spliced := fmt.Appendf(nil, "%s%s%s", encoded[:from], other[begin:end], encoded[until:])
			judge(t, pinned, spliced)
		})
	})
}

// FuzzOpen: whatever the bytes, opening ends without a panic, and with the payload that was signed or with an error.
func FuzzOpen(f *testing.F) {
	pinned := ring(edwards(1), nist(1))
	f.Add(seal(f, edwards(1)))
	f.Add(seal(f, nist(1)))
	f.Add(seal(f, edwards(1), nist(1)))
	f.Add(seal(f, edwards(3)))
	f.Add([]byte(`{"payloadType":"` + payloadType + `","payload":"e30=","signatures":[{"keyid":"","sig":""}]}`))
	f.Fuzz(func(t *testing.T, encoded []byte) { judge(t, pinned, encoded) })
}

// FuzzParsePublicKey: what parses is written back as a key that is equal and that parses to the same.
func FuzzParsePublicKey(f *testing.F) {
	f.Add(edwards(1).key.PEM())
	f.Add(nist(1).key.PEM())
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := signing.ParsePublicKey(text)
		if err != nil {
			return
		}
		again, err := signing.ParsePublicKey(key.PEM())
		if err != nil || again.ID() != key.ID() || again.Algorithm() != key.Algorithm() {
			t.Errorf("%s parses to %s, which is written as %s: %v", text, key.ID(), key.PEM(), err)
		}
		if key.Verifies([]byte("x"), nil) || key.Verifies(nil, make([]byte, 64)) {
			t.Errorf("%s verifies nothing at all", key.ID())
		}
	})
}
