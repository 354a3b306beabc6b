package location_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/config/location"
)

func TestParseMark(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1011)
	for given, want := range map[string]location.Mark{
		"file:///var/lib/tidemark/newest.json": {File: "/var/lib/tidemark/newest.json"},
		"ssm:/tidemark/shop/newest":            {Parameter: "/tidemark/shop/newest"},
		"ssm:newest":                           {Parameter: "newest"},
		"ssm:" + long:                          {Parameter: long},
	} {
		got, err := location.ParseMark(given)
		if err != nil {
			t.Errorf("%s: %v", given, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", given, diff)
		}
	}
	for given, why := range map[string]string{
		"": "neither", "/var/mark": "neither", "newest": "neither", "s3://b/mark": "neither", "SSM:newest": "neither",
		"ssm:": "no parameter", "ssm:a b": "no parameter", "ssm:ü": "no parameter", "ssm:arn:aws:ssm:eu-1:1:parameter/a": "no parameter", "ssm:" + long + "a": "no parameter",
		"file:mark": "three slashes", "file://mark": "three slashes", "file:///": "is / itself", "file:///a/../b": "'..'",
	} {
		if got, err := location.ParseMark(given); err == nil || !strings.Contains(err.Error(), why) || !got.IsZero() {
			t.Errorf("%q: got %+v and %v, want an error that says %q", given, got, err, why)
		}
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][]location.Key{
		"/etc/key.pem":                        {{File: "/etc/key.pem"}},
		"key.pem, ./a b.pem":                  {{File: "key.pem"}, {File: "./a b.pem"}},
		"awskms:alias/tidemark,/etc/key.pem":  {{KMS: "alias/tidemark"}, {File: "/etc/key.pem"}},
		"awskms:arn:aws:kms:eu-1:1:key/2":     {{KMS: "arn:aws:kms:eu-1:1:key/2"}},
		"a,b,c,awskms:d":                      {{File: "a"}, {File: "b"}, {File: "c"}, {KMS: "d"}},
		"/keys:old/one.pem":                   {{File: "/keys:old/one.pem"}},
		"awskms:1234abcd-12ab-34cd-56ef-0123": {{KMS: "1234abcd-12ab-34cd-56ef-0123"}},
	} {
		got, err := location.ParseKeys(given)
		if err != nil {
			t.Errorf("%s: %v", given, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", given, diff)
		}
	}
	for given, why := range map[string]string{
		"": "nothing", ",": "nothing", "a,": "nothing", ",a": "nothing", "a,,b": "nothing", "a,a": "twice", "a,b,c,d,e": "too many",
		"awskms:": "behind awskms:", "awskms: a": "behind awskms:", "kms:alias/a": "awskms", "file:///key.pem": "awskms",
		"a\nb": "control character", "a\x00": "control character",
		"-----BEGIN PRIVATE KEY-----\nhunter\n-----END PRIVATE KEY-----": "holds a key",
	} {
		got, err := location.ParseKeys(given)
		if err == nil || !strings.Contains(err.Error(), why) || got != nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%q: got %+v and %v, want an error that says %q", given, got, err, why)
		}
	}
}
