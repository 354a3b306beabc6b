package attestation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/attestation"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout/verified"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/signing"
)

// lone is a world with one manifest.
type lone struct {
	*writertest.World
	archive  *archive.Archive
	manifest history.Manifest
}

func alone(t *testing.T) lone {
	t.Helper()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"one"}, Next: 1})
	l := lone{World: w, archive: w.Archive(t)}
	h, err := history.Read(t.Context(), l.archive)
	if err != nil {
		t.Fatal(err)
	}
	if l.manifest, err = h.Open(t.Context(), h.Entries[0]); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l lone) options(signers ...signing.Signer) attestation.Options {
	if len(signers) == 0 {
		signers = []signing.Signer{l.Key}
	}
	return attestation.Options{Archive: l.archive, Now: l.Now, Signers: signers}
}

// report says that all is well.
func (l lone) report() attestation.Finding {
	return attestation.Finding{Report: verification.Report{
		Level: "hash", Share: 1_000_000, Seed: "0000000000000007", Verdict: "verified", Begun: l.Now(), Ended: l.Now(), Actor: "test", Tool: "test",
		Looked: verification.Looked{Objects: 2, Copies: 4, Found: 4, Read: 4, Rows: 1}, Places: []string{"primary", "secondary"},
	}}
}

func (l lone) write(t *testing.T, r attestation.Finding) attestation.Written {
	t.Helper()
	written, err := attestation.Write(t.Context(), l.options(), l.manifest, r)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return written
}

func (l lone) newest(t *testing.T) (*verification.Report, []string) {
	t.Helper()
	reports, warnings, err := attestation.List(t.Context(), l.archive)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return reports.Newest(t.Context(), l.manifest)
}

func TestReport(t *testing.T) {
	t.Parallel()
	t.Run("NewestCounts", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		if got, warnings := l.newest(t); got != nil || len(warnings) > 0 {
			t.Errorf("got %+v, %v", got, warnings)
		}
		l.write(t, l.report())
		l.Pass(time.Minute)
		failed := l.report()
		failed.Verdict = "failed"
		for i := range 7 {
			failed.All.Problems = append(failed.All.Problems, verification.Problem{Place: "primary", Key: fmt.Sprint("objects/", i), What: strings.Repeat("\"é\x1b", 300)})
		}
		written := l.write(t, failed)
		got, warnings := l.newest(t)
		if got == nil || got.Verdict != "failed" || got.Problems != 7 || len(got.First) == 0 || len(warnings) > 0 || len(written.Places) != 2 {
			t.Fatalf("got %+v, %v, %+v", got, warnings, written)
		}
		if size := len(content(t, l.Primary, written.Key)); size > signing.MaxEnvelope {
			t.Errorf("the envelope has %d bytes", size)
		}
		detail, err := attestation.Detail(t.Context(), l.archive, *got)
		if diff := cmp.Diff(failed.All.Problems, detail.Problems); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
	t.Run("ARehearsalIsFoundBehindOthers", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		rehearsed := l.report()
		rehearsed.Level, rehearsed.Rehearsal = "data", &verification.Rehearsal{Tables: manifest.DigestOf(nil), Took: 7}
		l.write(t, rehearsed)
		l.Pass(time.Minute)
		l.write(t, l.report())
		reports, _, err := attestation.List(t.Context(), l.archive)
		if err != nil {
			t.Fatal(err)
		}
		if got := reports.Rehearsed(t.Context(), l.manifest); got == nil || got.Rehearsal.Took != 7 {
			t.Errorf("got %+v", got)
		}
		if got, _ := l.newest(t); got == nil || got.Level != "hash" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("IsCopiedAsOtherNoticesAre", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		l.archive.Places = l.archive.Places[:1]
		l.manifest.Copies = l.manifest.Copies[:1]
		written := l.write(t, l.report())
		if err := mirror.Notices(t.Context(), archive.Place{Name: "primary", Bucket: l.Primary}, archive.Place{Name: "secondary", Bucket: l.Secondary}); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{written.Key, verified.Detail(written.Key)} {
			if diff := cmp.Diff(content(t, l.Primary, key), content(t, l.Secondary, key)); diff != "" {
				t.Error(diff)
			}
		}
	})
	t.Run("IsRefusedWithoutATrustedKey", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		o := l.options(writertest.NewKey(t, 2))
		if _, err := attestation.Write(t.Context(), o, l.manifest, l.report()); !fault.Is(err, fault.Misconfigured) || !errors.Is(err, signing.ErrUntrusted) {
			t.Errorf("got %v", err)
		}
		o.Signers = nil
		if _, err := attestation.Write(t.Context(), o, l.manifest, l.report()); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("got %v", err)
		}
		wrong := l.report()
		wrong.All.Problems = []verification.Problem{{What: "x"}} // and its verdict says that all is well
		if _, err := attestation.Write(t.Context(), l.options(), l.manifest, wrong); !fault.Is(err, fault.Bug) {
			t.Errorf("got %v", err)
		}
		for info, err := range l.Primary.List(t.Context(), verified.Folder) {
			t.Errorf("%s was written, %v", info.Key, err)
		}
	})
}

// What does not verify counts for nothing, and the one before it does.
func TestReportOfOthersCountsForNothing(t *testing.T) {
	t.Parallel()
	const late = manifest.RunID("ffffffff-ffff-7fff-8fff-ffffffffffff")
	seal := func(t *testing.T, l lone, key writertest.Key, change func(*verification.Report)) []byte {
		t.Helper()
		v := l.report().Report
		v.Version, v.TargetID, v.Lineage, v.Seq, v.RunID = 1, writertest.Target, l.manifest.Lineage, l.manifest.Seq, l.manifest.Run
		v.Statement, v.ReportID = l.manifest.Digest, late
		change(&v)
		payload, err := notice.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		envelope, err := signing.Seal(t.Context(), verification.Type, payload, key)
		if err != nil {
			t.Fatal(err)
		}
		return envelope
	}
	nothing := func(*verification.Report) {}
	for name, envelope := range map[string]func(t *testing.T, l lone) []byte{
		"AStrangersKey": func(t *testing.T, l lone) []byte {
			t.Helper()
			return seal(t, l, writertest.NewKey(t, 9), nothing)
		},
		"Garbage":  func(*testing.T, lone) []byte { return []byte("garbage") },
		"TooLarge": func(*testing.T, lone) []byte { return make([]byte, signing.MaxEnvelope+1) },
		"AnotherReport": func(t *testing.T, l lone) []byte {
			t.Helper()
			return seal(t, l, l.Key, func(v *verification.Report) { v.ReportID = "ffffffff-ffff-7fff-8fff-fffffffffffe" })
		},
		"AnotherStatement": func(t *testing.T, l lone) []byte {
			t.Helper()
			return seal(t, l, l.Key, func(v *verification.Report) { v.Statement = manifest.DigestOf(nil) })
		},
		"AnotherTarget": func(t *testing.T, l lone) []byte {
			t.Helper()
			return seal(t, l, l.Key, func(v *verification.Report) { v.TargetID = "other" })
		},
		"AnotherManifest": func(t *testing.T, l lone) []byte {
			t.Helper()
			return seal(t, l, l.Key, func(v *verification.Report) { v.Seq = 9 })
		},
		"AStatement": func(_ *testing.T, l lone) []byte { return l.manifest.Envelope },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := alone(t)
			l.write(t, l.report())
			if err := l.Primary.Create(context.WithoutCancel(t.Context()), verified.Report(l.manifest.ID, late), envelope(t, l)); err != nil {
				t.Fatal(err)
			}
			got, warnings := l.newest(t)
			if got == nil || got.ReportID == late || len(warnings) != 1 || !strings.Contains(warnings[0], "counts for nothing") {
				t.Errorf("got %+v, %v", got, warnings)
			}
		})
	}
	t.Run("ButOneThatIsRight", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		if err := l.Primary.Create(t.Context(), verified.Report(l.manifest.ID, late), seal(t, l, l.Key, nothing)); err != nil {
			t.Fatal(err)
		}
		if got, warnings := l.newest(t); got == nil || got.ReportID != late || len(warnings) > 0 {
			t.Errorf("got %+v, %v", got, warnings)
		}
	})
	t.Run("NorADetailOfOthers", func(t *testing.T) {
		t.Parallel()
		l := alone(t)
		written := l.write(t, l.report())
		got, _ := l.newest(t)
		for _, bucket := range []archive.Bucket{l.Primary, l.Secondary} {
			if err := bucket.Delete(t.Context(), verified.Detail(written.Key)); err != nil {
				t.Fatal(err)
			}
			if err := bucket.Create(t.Context(), verified.Detail(written.Key), []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := attestation.Detail(t.Context(), l.archive, *got); !fault.Is(err, fault.Corrupt) {
			t.Errorf("got %v", err)
		}
	})
}

func content(t *testing.T, bucket archive.Bucket, key string) string {
	t.Helper()
	found, err := bucket.Read(t.Context(), key, archive.Span{Limit: notice.MaxSize})
	if err != nil {
		t.Fatal(err)
	}
	return string(found)
}
