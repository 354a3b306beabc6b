package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"tidemark/shared/config"
	"tidemark/shared/fault"
)

// The secret holds characters that tear a connection string apart, so that a piece of it may land in any part. Each
// piece is looked for.
func secretPieces() []string { return []string{"hunter", "sesame", "tr0ub4dor"} }

const torn = "hunter@sesame/tr0ub4dor"

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	t.Run("InValues", func(t *testing.T) {
		t.Parallel()
		for _, e := range []environment{
			minimal("TIDEMARK_DATABASE_URL=postgres://u:hunter@h/d?password=sesame", "TIDEMARK_DATABASE_PASSWORD=tr0ub4dor"),
			minimal("TIDEMARK_DATABASE_URL=host=h password=hunter sslpassword='sesame'", "TIDEMARK_DATABASE_PASSWORD="+torn),
		} {
			apply, err := e.loadApply()
			if err != nil {
				t.Fatal(err)
			}
			command, err := e.loadCommand()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(apply.Database.Reveal(), "hunter") {
				t.Fatal("the value holds no secret: the test proves nothing")
			}
			for _, value := range []any{apply, &apply, apply.Process, apply.Database, []any{apply}, command, &command} {
				searchValue(t, value)
			}
		}
	})
	t.Run("InErrors", func(t *testing.T) {
		t.Parallel()
		count := 0
		for _, given := range brokenURLs() {
			for _, e := range []environment{
				minimal("TIDEMARK_DATABASE_URL=" + given),
				minimal("TIDEMARK_DATABASE_URL="+given, "TIDEMARK_DATABASE_PASSWORD="+torn, "TIDEMARK_TARGET_ID="),
				minimal("TIDEMARK_DATABASE_URL="+given, "TIDEMARK_DATABASE_PASSWORD="+torn+"\x00"),
				minimal("TIDEMARK_DATABASE_URL="+given, "TIDEMARK_DATABASE_PASSWRD="+torn),
				minimal("TIDEMARK_DATABASE_URL="+given, "TIDEMARK_DATABASE_SECRET="+torn+" "),
				minimal("TIDEMARK_DATABASE_URL="+given, "TIDEMARK_DATABASE_SECRET=shop", "TIDEMARK_DATABASE_PASSWORD="+torn),
			} {
				_, applyErr := e.loadApply()
				_, commandErr := e.loadCommand()
				for _, err := range []error{applyErr, commandErr} {
					if err == nil {
						continue
					}
					count++
					searchError(t, err)
				}
			}
		}
		if count < 200 {
			t.Errorf("%d errors were searched: most strings were taken", count)
		}
	})
}

// brokenURLs puts the secret, raw and torn, into every part of a connection string.
func brokenURLs() []string {
	list := []string{
		torn, torn + "://h/d", "postgres://" + torn, "=" + torn, torn + "=", "host=h " + torn, "host=h password='" + torn,
	}
	forms := []string{
		"postgres://u:%s@h/d", "postgres://u:%s/d", "postgres://%s@h:5432/d", "postgres://u@%s/d", "postgres://u@h:%s/d",
		"postgres://u@h/%s", "postgres://u@h/d?%s", "postgres://u@h/d?password=%s", "postgres://u@h/d?sslmode=%s",
		"postgres://u@h/d?ssl=%s", "postgres://u@[%s]/d", "postgres://u@[::1]%s/d", "postgres:///d?password=%s",
		"host=h password=%s sslmode=disable", "host=h sslmode=%s", "host= password=%s", "password=%s", "host=h pass word=%s",
		"mysql://u:%s@h/d", "postgres://u:%s@h/d?sslmode=prefer", "host=h ssl=%s", "host=h %s=1",
	}
	values := []string{
		torn, "hunter%zz", "hunter@sesame", "hunter/sesame", "hunter:sesame", "hunter?sesame", "hunter=sesame",
		"hunter sesame",
		"hunter'sesame", "hunter\x00", "hunter\n", "hunter%00", url.QueryEscape(torn),
	}
	for _, form := range forms {
		for _, value := range values {
			list = append(list, fmt.Sprintf(form, value))
		}
	}
	return list
}

// searchValue looks for the secret in all the ways in which a value is shown.
func searchValue(t *testing.T, value any) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		search(t, verb, fmt.Sprintf(verb, value))
	}
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	search(t, "JSON", string(content))
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(handler).InfoContext(t.Context(), "start", slog.Any("value", value))
	}
	search(t, "slog", log.String())
	if !strings.Contains(log.String(), "REDACTED") || !strings.Contains(string(content), "REDACTED") {
		t.Errorf("the secret is left out, not redacted: %s", log.String())
	}
}

// searchError looks for the secret in the error and in whatever it wraps.
func searchError(t *testing.T, err error) {
	t.Helper()
	searchChain(t, err)
	search(t, "line", fault.Line(err)+fault.HintOf(err))
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).ErrorContext(t.Context(), "start", slog.Any("error", err))
	search(t, "slog", log.String())
}

func searchChain(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	search(t, "error", fmt.Sprintf("%v %+v %#v", err, err, err))
	searchChain(t, errors.Unwrap(err))
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			searchChain(t, one)
		}
	}
}

func search(t *testing.T, how, shown string) {
	t.Helper()
	for _, piece := range secretPieces() {
		if strings.Contains(shown, piece) || strings.Contains(shown, fmt.Sprintf("%x", piece)) {
			t.Errorf("%s shows %q: %s", how, piece, shown)
		}
	}
}

// The flow file holds no secret, until somebody writes one behind a key that there is not.
func TestUnknownKeysDoNotShowTheirValues(t *testing.T) {
	t.Parallel()
	_, err := config.ParseFlow("f", []byte(leastFlow+"password: hunter\ndebezium: {password: sesame}\n"))
	refused(t, err, `"password" is unknown`, `"debezium.password" is unknown`)
	searchError(t, err)
}
