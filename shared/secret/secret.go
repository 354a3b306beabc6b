// Package secret owns texts that must never be shown, passwords and whatever holds one, and how long one that is kept
// elsewhere is believed.
//
// A Text prints REDACTED under every verb of fmt, in slog, as JSON and as text, and a struct that holds one never shows
// its content, in an exported field or not. The one way to the content is Reveal, so a search for that word lists every
// place where a secret leaves. The package keeps no secret out of memory or out of core dumps, and asks no service itself.
// Values are immutable; they and a Source may be shared between goroutines.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what a secret shows instead of itself.
const Redacted = "REDACTED"

// Text is a secret text. The zero value holds nothing.
type Text struct {
	// A pointer, because fmt reads unexported fields of a struct by reflection, past every method of theirs, and prints
	// a pointer that it meets below the top as an address.
	hidden *string
	// Makes == between two secrets, which would compare addresses, an error of the compiler.
	_ [0]func()
}

// New makes a secret of text. An empty text is the zero value.
func New(text string) Text {
	if text == "" {
		return Text{}
	}
	return Text{hidden: &text}
}

// Reveal is the content. It goes to whoever needs it to log in, and nowhere else.
func (t Text) Reveal() string {
	if t.hidden == nil {
		return ""
	}
	return *t.hidden
}

// IsZero says whether the secret holds nothing.
func (t Text) IsZero() bool { return t.hidden == nil }

// Equal says whether both hold the same content. Its time depends on the content: it is for tests, not for checking
// what a stranger sent.
func (t Text) Equal(other Text) bool { return t.Reveal() == other.Reveal() }

// String is REDACTED.
func (t Text) String() string { return Redacted }

// GoString is REDACTED.
func (t Text) GoString() string { return Redacted }

// Format writes REDACTED for every verb. String alone would not do: under %d fmt prints the fields.
func (t Text) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, Redacted) // fmt keeps no error of a state's writer
}

// LogValue is REDACTED.
func (t Text) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText is REDACTED.
func (t Text) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON is "REDACTED".
func (t Text) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }
