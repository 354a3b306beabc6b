package command_test

import (
	"testing"
	"time"

	"tidemark/shared/archive/layout"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
)

// TestVacancy is about names that are taken: a target that begins must not go live beside one that is recovered.
func TestVacancy(t *testing.T) {
	t.Parallel()
	t.Run("InitRefusesAnArchiveThatHoldsALife", func(t *testing.T) {
		t.Parallel()
		a := newArchivist(t).mirrored()
		a.backUp(1, 1, a.primary)
		a.backUp(1, 1, a.secondary)
		a.env["TIDEMARK_DATABASE_URL"] = postgrestest.Empty(t).URL
		a.expect(0, nil, "migrate")
		a.expect(15, []string{"identity_mismatch", "primary bucket", "tidemark recover", "another prefix"}, "init")
		primary := a.env["TIDEMARK_ARCHIVE"]
		a.env["TIDEMARK_ARCHIVE"] = "file://" + t.TempDir()
		a.expect(15, []string{"identity_mismatch", "secondary bucket"}, "init")
		a.env["TIDEMARK_ARCHIVE_SECONDARY"] = "file:///none/archive"
		a.expect(20, []string{"/none/archive"}, "init")
		a.env["TIDEMARK_ARCHIVE_SECONDARY"] = ""
		a.expect(0, []string{"is live"}, "init")
		a.env["TIDEMARK_ARCHIVE"] = primary // its own backups do not make a live target new
		a.expect(0, []string{"was live already"}, "init")
	})
	t.Run("InitSaysThatNobodyLooked", func(t *testing.T) {
		t.Parallel()
		o := newOperator(t, postgrestest.Empty(t))
		o.must(0, nil, "migrate")
		o.must(0, []string{"TIDEMARK_ARCHIVE is not set", "was not checked", "is live"}, "init")
	})
	t.Run("MigrateLeavesARecoveryAlone", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		at, err := address.Parse(db.URL, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		const run manifest.RunID = "00000000-0000-4000-8000-0000000000aa"
		err = restore.New(at, restore.Options{LedgerSchema: postgrestest.Schema, LedgerTo: 1000}).Claim(t.Context(), recovery.Try{
			RunID: run, TargetID: "shop", Lineage: 2, Incarnation: life(2), Base: layout.ID{Lineage: 1, Seq: 7, Run: run},
			Statement: manifest.DigestOf([]byte("statement")), Ends: body.Cut{{Flow: "shop", Topic: "orders", NextOffset: 99}},
			Began: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Actor: "ops",
		})
		if err != nil {
			t.Fatal(err)
		}
		newOperator(t, db).must(11, []string{"held_by_another", run.String(), "tidemark recover"}, "migrate")
	})
}
