package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
	"tidemark/shared/signing/localkey"
)

// runKeys runs a verb of keys and gives what it prints.
func runKeys(t *testing.T, arguments ...string) (out, about string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	keys := newKeys()
	keys.SetOut(&stdout)
	keys.SetErr(&stderr)
	keys.SetArgs(arguments)
	keys.SilenceErrors, keys.SilenceUsage = true, true
	err = keys.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeys(t *testing.T) {
	t.Parallel()
	t.Run("GenerateWritesAKeyThatShowKnows", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		path := filepath.Join(dir, "key.pem")
		public, about, err := runKeys(t, "generate", "--out", path)
		if err != nil {
			t.Fatal(err)
		}
		key, err := signing.ParsePublicKey([]byte(public))
		if err != nil {
			t.Fatalf("%v: %s", err, public)
		}
		own, err := localkey.Load(path)
		if err != nil || own.Key().ID() != key.ID() {
			t.Errorf("got %v, %v, want %s", own, err, key.ID())
		}
		for _, part := range []string{key.ID().String(), "ed25519", path, "next:", "pin the public key"} {
			if !strings.Contains(about, part) {
				t.Errorf("%q is not in %s", part, about)
			}
		}
		private, err := fs.ReadFile(os.DirFS(dir), "key.pem")
		if err != nil {
			t.Fatal(err)
		}
		body := strings.Split(string(private), "\n")[1]
		for _, file := range []string{path, write(t, "public.pem", public)} {
			shown, about, err := runKeys(t, "show", file)
			if err != nil || shown != public || !strings.Contains(about, key.ID().String()) || strings.Contains(shown+about, body) {
				t.Errorf("show %s: got %s, %s, %v", file, shown, about, err)
			}
		}
		if _, _, err := runKeys(t, "generate", "--out", path); !fault.Is(err, fault.Misconfigured) || exit.Code(err, false) != 2 {
			t.Errorf("a second time: got %v", err)
		}
		if again, err := fs.ReadFile(os.DirFS(dir), "key.pem"); err != nil || !bytes.Equal(again, private) {
			t.Errorf("the key that was there is gone: %v", err)
		}
	})
	t.Run("ShowListsTrustedKeysByName", func(t *testing.T) {
		t.Parallel()
		key, err := localkey.Generate()
		if err != nil {
			t.Fatal(err)
		}
		pem := strings.ReplaceAll(string(key.Key().PEM()), "\n", "\\n")
		shown, about, err := runKeys(t, "show", write(t, "trusted.yaml", `{"keys": [{"name": "desk", "public_key": "`+pem+`"}]}`))
		if err != nil || shown != string(key.Key().PEM()) || !strings.Contains(about, ", desk") {
			t.Errorf("got %s, %s, %v", shown, about, err)
		}
	})
	t.Run("ShowRefusesAKeyThatOthersMayRead", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "key.pem")
		if _, _, err := runKeys(t, "generate", "--out", path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // what is refused
			t.Fatal(err)
		}
		if _, _, err := runKeys(t, "show", path); !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "chmod 600") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("RefuseUsesThatMakeNoSense", func(t *testing.T) {
		t.Parallel()
		for _, arguments := range [][]string{
			{"show"},
			{"show", "a", "--kms", "b"},
			{"show", "a", "b"},
			{"generate"},
			{"generate", "--out", "a", "b"},
			{"show", write(t, "empty", "")},
			{"show", filepath.Join(t.TempDir(), "none")},
		} {
			shown, _, err := runKeys(t, arguments...)
			if err == nil || exit.Code(err, false) != 2 || shown != "" {
				t.Errorf("%v: got %q, %v of exit code %d", arguments, shown, err, exit.Code(err, false))
			}
		}
		if _, _, err := runKeys(t, "show"); exit.Code(err, false) != 2 {
			t.Errorf("got %v, want a usage error", err)
		}
	})
}
