package packing_test

import (
	"strings"
	"testing"

	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
)

func TestParseKeysReadsLines(t *testing.T) {
	t.Parallel()
	one, other := newKey(t), newKey(t)
	if got := parseIdentities(t, "# old\r\n"+one.secret+"\r\n\n"+other.secret); len(got) != 2 {
		t.Fatalf("got %d identities, want 2", len(got))
	}
}

func TestParseKeysRefusesWithoutTellingTheSecret(t *testing.T) {
	t.Parallel()
	secret := newKey(t).secret
	swapped := secret[:30] + strings.ToLower(secret[30:])
	parse := map[string]func(string) error{
		"Recipients": func(text string) error { _, err := packing.ParseRecipients(text); return err },
		"Identities": func(text string) error { _, err := packing.ParseIdentities(text); return err },
	}
	for name, text := range map[string]string{
		"Nothing": "", "OnlyComments": "# none\n\n", "Cut": secret[:40], "MixedCase": swapped, "Longer": secret + "Q",
		"AnotherLetter": secret[:50] + "!" + secret[51:], "AnotherKind": "age1" + secret[15:], "AnotherKey": "SSH-" + secret,
		"TwoInALine": secret + " " + secret,
	} {
		for kind, parse := range parse {
			t.Run(kind+name, func(t *testing.T) {
				t.Parallel()
				err := parse(text)
				wantClass(t, err, fault.Misconfigured)
				wantNothingOf(t, secret, err)
			})
		}
	}
	t.Run("ASecretAmongRecipients", func(t *testing.T) {
		t.Parallel()
		err := parse["Recipients"]("# mine\n" + secret)
		wantClass(t, err, fault.Misconfigured)
		wantNothingOf(t, secret, err)
		if !strings.Contains(err.Error(), "line 2") {
			t.Fatalf("got %q, want the line's number", err)
		}
	})
}

// wantNothingOf looks for any six letters of the secret part of a key in what an operator sees.
func wantNothingOf(t *testing.T, secret string, err error) {
	t.Helper()
	shown := strings.ToUpper(fault.Line(err))
	for hidden := strings.TrimPrefix(secret, "AGE-SECRET-KEY-1"); len(hidden) >= 6; hidden = hidden[1:] {
		if strings.Contains(shown, hidden[:6]) {
			t.Fatalf("got %q, which shows %q of the secret", shown, hidden[:6])
		}
	}
}
