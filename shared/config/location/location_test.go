package location_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/config/location"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]location.Place{
		"s3://shop-backups/tidemark/shop?region=eu-central-1": {
			Kind: location.S3, Bucket: "shop-backups", Prefix: "tidemark/shop", Region: "eu-central-1",
		},
		"s3://shop-backups?region=eu-central-1":  {Kind: location.S3, Bucket: "shop-backups", Region: "eu-central-1"},
		"s3://shop-backups/?region=eu-central-1": {Kind: location.S3, Bucket: "shop-backups", Region: "eu-central-1"},
		"s3://shop/a/?region=r&endpoint=https%3A%2F%2Fstore.example%3A9000%2F&path_style=true&kms_key=arn:aws:kms:eu-central-1:1:key/2": {
			Kind: location.S3, Bucket: "shop", Prefix: "a", Region: "r", Endpoint: "https://store.example:9000", PathStyle: true,
			KMSKey: "arn:aws:kms:eu-central-1:1:key/2",
		},
		"s3://shop?region=r&endpoint=http://127.0.0.1:4566&path_style=false": {
			Kind: location.S3, Bucket: "shop", Region: "r", Endpoint: "http://127.0.0.1:4566",
		},
		"minio://store.example:9000/shop/tidemark": {
			Kind: location.Minio, Bucket: "shop", Prefix: "tidemark", Region: "us-east-1", Endpoint: "https://store.example:9000", PathStyle: true,
		},
		"minio://store.example/shop?region=home&tls=true": {
			Kind: location.Minio, Bucket: "shop", Region: "home", Endpoint: "https://store.example", PathStyle: true,
		},
		"minio://localhost:9000/shop?tls=false": {
			Kind: location.Minio, Bucket: "shop", Region: "us-east-1", Endpoint: "http://localhost:9000", PathStyle: true,
		},
		"minio://[::1]:9000/shop?tls=false": {
			Kind: location.Minio, Bucket: "shop", Region: "us-east-1", Endpoint: "http://[::1]:9000", PathStyle: true,
		},
		"file:///srv/backups":      {Kind: location.File, Folder: "/srv/backups"},
		"file:///srv/backups/":     {Kind: location.File, Folder: "/srv/backups"},
		"file:///srv/My%20Backups": {Kind: location.File, Folder: "/srv/My Backups"},
	} {
		got, err := location.Parse(given)
		if err != nil {
			t.Errorf("%s: %v", given, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", given, diff)
		}
	}
	for given, why := range map[string]string{
		"":                                  "no scheme",
		"backups":                           "no scheme",
		"./s3://b/p":                        "another scheme",
		"/srv/backups":                      "write file:// before",
		"S3://shop?region=r":                "another scheme",
		"s3a://shop?region=r":               "another scheme",
		"https://shop.s3.example/p":         "another scheme",
		"gs://shop/p":                       "another scheme",
		"s3:shop/p":                         "no scheme",
		"s3:/shop/p":                        "no scheme",
		"s3:///p?region=r":                  "names no bucket",
		"s3://?region=r":                    "names no bucket",
		"s3://ab?region=r":                  "names no bucket",
		"s3://Shop?region=r":                "names no bucket",
		"s3://shop_1?region=r":              "names no bucket",
		"s3://-shop?region=r":               "names no bucket",
		"s3://shop:9000/p?region=r":         "names no bucket",
		"s3://shop/p":                       "names no region",
		"s3://shop/p?region=":               "in the parameter region",
		"s3://shop/p?region=r&region=":      "region twice",
		"s3://shop/P?region=r":              "prefix",
		"s3://shop/a//b?region=r":           "prefix",
		"s3://shop/a/../b?region=r":         "prefix",
		"s3://shop/a%2Fb?region=r":          "escape",
		"s3://shop/ü?region=r":              "escape",
		"s3://shop/p?regoin=r":              "none of region, kms_key, endpoint, path_style",
		"s3://shop/p?region=r&tls=true":     "none of region",
		"s3://shop/p?region=r;tls=true":     "do not parse",
		"s3://shop/p?region=r&path_style=1": "neither true nor false",
		"s3://shop/p?region=r&endpoint=http://store.example":       "without TLS",
		"s3://shop/p?region=r&endpoint=ftp://store.example":        "endpoint that is not https://",
		"s3://shop/p?region=r&endpoint=store.example:9000":         "endpoint that is not https://",
		"s3://shop/p?region=r&endpoint=https://store.example/path": "more than a host",
		"s3://shop/p?region=r&endpoint=https://a:b@store.example":  "more than a host",
		"s3://shop/p?region=r#part":                                "fragment",
		"s3://hunter:sesame@shop/p?region=r":                       "_SECRET_KEY",
		"s3://hunter@shop/p?region=r":                              "_SECRET_KEY",
		"s3://hunter:se/same@shop/p?region=r":                      "is no URL",
		"s3://shop/\x00?region=r":                                  "is no URL",
		"minio:///shop":                                            "names no host",
		"minio://store.example:9000":                               "names no bucket",
		"minio://store.example:9000/":                              "names no bucket",
		"minio://hunter:sesame@store.example/shop":                 "_SECRET_KEY",
		"minio://store.example/shop?tls=false":                     "loopback",
		"minio://127.0.0.1.example/shop?tls=false":                 "loopback",
		"minio://store.example/shop?tls=no":                        "neither true nor false",
		"minio://store.example/shop?kms_key=a":                     "none of region, tls",
		"file://srv/backups":                                       "three slashes",
		"file://./backups":                                         "three slashes",
		"file://":                                                  "three slashes",
		"file:///":                                                 "is / itself",
		"file:///a/../b":                                           "'..'",
		"file:///a/./b":                                            "'.'",
		"file:///a//b":                                             "two slashes",
		"file:///a?region=r":                                       "parameters",
		"file:///a?":                                               "parameters",
		"file:///a#b":                                              "fragment",
		"file:///a%00b":                                            "zero byte",
		"file:///a%zz":                                             "%25",
		"file://hunter:sesame@/a":                                  "three slashes",
	} {
		got, err := location.Parse(given)
		if err == nil || !strings.Contains(err.Error(), why) || !got.IsZero() {
			t.Errorf("%q: got %+v and %v, want an error that says %q", given, got, err, why)
			continue
		}
		for _, piece := range []string{"hunter", "sesame"} {
			if strings.Contains(err.Error(), piece) {
				t.Errorf("%q: the error repeats %q: %v", given, piece, err)
			}
		}
	}
}

// A tool that takes s3://… for the name of a folder writes its backups to a disk that goes with the machine.
func TestParseTakesNoStoreForAFolder(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"s3://shop/p?region=r", "s3://shop/p", "s3:/shop/p", "./s3://shop/p", "minio://h/shop", "gs://shop"} {
		if got, err := location.Parse(given); err == nil && (got.Kind == location.File || got.Folder != "") {
			t.Errorf("%s: is the folder %q", given, got.Folder)
		}
	}
}

func TestApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		one, other string
		apart      bool
	}{
		"OtherBuckets":            {"s3://one?region=r", "s3://other?region=r", true},
		"OtherPrefixes":           {"s3://one/a?region=r", "s3://one/b?region=r", true},
		"APrefixThatBeginsAlike":  {"s3://one/a?region=r", "s3://one/ab?region=r", true},
		"OtherFolders":            {"file:///a", "file:///b", true},
		"AFolderThatBeginsAlike":  {"file:///a", "file:///ab", true},
		"OtherStores":             {"minio://one/bucket", "minio://other/bucket", true},
		"OtherPorts":              {"minio://one:1/bucket", "minio://one:2/bucket", true},
		"AFolderAndABucket":       {"file:///one", "s3://one?region=r", true},
		"TheSame":                 {"s3://one/a?region=r", "s3://one/a?region=r", false},
		"TheSameWithOtherWords":   {"s3://one/a?region=r", "s3://one/a/?region=q&kms_key=k", false},
		"TheSameByItsEndpoint":    {"s3://one?region=r", "s3://one?region=r&endpoint=https://s3.eu-west-1.amazonaws.com", false},
		"TheSameByAnotherClient":  {"minio://h:443/one", "s3://one?region=r&endpoint=https://h", false},
		"TheSameMachine":          {"minio://localhost:9/one?tls=false", "minio://127.0.0.1:9/one?tls=false", false},
		"TheSameFolder":           {"file:///a", "file:///a/", false},
		"AFolderWithin":           {"file:///a", "file:///a/objects", false},
		"AFolderAround":           {"file:///a/b/c", "file:///a", false},
		"APrefixWithin":           {"s3://one?region=r", "s3://one/a?region=r", false},
		"TheSameHostInOtherCases": {"minio://Store/one", "minio://store/one", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, err := location.Parse(test.one)
			if err != nil {
				t.Fatal(err)
			}
			other, err := location.Parse(test.other)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{one.Apart(other), other.Apart(one)} {
				if (err == nil) != test.apart {
					t.Errorf("got %v, want apart %t", err, test.apart)
				}
			}
		})
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"s3://one/a/b?region=r&kms_key=k": "s3://one/a/b", "s3://one?region=r": "s3://one",
		"minio://h:1/one/a?region=r": "minio://h:1/one/a", "file:///a/b/": "file:///a/b",
	} {
		place, err := location.Parse(given)
		if err != nil {
			t.Fatal(err)
		}
		if got := place.String(); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"s3://shop/p?region=r&path_style=true", "minio://h:1/shop?tls=false", "file:///a/b", "s3://u:p@b", "file://%", "s3://a%zz",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		place, err := location.Parse(given)
		switch {
		case err != nil && !place.IsZero():
			t.Errorf("%q: %v, and %+v", given, err, place)
		case err == nil && place.Kind == location.File != (place.Folder != ""), err == nil && place.Kind == location.File == (place.Bucket != ""):
			t.Errorf("%q: is both a store and a folder, or neither: %+v", given, place)
		case err == nil && !strings.HasPrefix(given, string(place.Kind)+"://"):
			t.Errorf("%q: is taken for %s", given, place.Kind)
		}
	})
}
