package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"tidemark/shared/secret"
)

const content = "hunter2-hunter2"

type holder struct {
	Shown  secret.Text
	hidden secret.Text
	Deep   struct{ Of []secret.Text }
	ByName map[string]secret.Text
	Ptr    *secret.Text
}

func newHolder() holder {
	text := secret.New(content)
	held := holder{Shown: text, hidden: text, ByName: map[string]secret.Text{"a": text}, Ptr: &text}
	held.Deep.Of = []secret.Text{text}
	return held
}

func TestText(t *testing.T) {
	t.Parallel()
	t.Run("RevealsOnlyThroughReveal", func(t *testing.T) {
		t.Parallel()
		text := secret.New(content)
		if got := text.Reveal(); got != content {
			t.Errorf("Reveal: got %q, want %q", got, content)
		}
		if !text.Equal(secret.New(content)) || text.Equal(secret.New("other")) || text.IsZero() {
			t.Error("a secret equals its content and nothing else")
		}
		if zero := secret.New(""); !zero.IsZero() || zero.Reveal() != "" {
			t.Error("an empty secret is not zero")
		}
	})
	t.Run("PrintsRedactedUnderEveryVerb", func(t *testing.T) {
		t.Parallel()
		held := newHolder()
		for _, verb := range strings.Split("v +v #v s q d x X o b c U e g t p T w", " ") {
			for _, value := range []any{held.Shown, held, &held, held.Deep, held.ByName, []any{held}} {
				refuseContent(t, "%"+verb, fmt.Sprintf("%"+verb, value))
			}
		}
		if got := fmt.Sprintf("%v %+v %#v %s %d", held.Shown, held.Shown, held.Shown, held.Shown, held.Shown); got !=
			strings.TrimSpace(strings.Repeat("REDACTED ", 5)) {
			t.Errorf("got %q", got)
		}
		if got := held.hidden.String() + held.hidden.GoString(); got != "REDACTEDREDACTED" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("LogsRedacted", func(t *testing.T) {
		t.Parallel()
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
			held := newHolder()
			slog.New(handler).InfoContext(t.Context(), "start", slog.Any("text", held.Shown), slog.Any("holder", held))
		}
		refuseContent(t, "slog", log.String())
		if !strings.Contains(log.String(), "text=REDACTED") {
			t.Errorf("got %s", log.String())
		}
	})
	t.Run("MarshalsRedacted", func(t *testing.T) {
		t.Parallel()
		asJSON, err := json.Marshal(newHolder())
		if err != nil {
			t.Fatal(err)
		}
		asXML, err := xml.Marshal(secret.New(content))
		if err != nil {
			t.Fatal(err)
		}
		refuseContent(t, "json", string(asJSON))
		refuseContent(t, "xml", string(asXML))
		if got, want := string(asXML), "<Text>REDACTED</Text>"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func refuseContent(t *testing.T, how, output string) {
	t.Helper()
	if strings.Contains(output, "hunter2") || strings.Contains(output, fmt.Sprintf("%x", "hunter2")) {
		t.Errorf("%s shows the secret: %s", how, output)
	}
}
