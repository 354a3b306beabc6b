package trustfile_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/config/trustfile"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

func edwards(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func public(tb testing.TB, key any) signing.PublicKey {
	tb.Helper()
	made, err := signing.NewPublicKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

// first and second are the tests' keys, one of each algorithm.
func first(tb testing.TB) signing.PublicKey {
	tb.Helper()
	return public(tb, edwards(1).Public())
}

func second(tb testing.TB) signing.PublicKey {
	tb.Helper()
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{2}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	return public(tb, key.Public())
}

func private(tb testing.TB) string {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(edwards(1))
	if err != nil {
		tb.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// entry is an item of the list, with further lines.
func entry(name string, key signing.PublicKey, lines ...string) string {
	text := fmt.Sprintf("  - name: %s\n    public_key: |\n", name)
	for line := range strings.Lines(string(key.PEM())) {
		text += "      " + line
	}
	for _, line := range lines {
		text += "    " + line + "\n"
	}
	return text
}

// same compares keyrings, which cmp cannot look into.
func same(t *testing.T, got, want signing.Keyring) {
	t.Helper()
	compare := cmp.Comparer(func(a, b signing.PublicKey) bool { return a.ID() == b.ID() && a.Algorithm() == b.Algorithm() })
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Error(diff)
	}
}

func refused(t *testing.T, content string, says ...string) {
	t.Helper()
	ring, err := trustfile.Parse("trusted.yaml", []byte(content))
	if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" || ring != nil {
		t.Errorf("%s\ngot %v and %v of class %v, want misconfigured and a hint", content, ring, err, fault.ClassOf(err))
		return
	}
	line := fault.Line(err)
	for _, part := range append(says, "trusted.yaml") {
		if !strings.Contains(line, part) {
			t.Errorf("%s\ngot %s, want it to say %q", content, line, part)
		}
	}
	if secret := strings.Split(private(t), "\n")[1][20:]; strings.Contains(line, secret) {
		t.Errorf("the private key is in %s", line)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	t.Run("TakesKeysWithTheirLimits", func(t *testing.T) {
		t.Parallel()
		got, err := trustfile.Parse("f", []byte("keys:\n"+
			entry("desk", first(t), "not_before: 2026-01-01T00:00:00Z", `not_after: "2027-01-01T00:00:00+02:00"`)+
			entry("kms.2026", second(t), "revoked_at: 2026-06-01T12:00:00.5Z")))
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, signing.Keyring{
			{
				Name: "desk", Key: first(t), NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
				NotAfter: time.Date(2026, 12, 31, 22, 0, 0, 0, time.UTC),
			},
			{Name: "kms.2026", Key: second(t), RevokedAt: time.Date(2026, 6, 1, 12, 0, 0, 500_000_000, time.UTC)},
		})
	})
	t.Run("TakesJSON", func(t *testing.T) {
		t.Parallel()
		text, err := json.MarshalIndent(map[string]any{"keys": []map[string]string{
			{"name": "desk", "public_key": string(first(t).PEM()), "revoked_at": "2026-06-01T12:00:00Z"},
			{"name": "kms", "public_key": string(second(t).PEM())},
		}}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got, err := trustfile.Parse("f", text)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, signing.Keyring{
			{Name: "desk", Key: first(t), RevokedAt: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}, {Name: "kms", Key: second(t)},
		})
	})
	t.Run("TakesPEM", func(t *testing.T) {
		t.Parallel()
		one, two := string(first(t).PEM()), string(second(t).PEM())
		for content, want := range map[string]signing.Keyring{
			one: {{Key: first(t)}}, "\n" + one + "\n\n" + two + "\n": {{Key: first(t)}, {Key: second(t)}},
			strings.ReplaceAll(two, "\n", "\r\n"): {{Key: second(t)}},
		} {
			got, err := trustfile.Parse("f", []byte(content))
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
		}
	})
	t.Run("RefusesWhatIsNoListOfKeys", func(t *testing.T) {
		t.Parallel()
		for content, why := range map[string]string{
			"": "is empty", "keys:": "missing behind the colon", "keys: []": "write at least one", "keys: desk": "text",
			"- name: x": "a list", "other: 1": `"other" is unknown; did you mean keys?`, "{}": "keys is not set",
			"keys: [desk]": "keys[0]", "keys: []\nkeys: []": "keys is set twice", "keys: &a []": "an anchor", "x": "this file is a map",
			"keys: [\n": "is not YAML", "keys: []\n---\nkeys: []": "several documents",
		} {
			refused(t, content, why)
		}
	})
	t.Run("RefusesBadEntriesByName", func(t *testing.T) {
		t.Parallel()
		desk := entry("desk", first(t))
		for content, why := range map[string]string{
			desk + desk:                                                                                 "keys[1] repeats name desk of keys[0]; remove one",
			desk + entry("other", first(t)):                                                             "keys[1] repeats key " + first(t).ID().String() + " of keys[0]; remove one",
			desk + entry("Desk", second(t)):                                                             `keys[1].name: "Desk" is not a name for a key; want 1 to 63`,
			desk + entry("1", second(t)):                                                                "unless it stands in quotes",
			desk + "  - name: x\n":                                                                      "keys[1].public_key is not set; want a public key in PEM",
			"  - public_key: x\n":                                                                       "keys[0].name is not set",
			entry("a", first(t), "notafter: x"):                                                         "keys[0].notafter\" is unknown; did you mean keys[0].not_after?",
			entry("a", first(t), "name: b"):                                                             "keys[0].name is set twice",
			entry("a", first(t), "not_after: 2026-01-01"):                                               "keys[0].not_after: \"2026-01-01\" is not a time of RFC 3339",
			entry("a", first(t), "not_after: 1767225600"):                                               "whole number",
			entry("a", first(t), "not_after:"):                                                          "missing behind the colon",
			entry("a", first(t), "not_after: null"):                                                     "null",
			entry("a", first(t), "not_after: 2026-13-01T00:00:00Z"):                                     "RFC 3339",
			entry("a", first(t), "not_after: 2026-01-01T0:00:00Z"):                                      "RFC 3339",
			entry("a", first(t), "not_after: \"2026-01-01T00:00:00,5Z\""):                               "RFC 3339",
			entry("a", first(t), "not_after: 2026-01-01 00:00:00Z"):                                     "RFC 3339",
			entry("a", first(t), "not_after: 2026-01-01T00:00:00"):                                      "as in 2026-01-31T12:00:00Z",
			entry("a", first(t), "revoked_at: 0001-01-01T00:00:00Z"):                                    "before the year 2000",
			entry("a", first(t), "revoked_at: 0000-12-31T00:00:00-23:00"):                               "before the year 2000",
			entry("a", first(t), "not_before: 2027-01-01T00:00:00Z", "not_after: 2026-01-01T00:00:00Z"): "is before not_before",
			"  - {name: a, public_key: hunter2}\n":                                                      "keys[0].public_key: the value is not a public key",
			"  - name: a\n    public_key: |\n      -----BEGIN PUBLIC KEY-----\n      aGk=\n      -----END PUBLIC KEY-----\n": "is not a public key",
		} {
			refused(t, "keys:\n"+content, why)
		}
	})
	t.Run("RefusesAPrivateKeyWithoutShowingIt", func(t *testing.T) {
		t.Parallel()
		indented := strings.ReplaceAll(private(t), "\n", "\n      ")
		quoted, err := json.Marshal(private(t))
		if err != nil {
			t.Fatal(err)
		}
		for content, line := range map[string]string{
			private(t): ":1:", string(first(t).PEM()) + private(t): ":4:",
			"keys:\n  - name: desk\n    public_key: |\n      " + indented:    ":4:",
			`{"keys":[{"name":"desk","public_key":` + string(quoted) + `}]}`: ":1:",
			"\n" + strings.ReplaceAll(private(t), "PRIVATE", "EC PRIVATE"):   ":2:",
			strings.ReplaceAll(private(t), "PRIVATE", "OPENSSH PRIVATE"):     ":1:",
			"# " + private(t): ":1:",
		} {
			refused(t, content, "trusted.yaml"+line, "a private key", "tidemark keys show")
		}
		body := strings.Split(private(t), "\n")[1]
		refused(t, "keys:\n  - {name: desk, public_key: "+body+"}\n", "keys[0].public_key: the value is not a public key")
		refused(t, "keys:\n  - {name: desk, private_key: "+body+"}\n", "unknown")
	})
	t.Run("RefusesPEMThatIsNotAllPublicKeys", func(t *testing.T) {
		t.Parallel()
		one, two := string(first(t).PEM()), string(second(t).PEM())
		for content, why := range map[string]string{
			one + one: ":4: block 2 is the key of block 1", one + "x\n" + two: ":1: block 1", one + two + "x": ":4: block 2",
			strings.Replace(one, "M", "!", 1) + two:                    ":1: block 1",
			one + strings.ReplaceAll(two, "PUBLIC KEY", "CERTIFICATE"): ":4: block 2",
			one + two[:60]:                     ":4: block 2",
			one + strings.Repeat(" ", 300_000): "is larger",
		} {
			refused(t, content, why)
		}
	})
}

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trusted.pem")
	if _, err := trustfile.Read(path); !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want misconfigured", err)
	}
	if _, err := trustfile.Read(t.TempDir()); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want misconfigured", err)
	}
	if err := os.WriteFile(path, first(t).PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := trustfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, signing.Keyring{{Key: first(t)}})
	if err := os.WriteFile(path, bytes.Repeat([]byte("#\n"), 200_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trustfile.Read(path); !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "larger") {
		t.Errorf("got %v, want misconfigured", err)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range trustfile.Settings() {
		names = append(names, s.Name)
		if s.Meaning == "" || s.Takes == "" {
			t.Errorf("%s is not explained", s.Name)
		}
	}
	want := []string{"keys", "keys[].name", "keys[].public_key", "keys[].not_before", "keys[].not_after", "keys[].revoked_at"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// FuzzParse: whatever the file holds, reading ends without a panic, and with a ring of distinct keys or with an error that an
// operator can act on.
func FuzzParse(f *testing.F) {
	f.Add([]byte("keys:\n" + entry("desk", first(f), "not_before: 2026-01-01T00:00:00Z") + entry("kms", second(f))))
	f.Add(append(first(f).PEM(), second(f).PEM()...))
	f.Add([]byte(private(f)))
	f.Add([]byte(`{"keys":[{"name":"desk","public_key":"-----BEGIN PUBLIC KEY-----\n"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ring, err := trustfile.Parse("f", data)
		if err != nil {
			if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" || !utf8.ValidString(err.Error()) {
				t.Errorf("class %v, hint %q: %v", fault.ClassOf(err), fault.HintOf(err), err)
			}
			return
		}
		seen := map[signing.KeyID]bool{}
		for _, pinned := range ring {
			if pinned.Key.IsZero() || seen[pinned.Key.ID()] {
				t.Errorf("a key that is none or is there twice: %v", pinned)
			}
			seen[pinned.Key.ID()] = true
		}
		if len(ring) == 0 || strings.Contains(string(data), "-----BEGIN PRIVATE KEY") {
			t.Errorf("%d keys of %q", len(ring), data)
		}
	})
}
