//go:build integration

package wiring_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"tidemark/localstack/minio"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/wiring"
)

// TestAFirstBackupFromTheEnvironment goes from variables to a backup in a real store, by each of its two clients, and back.
func TestAFirstBackupFromTheEnvironment(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	server, err := minio.Start(ctx, minio.Options{TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := server.NewBucket(ctx, "shop", minio.BucketOptions{Locked: true}); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{
		"minio": fmt.Sprintf("minio://%s/shop/by-minio", server.Endpoint()),
		"s3":    fmt.Sprintf("s3://shop/by-s3?region=us-east-1&endpoint=https://%s&path_style=true", server.Endpoint()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			local := settings(t)
			second, mark := t.TempDir(), filepath.Join(t.TempDir(), "newest.json")
			env := map[string]string{
				"TIDEMARK_TARGET_ID": "shop", "TIDEMARK_ARCHIVE": address, "TIDEMARK_ARCHIVE_ACCESS_KEY": server.AccessKey(),
				"TIDEMARK_ARCHIVE_SECRET_KEY": server.SecretKey(), "TIDEMARK_ARCHIVE_CA_FILE": server.CAFile(),
				"TIDEMARK_ARCHIVE_SECONDARY": "file://" + second, "TIDEMARK_TRUSTED_KEYS": local.TrustedKeys,
				"TIDEMARK_SIGNING_KEYS": local.SigningKeys[0].File, "TIDEMARK_HIGH_WATER": "file://" + mark, "TIDEMARK_OBJECT_LOCK": "1h",
			}
			c, err := config.LoadArchivist(func(name string) (string, bool) { value, ok := env[name]; return value, ok }, nil)
			if err != nil {
				t.Fatal(err)
			}
			a, err := wiring.OpenArchive(ctx, c.Archive, c.TargetID)
			if err != nil {
				t.Fatal(err)
			}
			w, err := wiring.Writer(ctx, c.Archive, a, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			committed := backUp(ctx, t, w)
			if committed.Copies != 2 || len(committed.Warnings) > 0 {
				t.Errorf("got %+v", committed)
			}
			if err := a.Primary().Delete(ctx, layout.Manifest(committed.ID)); !errors.Is(err, archive.ErrLocked) {
				t.Errorf("the manifest is not locked: %v", err)
			}
			found, err := wiring.HighWater(ctx, c.Archive)
			if err != nil {
				t.Fatal(err)
			}
			seen, err := found.Load(ctx)
			if err != nil {
				t.Fatal(err)
			}
			h, err := history.Read(ctx, a)
			if err != nil {
				t.Fatal(err)
			}
			choice, err := h.Choose(ctx, history.Request{Mark: seen})
			if err != nil || choice.Manifest.ID != committed.ID || !choice.FreshnessProven {
				t.Errorf("got %v, %v, proven %t", choice.Manifest.ID, err, choice.FreshnessProven)
			}
		})
	}
}

func backUp(ctx context.Context, t *testing.T, w writer.Options) writer.Committed {
	t.Helper()
	run, err := writer.Begin(ctx, w, notice.Run{
		Lineage: 1, RunID: "11111111-0000-4000-8000-000000000001", Seq: 1, Life: "00000000-0000-4000-8000-000000000001", Attempt: 1,
		Actor: "test", Tool: "test",
	})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	committed, err := run.Commit(ctx, body.Body{
		Snapshot: body.Snapshot{
			SystemIdentifier: "7000000000000000001", Database: "shop", ServerVersion: 150018, Encoding: "UTF8", LedgerSchema: "tidemark",
			LedgerVersion: 2, LSN: "0/16B3748", Taken: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
		},
	})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return committed
}
