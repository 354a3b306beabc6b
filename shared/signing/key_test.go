package signing_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"

	"tidemark/shared/signing"
)

func TestPublicKey(t *testing.T) {
	t.Parallel()
	t.Run("IsReadFromWhatItWrites", func(t *testing.T) {
		t.Parallel()
		for _, want := range []signing.PublicKey{edwards(1).key, nist(1).key} {
			got, err := signing.ParsePublicKey(append([]byte("\n"), append(want.PEM(), '\n', '\n')...))
			if err != nil || got.ID() != want.ID() || got.Algorithm() != want.Algorithm() || got.IsZero() {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		}
		if (signing.PublicKey{}).Verifies(nil, nil) || !(signing.PublicKey{}).IsZero() {
			t.Error("the zero key verifies")
		}
	})
	t.Run("IsNamedByItsDigest", func(t *testing.T) {
		t.Parallel()
		// openssl pkey -pubin -outform DER | sha256sum
		const text = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
		key, err := signing.ParsePublicKey([]byte(text))
		if want := signing.KeyID("06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9"); err != nil || key.ID() != want {
			t.Errorf("got %s, %v, want %s", key.ID(), err, want)
		}
	})
	t.Run("RefusesOtherKeys", func(t *testing.T) {
		t.Parallel()
		for name, key := range map[string]any{
			"nil": nil, "a short Ed25519 key": ed25519.PublicKey("short"), "no key on P-256": (*ecdsa.PublicKey)(nil),
			"no curve": &ecdsa.PublicKey{}, "P-384": &ecdsa.PublicKey{Curve: elliptic.P384()}, "RSA": &rsa.PublicKey{},
			"a point beside the curve": &ecdsa.PublicKey{
				Curve: elliptic.P256(), X: big.NewInt(1), Y: big.NewInt(1), //nolint:staticcheck // no other way to make one
			},
			"a private key": ed25519.NewKeyFromSeed(make([]byte, 32)),
		} {
			if got, err := signing.NewPublicKey(key); err == nil || !got.IsZero() {
				t.Errorf("%s: got %v, %v", name, got, err)
			}
		}
	})
	t.Run("KeepsACopy", func(t *testing.T) {
		t.Parallel()
		private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		raw := bytes.Clone(private[ed25519.SeedSize:]) // the public half
		key := must(ed25519.PublicKey(raw))
		signature := ed25519.Sign(private, []byte("m"))
		clear(raw)
		if !key.Verifies([]byte("m"), signature) {
			t.Error("a pinned key changed behind its back")
		}
	})
	t.Run("RefusesTextBesideTheKey", func(t *testing.T) {
		t.Parallel()
		good := string(edwards(1).key.PEM())
		private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
		broken := strings.Replace(good, "M", "!", 1)
		for _, text := range []string{
			"", "x" + good, good + "x", good + good, private, private + good, good + private, broken, broken + good,
			strings.Replace(good, "-----\n", "-----\na: b\n\n", 1), strings.ReplaceAll(good, "PUBLIC", "EC PUBLIC"),
			string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")})),
		} {
			if key, err := signing.ParsePublicKey([]byte(text)); err == nil {
				t.Errorf("%s: got %s", text, key.ID())
			}
		}
	})
}

// TestVerifies: which other bytes verify where one signature does.
func TestVerifies(t *testing.T) {
	t.Parallel()
	message := []byte("m")
	t.Run("TakesBothTwinsOfAnECDSASignature", func(t *testing.T) {
		t.Parallel()
		key, parsed := nist(1), struct{ R, S *big.Int }{}
		signature, err := key.sign(message)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := asn1.Unmarshal(signature, &parsed); err != nil {
			t.Fatal(err)
		}
		parsed.S.Sub(elliptic.P256().Params().N, parsed.S)
		twin, err := asn1.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(signature, twin) || !key.key.Verifies(message, signature) || !key.key.Verifies(message, twin) {
			t.Error("a key service gives either of the two; both must do")
		}
	})
	t.Run("RefusesOtherEncodingsThanDER", func(t *testing.T) {
		t.Parallel()
		key := nist(1)
		signature, err := key.sign(message)
		if err != nil {
			t.Fatal(err)
		}
		length, rLength := signature[1], signature[3]
		r, s := signature[4:4+rLength], signature[6+rLength:]
		padded := append([]byte{0x30, length + 1, 2, rLength + 1, 0}, signature[4:]...)
		for name, other := range map[string][]byte{
			"a byte behind":             append(bytes.Clone(signature), 0),
			"a byte behind, inside":     append([]byte{0x30, length + 2, 2}, append(bytes.Clone(signature[3:]), 5, 0)...),
			"a long form of the length": append([]byte{0x30, 0x81}, signature[1:]...),
			"an indefinite length":      append(append([]byte{0x30, 0x80}, signature[2:]...), 0, 0),
			"a padded number":           padded,
			"bare numbers":              append(bytes.Clone(r), s...),
			"zero":                      {0x30, 6, 2, 1, 0, 2, 1, 0},
			"nothing":                   nil,
		} {
			if key.key.Verifies(message, other) {
				t.Errorf("%s: taken", name)
			}
		}
	})
	t.Run("RefusesEd25519WithALargerS", func(t *testing.T) {
		t.Parallel()
		key := edwards(1)
		signature, err := key.sign(message)
		if err != nil {
			t.Fatal(err)
		}
		order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
		s := bytes.Clone(signature[32:])
		slices.Reverse(s)
		s = new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
		slices.Reverse(s)
		twin := append(bytes.Clone(signature[:32]), s...)
		if !key.key.Verifies(message, signature) || key.key.Verifies(message, twin) {
			t.Error("a second signature verifies")
		}
	})
	t.Run("PinsTheAlgorithm", func(t *testing.T) {
		t.Parallel()
		edward, err := edwards(1).sign(message)
		if err != nil {
			t.Fatal(err)
		}
		if nist(1).key.Verifies(message, edward) {
			t.Error("a key of one algorithm takes a signature of another")
		}
	})
}
