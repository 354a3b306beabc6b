package localkey_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
	"tidemark/shared/signing/localkey"
)

// seed is the private half of the tests' key. Whatever shows any of its forms leaks.
var seed = []byte("hunter2-hunter2-hunter2-hunter2!")

func text(tb testing.TB, key any) string {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func known(tb testing.TB) string {
	tb.Helper()
	return text(tb, ed25519.NewKeyFromSeed(seed))
}

// hides fails when text shows the private half in any usual form.
func hides(tb testing.TB, how, shown string) {
	tb.Helper()
	der := strings.Split(known(tb), "\n")[1]
	for _, form := range []string{
		string(seed), hex.EncodeToString(seed), strings.ToUpper(hex.EncodeToString(seed)), base64.StdEncoding.EncodeToString(seed),
		der[20:], strings.Trim(fmt.Sprintf("%d", seed[:8]), "[]"), strings.Trim(fmt.Sprintf("% x", seed[:8]), "[]"),
		strings.ReplaceAll(fmt.Sprintf("%#v", seed[:4])[7:], "}", ""),
	} {
		if strings.Contains(shown, form) {
			tb.Errorf("%s shows the key as %s: %s", how, form, shown)
		}
	}
}

func refused(tb testing.TB, key *localkey.Key, err error, says ...string) {
	tb.Helper()
	if key != nil || !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
		tb.Errorf("got %v and %v of class %v, hint %q, want misconfigured and a hint", key, err, fault.ClassOf(err), fault.HintOf(err))
		return
	}
	line := fault.Line(err)
	hides(tb, "an error", line)
	for _, part := range says {
		if !strings.Contains(line, part) {
			tb.Errorf("got %s, want it to say %q", line, part)
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	t.Run("SignsWhatItsPublicHalfVerifies", func(t *testing.T) {
		t.Parallel()
		key, err := localkey.Generate()
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := signing.Seal(t.Context(), "type", []byte("payload"), key)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := signing.Keyring{{Key: key.Key()}}.Open("type", encoded)
		if err != nil || string(opened.Payload) != "payload" || key.Key().Algorithm() != signing.Ed25519 {
			t.Errorf("got %s, %v", opened.Payload, err)
		}
		other, err := localkey.Generate()
		if err != nil || other.Key().ID() == key.Key().ID() {
			t.Errorf("two keys are one: %v, %v", other, err)
		}
	})
	t.Run("SignsNothingThatAKeyServiceWouldNot", func(t *testing.T) {
		t.Parallel()
		key, err := localkey.Parse([]byte(known(t)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := key.Sign(t.Context(), make([]byte, signing.MaxMessage)); err != nil {
			t.Error(err)
		}
		if _, err := key.Sign(t.Context(), make([]byte, signing.MaxMessage+1)); !fault.Is(err, fault.Bug) {
			t.Errorf("got %v, want a bug", err)
		}
	})
	t.Run("ShowsItsIDAndNothingElse", func(t *testing.T) {
		t.Parallel()
		key, err := localkey.Parse([]byte(known(t)))
		if err != nil {
			t.Fatal(err)
		}
		type holder struct {
			Shown  signing.Signer
			hidden *localkey.Key
			Value  localkey.Key
		}
		held := holder{key, key, *key}
		for verb := range strings.SplitSeq("v +v #v s q d x X o b c U e g t p T w", " ") {
			for _, value := range []any{key, *key, held, &held, []any{held}, held.hidden} {
				hides(t, "%"+verb, fmt.Sprintf("%"+verb, value))
			}
		}
		want := "private key " + key.Key().ID().String()
		if got := fmt.Sprintf("%v %s %#v %d", key, key, key, key); got != strings.Join([]string{want, want, want, want}, " ") {
			t.Errorf("got %s", got)
		}
		if key.String() != want || key.GoString() != want {
			t.Errorf("got %s and %s", key.String(), key.GoString())
		}
		asJSON, err := json.Marshal(held)
		if err != nil {
			t.Fatal(err)
		}
		hides(t, "json", string(asJSON))
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
			slog.New(handler).InfoContext(t.Context(), "start", slog.Any("key", key), slog.Any("holder", held))
		}
		hides(t, "slog", log.String())
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	t.Run("ReadsThePublishedKey", func(t *testing.T) {
		t.Parallel()
		// Of RFC 8410, section 10.3.
		const published = "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"
		key, err := localkey.Parse([]byte("-----BEGIN PRIVATE KEY-----\n" + published + "\n-----END PRIVATE KEY-----\n"))
		if want := "a1e9156054e04fac899ae9f275132cdc07a5dbc4ea2c2ad3a1ffc6e0d253681f"; err != nil || key.Key().ID().String() != want {
			t.Errorf("got %v, %v, want %s", key, err, want)
		}
	})
	t.Run("RefusesWhatIsNotOneKeyOfEd25519", func(t *testing.T) {
		t.Parallel()
		good := known(t)
		other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		for given, why := range map[string]string{
			text(t, other): "another algorithm", good + good: "one PEM block", "x\n" + good: "one PEM block",
			good + "x": "one PEM block", strings.ReplaceAll(good, "PRIVATE", "EC PRIVATE"): "one PEM block",
			strings.ReplaceAll(good, "PRIVATE", "ENCRYPTED PRIVATE"):             "one PEM block",
			strings.ReplaceAll(good, "PRIVATE", "OPENSSH PRIVATE"):               "one PEM block",
			strings.Replace(good, "-----\n", "-----\na: b\n\n", 1):               "one PEM block",
			strings.Replace(good, "MC", "!!", 1):                                 "one PEM block",
			strings.Replace(good, "MC", "MD", 1):                                 "PKCS#8",
			"-----BEGIN PRIVATE KEY-----\naHVudGVy\n-----END PRIVATE KEY-----\n": "PKCS#8",
			"private: " + good: "one PEM block",
		} {
			key, err := localkey.Parse([]byte(given))
			refused(t, key, err, why, "tidemark keys generate", "openssl genpkey")
			if errors.Is(err, localkey.ErrNotPrivate) {
				t.Errorf("%s: it holds a private key", given)
			}
		}
	})
	t.Run("SaysThatThereIsNoPrivateKey", func(t *testing.T) {
		t.Parallel()
		own, err := localkey.Parse([]byte(known(t)))
		if err != nil {
			t.Fatal(err)
		}
		for _, given := range []string{"", "keys: []", string(own.Key().PEM())} {
			key, err := localkey.Parse([]byte(given))
			refused(t, key, err, "no private key")
			if !errors.Is(err, localkey.ErrNotPrivate) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestFile(t *testing.T) {
	t.Parallel()
	t.Run("IsReadFromWhatWasWritten", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "key.pem")
		want, err := localkey.Generate()
		if err != nil {
			t.Fatal(err)
		}
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
		got, err := localkey.Load(path)
		if err != nil || got.Key().ID() != want.Key().ID() {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("mode: got %v, %v, want 0600", info.Mode(), err)
		}
	})
	t.Run("RefusesToWriteOverAnything", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		key, err := localkey.Generate()
		if err != nil {
			t.Fatal(err)
		}
		file, link := filepath.Join(dir, "key.pem"), filepath.Join(dir, "link")
		if err := os.WriteFile(file, []byte(known(t)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, link, dir} {
			refused(t, nil, key.Write(path), path, "already")
		}
		if got, err := fs.ReadFile(os.DirFS(dir), "key.pem"); err != nil || string(got) != known(t) {
			t.Errorf("the key that was there is gone: %v", err)
		}
		refused(t, nil, key.Write(filepath.Join(dir, "none", "key.pem")), "no such file", "folder")
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
			t.Errorf("got %v, %v, want what was there", entries, err)
		}
	})
	t.Run("RefusesAFileThatOthersMayUse", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "my key.pem")
		if err := os.WriteFile(path, []byte(known(t)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666, 0o777} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			key, err := localkey.Load(path)
			refused(t, key, err, path, fmt.Sprintf("%04o", mode), fmt.Sprintf("chmod 600 %q", path))
		}
		for _, mode := range []os.FileMode{0o600, 0o400} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if _, err := localkey.Load(path); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("RefusesWhatHoldsNoKey", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for name, content := range map[string]string{"large": strings.Repeat(" ", 20_000) + known(t), "broken": known(t)[:80]} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			key, err := localkey.Load(path)
			refused(t, key, err, path)
		}
		for _, path := range []string{dir, filepath.Join(dir, "none")} {
			key, err := localkey.Load(path)
			refused(t, key, err, path)
		}
	})
	t.Run("SaysThatAPublicKeyIsNone", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "public.pem")
		own, err := localkey.Generate()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, own.Key().PEM(), 0o644); err != nil { //nolint:gosec // a public key
			t.Fatal(err)
		}
		key, err := localkey.Load(path)
		refused(t, key, err, path, "no private key")
		if !errors.Is(err, localkey.ErrNotPrivate) {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzParse: whatever the text, parsing ends without a panic, with a key that signs or with an error that shows nothing of it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(known(f)))
	f.Add([]byte(known(f) + known(f)))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\naHVudGVy\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, given []byte) {
		key, err := localkey.Parse(given)
		if err != nil {
			refused(t, key, err)
			return
		}
		signature, err := key.Sign(t.Context(), given)
		if len(given) <= signing.MaxMessage && (err != nil || !key.Key().Verifies(given, signature)) {
			t.Errorf("a key that signs nothing: %v", err)
		}
	})
}
