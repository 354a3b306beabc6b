package config_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/packing"
	"tidemark/shared/config"
	"tidemark/shared/config/location"
	"tidemark/shared/expiry/policy"
	"tidemark/shared/secret"
)

// archivist is the least environment of a verb on archives, with changes in the form NAME=VALUE.
func archivist(changes ...string) environment {
	e := environment{
		"TIDEMARK_TARGET_ID": "shop-prod", "TIDEMARK_ARCHIVE": "s3://shop-backups/tidemark?region=eu-central-1",
		"TIDEMARK_TRUSTED_KEYS": "/etc/tidemark/trusted-keys.yaml",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		e[name] = value
	}
	return e
}

func (e environment) loadArchivist() (config.Archivist, error) {
	return config.LoadArchivist(e.lookup, e.environ())
}

func archiveLimits() []limit {
	places := map[string]string{
		"/srv/backups": "write file://", "s3://b?region=r": "names no bucket", "s3://shop": "names no region", "gs://shop/a": "another scheme",
	}
	words := map[string]string{"a b": "a blank", "a\n": "control character", "\x00": "control character"}
	counts := map[string]string{"-1": "below the range", "10001": "above the range", "1.5": "whole number", "all": "whole number"}
	kept := []string{"", "0", "1", "10000"}
	return []limit{
		{"TIDEMARK_TARGET_ID", []string{"a"}, map[string]string{"": "is not set", "A": "is not a target id"}},
		{"TIDEMARK_LOG_LEVEL", []string{"", "debug"}, map[string]string{"loud": "is not an allowed value"}},
		{"TIDEMARK_ARCHIVE", []string{"file:///srv/backups", "s3://shop?region=r"}, merged(places, map[string]string{"": "is not set"})},
		{"TIDEMARK_ARCHIVE_ACCESS_KEY", []string{""}, words},
		{"TIDEMARK_ARCHIVE_SECRET_KEY", []string{""}, words},
		{"TIDEMARK_ARCHIVE_SECONDARY", []string{"", "file:///srv/backups", "s3://shop?region=r"}, places},
		{"TIDEMARK_ARCHIVE_SECONDARY_ACCESS_KEY", []string{""}, words},
		{"TIDEMARK_ARCHIVE_SECONDARY_SECRET_KEY", []string{""}, words},
		{"TIDEMARK_ARCHIVE_CA_FILE", []string{"", "ca.pem", "/etc/ca.pem"}, map[string]string{"a\x00b": "zero byte"}},
		{"TIDEMARK_TRUSTED_KEYS", []string{"keys.yaml", "/etc/keys.yaml"}, map[string]string{"": "is not set", "a\x00b": "zero byte"}},
		{"TIDEMARK_SIGNING_KEYS", []string{"", "key.pem", "awskms:alias/a, key.pem"}, map[string]string{
			",": "before or behind a comma", "a,a": "twice", "kms:a": "awskms", "awskms:": "behind awskms:", "a,b,c,d,e": "too many",
		}},
		{"TIDEMARK_HIGH_WATER", []string{"", "file:///var/mark.json", "ssm:/a/b"}, map[string]string{
			"/var/mark.json": "neither with file:// nor with ssm", "ssm:": "no parameter", "file://mark": "three slashes",
		}},
		{"TIDEMARK_AGE_RECIPIENTS", []string{"", "age1abc", "age1abc, age1pq1def"}, map[string]string{
			"age": "something else", "age1a,": "something else", "ssh-ed25519 AAAA": "something else", "age1 a": "something else",
			"AGE-SECRET-KEY-1ABC": "holds an identity", "age1a,age-secret-key-1": "holds an identity",
		}},
		{"TIDEMARK_AGE_IDENTITY_FILE", []string{"", "keys.txt"}, map[string]string{"a\x00b": "zero byte"}},
		{"TIDEMARK_OBJECT_LOCK", []string{"", "0", "1h", "87600h"}, map[string]string{
			"0s":  "below the range",
			"59m": "below the range", "87600h1s": "above the range", "-1h": "below the range", "1": "is not a duration", "7d": "is not a duration",
		}},
		{"TIDEMARK_COMPRESSION_LEVEL", []string{"", "1", "19"}, map[string]string{
			"0": "below the range", "20": "above the range", "fast": "whole number",
		}},
		{"TIDEMARK_KEEP_LAST", kept, counts},
		{"TIDEMARK_KEEP_WITHIN", []string{"", "0", "1m", "876000h"}, map[string]string{
			"59s": "below the range", "876000h1s": "above the range", "7": "is not a duration", "7d": "is not a duration",
		}},
		{"TIDEMARK_KEEP_DAILY", kept, counts},
		{"TIDEMARK_KEEP_WEEKLY", kept, counts},
		{"TIDEMARK_KEEP_MONTHLY", kept, counts},
		{"TIDEMARK_MIN_VERIFIED", []string{"", "1", "10000"}, map[string]string{"0": "below the range", "10001": "above the range"}},
	}
}

func TestLoadArchivist(t *testing.T) {
	t.Parallel()
	t.Run("KeepsLimits", func(t *testing.T) {
		t.Parallel()
		covered(t, archiveLimits(), config.Archivist{}.Settings())
		for _, l := range archiveLimits() {
			for _, value := range l.takes {
				if _, err := archivist(l.setting + "=" + value).loadArchivist(); err != nil {
					t.Errorf("%s=%s: %v", l.setting, value, err)
				}
			}
			for value, why := range l.refuses {
				_, err := archivist(l.setting + "=" + value).loadArchivist()
				refused(t, err, l.setting, why, "; want ")
			}
		}
	})
	t.Run("DefaultsWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		got, err := archivist().loadArchivist()
		if err != nil {
			t.Fatal(err)
		}
		want := config.Archivist{
			TargetID: "shop-prod", LogLevel: slog.LevelInfo,
			Archive: config.Archive{
				Primary: location.Place{
					Kind: location.S3, Bucket: "shop-backups", Prefix: "tidemark", Region: "eu-central-1",
				},
				TrustedKeys: "/etc/tidemark/trusted-keys.yaml", CompressionLevel: packing.DefaultLevel,
			},
			Expiry: policy.Policy{
				KeepLast: 24, KeepWithin: 168 * time.Hour, Daily: 14, Weekly: 8, Monthly: 12, MinVerified: 3,
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := got.Expiry.Validate(); err != nil {
			t.Error(err)
		}
	})
	t.Run("TakesWhatIsSet", func(t *testing.T) {
		t.Parallel()
		got, err := archivist("TIDEMARK_ARCHIVE=minio://localhost:9000/shop?tls=false", "TIDEMARK_ARCHIVE_ACCESS_KEY=a",
			"TIDEMARK_ARCHIVE_SECRET_KEY=b", "TIDEMARK_ARCHIVE_SECONDARY=file:///srv/backups", "TIDEMARK_ARCHIVE_CA_FILE=ca.pem",
			"TIDEMARK_SIGNING_KEYS=awskms:alias/a,key.pem", "TIDEMARK_HIGH_WATER=ssm:/a", "TIDEMARK_AGE_RECIPIENTS=age1a, age1b",
			"TIDEMARK_AGE_IDENTITY_FILE=id.txt", "TIDEMARK_OBJECT_LOCK=720h", "TIDEMARK_COMPRESSION_LEVEL=9", "TIDEMARK_KEEP_LAST=1",
			"TIDEMARK_KEEP_WITHIN=0", "TIDEMARK_KEEP_DAILY=2", "TIDEMARK_KEEP_WEEKLY=3", "TIDEMARK_KEEP_MONTHLY=4",
			"TIDEMARK_MIN_VERIFIED=5", "TIDEMARK_LOG_LEVEL=warn").loadArchivist()
		if err != nil {
			t.Fatal(err)
		}
		login := location.Login{AccessKey: secret.New("a"), SecretKey: secret.New("b")}
		want := config.Archivist{
			TargetID: "shop-prod", LogLevel: slog.LevelWarn,
			Archive: config.Archive{
				Primary: location.Place{
					Kind: location.Minio, Bucket: "shop", Region: "us-east-1", Endpoint: "http://localhost:9000", PathStyle: true,
				},
				PrimaryLogin: login, Secondary: location.Place{Kind: location.File, Folder: "/srv/backups"}, CAFile: "ca.pem",
				TrustedKeys: "/etc/tidemark/trusted-keys.yaml", SigningKeys: []location.Key{{KMS: "alias/a"}, {File: "key.pem"}},
				HighWater: location.Mark{Parameter: "/a"}, Recipients: []string{"age1a", "age1b"}, IdentityFile: "id.txt",
				ObjectLock: 720 * time.Hour, CompressionLevel: 9,
			},
			Expiry: policy.Policy{KeepLast: 1, Daily: 2, Weekly: 3, Monthly: 4, MinVerified: 5},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !got.Archive.PrimaryLogin.SecretKey.Equal(login.SecretKey) || !got.Archive.PrimaryLogin.AccessKey.Equal(login.AccessKey) {
			t.Error("the keys of the store are others")
		}
	})
	t.Run("NeedsNoDatabase", func(t *testing.T) {
		t.Parallel()
		for _, s := range (config.Archivist{}).Settings() {
			if strings.Contains(s.Name, "DATABASE") || s.Name == "TIDEMARK_FLOW_FILE" {
				t.Errorf("%s is read", s.Name)
			}
		}
		for _, s := range slices.Concat(config.ApplySettings(), config.Command{}.Settings()) {
			if s.Name == "TIDEMARK_TARGET_ID" || s.Name == "TIDEMARK_LOG_LEVEL" {
				continue
			}
			if _, err := archivist(s.Name + "=whatever").loadArchivist(); err != nil {
				t.Errorf("a variable of another process is not left alone: %v", err)
			}
		}
	})
	t.Run("ReportsEverythingAtOnce", func(t *testing.T) {
		t.Parallel()
		got, err := environment{
			"TIDEMARK_ARCHIVE_SECRET_KEY": "x", "TIDEMARK_OBJECT_LOCK": "1s", "TIDEMARK_KEEP_LATS": "1",
		}.loadArchivist()
		refused(t, err, "TIDEMARK_TARGET_ID is not set", "TIDEMARK_ARCHIVE is not set", "TIDEMARK_TRUSTED_KEYS is not set",
			"TIDEMARK_ARCHIVE_SECRET_KEY and TIDEMARK_ARCHIVE_ACCESS_KEY belong together", "TIDEMARK_OBJECT_LOCK",
			"did you mean TIDEMARK_KEEP_LAST?")
		if diff := cmp.Diff(config.Archivist{}, got); diff != "" {
			t.Error("a refused environment is returned: " + diff)
		}
	})
}

func TestLoadArchivistChecksWhatBelongsTogether(t *testing.T) {
	t.Parallel()
	minio := "=minio://store.example:9000/shop"
	for name, test := range map[string]struct {
		set  []string
		says string // empty: it is taken
	}{
		"KeysOfS3": {[]string{"TIDEMARK_ARCHIVE_ACCESS_KEY=a", "TIDEMARK_ARCHIVE_SECRET_KEY=b"}, ""},
		"AnAccessKeyAlone": {
			[]string{"TIDEMARK_ARCHIVE_ACCESS_KEY=a"},
			"TIDEMARK_ARCHIVE_SECRET_KEY and TIDEMARK_ARCHIVE_ACCESS_KEY belong together",
		},
		"ASecretKeyAlone": {
			[]string{"TIDEMARK_ARCHIVE_SECRET_KEY=a"},
			"TIDEMARK_ARCHIVE_SECRET_KEY and TIDEMARK_ARCHIVE_ACCESS_KEY belong together",
		},
		"MinioWithoutKeys": {[]string{"TIDEMARK_ARCHIVE" + minio}, "TIDEMARK_ARCHIVE is a minio:// store: set both"},
		"ASecondMinioWithoutKeys": {
			[]string{"TIDEMARK_ARCHIVE_SECONDARY" + minio, "TIDEMARK_ARCHIVE_ACCESS_KEY=a", "TIDEMARK_ARCHIVE_SECRET_KEY=b"},
			"TIDEMARK_ARCHIVE_SECONDARY is a minio:// store: set both",
		},
		"AFolderWithKeys": {
			[]string{"TIDEMARK_ARCHIVE=file:///a", "TIDEMARK_ARCHIVE_ACCESS_KEY=a", "TIDEMARK_ARCHIVE_SECRET_KEY=b"},
			"TIDEMARK_ARCHIVE is a folder: take it away",
		},
		"TwoPlaces": {[]string{"TIDEMARK_ARCHIVE_SECONDARY=s3://shop-backups/other?region=eu-central-1"}, ""},
		"OnePlaceTwice": {
			[]string{"TIDEMARK_ARCHIVE_SECONDARY=s3://shop-backups/tidemark/?region=eu-central-1&path_style=true"},
			"TIDEMARK_ARCHIVE_SECONDARY is the same place as TIDEMARK_ARCHIVE: name another",
		},
		"APlaceWithin": {
			[]string{"TIDEMARK_ARCHIVE_SECONDARY=s3://shop-backups/tidemark/second?region=eu-central-1"},
			"TIDEMARK_ARCHIVE_SECONDARY lies within the other place",
		},
		"APolicyThatKeepsNothing": {
			[]string{
				"TIDEMARK_KEEP_LAST=0", "TIDEMARK_KEEP_WITHIN=0", "TIDEMARK_KEEP_DAILY=0", "TIDEMARK_KEEP_WEEKLY=0",
				"TIDEMARK_KEEP_MONTHLY=0",
			},
			"TIDEMARK_MIN_VERIFIED stands alone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := archivist(test.set...).loadArchivist()
			if test.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, err, test.says)
		})
	}
}

func TestSecretsOfAnArchiveAreNeverShown(t *testing.T) {
	t.Parallel()
	t.Run("InValues", func(t *testing.T) {
		t.Parallel()
		got, err := archivist("TIDEMARK_ARCHIVE_ACCESS_KEY=hunter", "TIDEMARK_ARCHIVE_SECRET_KEY=sesame",
			"TIDEMARK_ARCHIVE_SECONDARY=s3://other?region=r", "TIDEMARK_ARCHIVE_SECONDARY_ACCESS_KEY=tr0ub4dor",
			"TIDEMARK_ARCHIVE_SECONDARY_SECRET_KEY="+torn).loadArchivist()
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []any{got, &got, got.Archive, got.Archive.PrimaryLogin, []any{got}} {
			searchValue(t, value)
		}
	})
	t.Run("InErrors", func(t *testing.T) {
		t.Parallel()
		count := 0
		for _, name := range []string{
			"TIDEMARK_ARCHIVE", "TIDEMARK_ARCHIVE_SECONDARY", "TIDEMARK_ARCHIVE_ACCESS_KEY", "TIDEMARK_ARCHIVE_SECRET_KEY",
			"TIDEMARK_ARCHIVE_SECONDARY_ACCESS_KEY", "TIDEMARK_ARCHIVE_SECONDARY_SECRET_KEY", "TIDEMARK_SIGNING_KEYS",
			"TIDEMARK_AGE_RECIPIENTS", "TIDEMARK_ARCHIV",
		} {
			for _, form := range []string{
				"%", "s3://%@shop/p?region=r", "s3://u:%@shop?region=r", "s3://%/p?region=r", "s3://shop/%?region=r", "s3://shop?region=r&%",
				"s3://shop?region=r&secret_key=%", "s3://shop?region=r&endpoint=https://%@h", "s3://shop?region=r&path_style=%",
				"s3://shop?region=r#%", "minio://u:%@h/shop", "minio://h/shop?%=1", "file://%", "file:///a?%", "awskms: %", "x:%",
				"-----BEGIN PRIVATE KEY-----\n%", "AGE-SECRET-KEY-1%", "age1,%", "% ", "%\x00",
			} {
				for _, value := range []string{torn, "hunter sesame", "hunter\nsesame", "hunter%zztr0ub4dor"} {
					_, err := archivist(name + "=" + strings.Replace(form, "%", value, 1)).loadArchivist()
					if err != nil {
						count++
						searchError(t, err)
					}
				}
			}
		}
		if count < 400 {
			t.Errorf("%d errors were searched: most values were taken", count)
		}
	})
}
