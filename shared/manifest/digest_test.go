package manifest_test

import (
	"crypto/sha256"
	"math"
	"strings"
	"testing"

	"tidemark/shared/manifest"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	const ofNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	t.Run("IsTheSHA256", func(t *testing.T) {
		t.Parallel()
		if got := manifest.DigestOf(nil); got.String() != ofNothing || got != manifest.SumDigest(sha256.Sum256(nil)) {
			t.Errorf("got %s, want %s", got, ofNothing)
		}
		if d, err := manifest.ParseDigest(ofNothing); err != nil || d.IsZero() || !manifest.Digest("").IsZero() {
			t.Errorf("got %s, %v", d, err)
		}
	})
	for name, text := range map[string]string{
		"Nothing": "", "UpperCase": strings.ToUpper(ofNothing), "ADigitTooFew": ofNothing[1:],
		"ADigitTooMany":  ofNothing + "0",
		"ALetterBeyondF": "g" + ofNothing[1:], "ANewline": ofNothing + "\n", "ANewlineInside": ofNothing[1:] + "\n",
		"AParent": "../" + ofNothing[3:], "AZeroByte": "\x00" + ofNothing[1:], "AColon": ":" + ofNothing[1:],
		"ATick": "`" + ofNothing[1:],
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if d, err := manifest.ParseDigest(text); err == nil {
				t.Errorf("got %q, want an error", d)
			}
		})
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(o *manifest.Object)
		valid  bool
	}{
		"AsItIs":             {func(*manifest.Object) {}, true},
		"OneByte":            {func(o *manifest.Object) { o.Size = 1 }, true},
		"TheLargest":         {func(o *manifest.Object) { o.Size = manifest.MaxObject }, true},
		"NoPlainBytes":       {func(o *manifest.Object) { o.PlainSize = 0 }, true},
		"ManyPlainBytes":     {func(o *manifest.Object) { o.PlainSize = math.MaxInt64 }, true},
		"NoStoredBytes":      {func(o *manifest.Object) { o.Size = 0 }, false},
		"NegativeSize":       {func(o *manifest.Object) { o.Size = -1 }, false},
		"TooLarge":           {func(o *manifest.Object) { o.Size = manifest.MaxObject + 1 }, false},
		"NegativePlainSize":  {func(o *manifest.Object) { o.PlainSize = -1 }, false},
		"NoDigest":           {func(o *manifest.Object) { o.Digest = "" }, false},
		"NoPlainDigest":      {func(o *manifest.Object) { o.Plain = "" }, false},
		"AnUpperCasedDigest": {func(o *manifest.Object) { o.Plain = manifest.Digest(strings.ToUpper(string(o.Plain))) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := statement().Body
			test.change(&object)
			if err := object.Validate(); (err == nil) != test.valid {
				t.Errorf("got %v, want valid %t", err, test.valid)
			}
		})
	}
}

func TestRunID(t *testing.T) {
	t.Parallel()
	const run = "0190c5ae-7e1f-7abc-8def-0123456789ab"
	if r, err := manifest.ParseRunID(run); err != nil || r.String() != run || r.IsZero() || !manifest.RunID("").IsZero() {
		t.Errorf("got %s, %v", r, err)
	}
	for name, text := range map[string]string{
		"Nothing": "", "UpperCase": strings.ToUpper(run), "Braces": "{" + run + "}",
		"NoHyphens": strings.ReplaceAll(run, "-", ""),
		"ANewline":  run + "\n", "AParent": "../" + run[3:], "AnEnd": run + ".end",
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if r, err := manifest.ParseRunID(text); err == nil {
				t.Errorf("got %q, want an error", r)
			}
		})
	}
}
