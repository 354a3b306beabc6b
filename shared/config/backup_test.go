package config_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/config"
	"tidemark/shared/config/location"
	"tidemark/shared/secret"
)

// backing is the least environment of whoever makes backups, with changes in the form NAME=VALUE.
func backing(changes ...string) environment {
	e := archivist()
	e["TIDEMARK_DATABASE_URL"] = "postgres://tidemark@db.example.com/shop"
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		e[name] = value
	}
	return e
}

func (e environment) loadBackup() (config.Backup, error) {
	return config.LoadBackup(e.lookup, e.environ())
}

func backupLimits() []limit {
	return []limit{
		{"TIDEMARK_BACKUP_JOBS", []string{"", "1", "64"}, map[string]string{
			"0": "below the range", "65": "above the range", "-1": "below the range", "all": "whole number", "1.5": "whole number",
		}},
		{
			"TIDEMARK_ALLOW_UNCAPTURED",
			[]string{"", "publication shop", "function public.f(integer,text); large objects 2"},
			map[string]string{
				";": "before or behind a semicolon", "a;": "before or behind a semicolon", "a;;b": "before or behind a semicolon",
				" ": "before or behind a semicolon", "a;a": "twice", "a; a": "twice", "a\nb": "control character",
			},
		},
	}
}

func TestLoadBackup(t *testing.T) {
	t.Parallel()
	t.Run("KeepsLimits", func(t *testing.T) {
		t.Parallel()
		shared := slices.Concat(variableLimits(), archiveLimits())
		covered(t, slices.Concat(shared, backupLimits()), config.Backup{}.Settings())
		for _, l := range backupLimits() {
			for _, value := range l.takes {
				if _, err := backing(l.setting + "=" + value).loadBackup(); err != nil {
					t.Errorf("%s=%s: %v", l.setting, value, err)
				}
			}
			for value, why := range l.refuses {
				_, err := backing(l.setting + "=" + value).loadBackup()
				refused(t, err, l.setting, why, "; want ")
			}
		}
	})
	t.Run("DefaultsWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		got, err := backing().loadBackup()
		if err != nil {
			t.Fatal(err)
		}
		want := config.Backup{
			Process: config.Process{
				TargetID: "shop-prod", Database: secret.New("postgres://tidemark@db.example.com/shop?sslmode=verify-full"),
				LedgerSchema: "tidemark", ConnectTimeout: 5 * time.Second, LogLevel: slog.LevelInfo, SecretTTL: 5 * time.Minute,
			},
			Archive: config.Archive{
				Primary:     location.Place{Kind: location.S3, Bucket: "shop-backups", Prefix: "tidemark", Region: "eu-central-1"},
				TrustedKeys: "/etc/tidemark/trusted-keys.yaml", CompressionLevel: 1,
			},
			Jobs: 2,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("TakesWhatIsSet", func(t *testing.T) {
		t.Parallel()
		got, err := backing("TIDEMARK_BACKUP_JOBS=8", "TIDEMARK_ALLOW_UNCAPTURED= a b(c,d) ;e", "TIDEMARK_SIGNING_KEYS=awskms:alias/k").
			loadBackup()
		if err != nil {
			t.Fatal(err)
		}
		if got.Jobs != 8 || !slices.Equal(got.AllowUncaptured, []string{"a b(c,d)", "e"}) || got.Archive.SigningKeys[0].KMS != "alias/k" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("NeedsTheDatabaseAndTheArchive", func(t *testing.T) {
		t.Parallel()
		_, err := backing("TIDEMARK_TARGET_ID=", "TIDEMARK_DATABASE_URL=", "TIDEMARK_ARCHIVE=", "TIDEMARK_TRUSTED_KEYS=").loadBackup()
		refused(t, err, "TIDEMARK_TARGET_ID is not set", "TIDEMARK_DATABASE_URL is not set", "TIDEMARK_ARCHIVE is not set",
			"TIDEMARK_TRUSTED_KEYS is not set")
	})
	t.Run("LeavesVariablesOfOthersAlone", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"TIDEMARK_PARTIAL_REPLIES", "TIDEMARK_DATABASE_CONNECTIONS", "TIDEMARK_KEEP_LAST"} {
			if _, err := backing(name + "=whatever").loadBackup(); err != nil {
				t.Error(err)
			}
		}
		if _, err := minimal("TIDEMARK_BACKUP_JOBS=whatever").loadApply(); err != nil {
			t.Error(err)
		}
		_, err := backing("TIDEMARK_BACKUP_JOB=4").loadBackup()
		refused(t, err, "did you mean TIDEMARK_BACKUP_JOBS?")
	})
}
