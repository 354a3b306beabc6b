package s3api_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive/s3api"
	"tidemark/shared/fault"
)

func options() s3api.Options {
	return s3api.Options{Bucket: "backups", Prefix: "team/archive", Region: "us-east-1"}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	t.Run("FillInWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		got, err := options().Checked()
		if err != nil || got.Attempts != 3 || got.Timeout != 5*time.Minute || got.Retention != s3api.Governance {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	for name, change := range map[string]func(*s3api.Options){
		"AsTheyAre":              func(*s3api.Options) {},
		"WithoutAPrefix":         func(o *s3api.Options) { o.Prefix = "" },
		"WithAnEndpoint":         func(o *s3api.Options) { o.Endpoint = "https://minio.example:9000" },
		"WithAnEndpointAndSlash": func(o *s3api.Options) { o.Endpoint = "http://127.0.0.1:9000/" },
		"WithKeys":               func(o *s3api.Options) { o.Credentials = s3api.Credentials{AccessKey: "a", SecretKey: "s"} },
	} {
		t.Run("Accept/"+name, func(t *testing.T) {
			t.Parallel()
			o := options()
			change(&o)
			if _, err := o.Checked(); err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, change := range map[string]func(*s3api.Options){
		"NoBucket":            func(o *s3api.Options) { o.Bucket = "" },
		"ABucketWithAPrefix":  func(o *s3api.Options) { o.Bucket = "backups/team" },
		"APrefixWithASlash":   func(o *s3api.Options) { o.Prefix = "team/" },
		"APrefixOfOddLetters": func(o *s3api.Options) { o.Prefix = "Team" },
		"NoRegion":            func(o *s3api.Options) { o.Region = "" },
		"AnUnknownMode":       func(o *s3api.Options) { o.Retention = "FOREVER" },
		"NegativeAttempts":    func(o *s3api.Options) { o.Attempts = -1 },
		"ANegativeTimeout":    func(o *s3api.Options) { o.Timeout = -1 },
		"AKeyWithoutSecret":   func(o *s3api.Options) { o.Credentials.AccessKey = "a" },
		"ASecretWithoutKey":   func(o *s3api.Options) { o.Credentials.SecretKey = "s3cr3t" },
		"AnEndpointsPath":     func(o *s3api.Options) { o.Endpoint = "https://h/path" },
		"AnEndpointsSecret":   func(o *s3api.Options) { o.Endpoint = "https://u:s3cr3t@h" },
		"AnEndpointsQuery":    func(o *s3api.Options) { o.Endpoint = "https://h?s3cr3t" },
		"AHostAlone":          func(o *s3api.Options) { o.Endpoint = "minio:9000" },
		"AnOddScheme":         func(o *s3api.Options) { o.Endpoint = "s3://backups" },
		"AnEndpointWithoutIt": func(o *s3api.Options) { o.Endpoint = "https://" },
		"ABrokenEndpoint":     func(o *s3api.Options) { o.Endpoint = "http://s3cr3t\x7f" },
	} {
		t.Run("Refuse/"+name, func(t *testing.T) {
			t.Parallel()
			o := options()
			change(&o)
			if _, err := o.Checked(); !fault.Is(err, fault.Misconfigured) || strings.Contains(fault.Line(err), "s3cr3t") {
				t.Errorf("got %v (%s), want it misconfigured, without a secret", err, fault.ClassOf(err))
			}
		})
	}
	t.Run("ShowNoSecret", func(t *testing.T) {
		t.Parallel()
		o := options()
		o.Credentials = s3api.Credentials{AccessKey: "s3cr3t", SecretKey: "s3cr3t", SessionToken: "s3cr3t"}
		var logged bytes.Buffer
		slog.New(slog.NewJSONHandler(&logged, nil)).InfoContext(t.Context(), "options", slog.Any("keys", o.Credentials))
		shown := fmt.Sprintf("%v %+v %#v %s %d %v %+v", o, o, o, o.Credentials, o.Credentials, &o, &o.Credentials)
		if shown += logged.String(); strings.Contains(shown, "s3cr3t") || !strings.Contains(shown, "REDACTED") {
			t.Errorf("got %s", shown)
		}
	})
}
