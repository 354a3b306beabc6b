// Package attestation owns the signed reports on manifests: how one is written, and which one counts.
//
// A report stands beside the manifests, create-only, in every bucket that lists the manifest; what has no room in it stands in
// a second document, which it names by its digest and which is written before it. Reports decide nothing about a recovery. The
// newest one that verifies counts: it is signed by a trusted key, and about the statement of the manifest that its key names.
// The package refuses to write what readers would not believe; what does not verify counts for nothing and is named. It deletes
// nothing. No state.
package attestation

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/layout/verified"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/signing"
)

// Options says in which archive, and who attests.
type Options struct {
	Archive *archive.Archive
	Now     func() time.Time
	Signers []signing.Signer
}

// Finding is what is attested of a manifest. What names the manifest and the report is filled in.
type Finding struct {
	verification.Report

	All verification.Detail // problems, warnings and digests of tables
}

// Written is where a report stands.
type Written struct {
	Key      string
	Places   []string // that have it, also when there is an error
	Warnings []string // of places that list the manifest and did not take it
}

// maxActor is as much of a name as a report takes.
const maxActor = 200

// maxProblems is the most that a detail tells one by one.
const maxProblems = 20_000

// Write signs a report on a manifest and stores it in every place that lists the manifest: the first must take it.
//
// Errors: fault.Misconfigured without a signing key that readers believe; fault.Bug for a report that says nothing; the store's.
func Write(ctx context.Context, o Options, m history.Manifest, r Finding) (Written, error) {
	if len(o.Signers) == 0 {
		return Written{}, fault.New(fault.Misconfigured, "report on manifest %s: there is no signing key", m.ID).
			WithHint("set TIDEMARK_SIGNING_KEYS to a key that is among the trusted keys, or give --no-report")
	}
	v := r.Report
	v.Version, v.TargetID, v.Statement, v.ReportID = document.Version, o.Archive.Target, m.Digest, newID(o.Now())
	v.Lineage, v.Seq, v.RunID = m.Lineage, m.Seq, m.Run
	v.Actor = cmp.Or(short(v.Actor, maxActor), "unknown")
	written := Written{Key: verified.Report(m.ID, v.ReportID)}
	detail, err := attach(&v, r.All)
	if err != nil {
		return written, fault.New(fault.Bug, "report on manifest %s: %w", m.ID, err)
	}
	payload, err := encode(v)
	if err != nil {
		return written, fault.New(fault.Bug, "report on manifest %s: %w", m.ID, err)
	}
	envelope, err := o.Archive.Trusted.Seal(ctx, v.Ended, o.Now(), verification.Type, payload, o.Signers...)
	if err != nil {
		return written, fmt.Errorf("report on manifest %s: %w", m.ID, err)
	}
	for _, c := range m.Copies {
		err := archive.Put(ctx, c.Place, verified.Detail(written.Key), detail)
		if err == nil {
			err = archive.Put(ctx, c.Place, written.Key, envelope)
		}
		switch {
		case err == nil:
			written.Places = append(written.Places, c.Place.Name)
		case len(written.Places) == 0:
			return written, fmt.Errorf("report on manifest %s to the %s bucket: %w", m.ID, c.Place.Name, err)
		default:
			written.Warnings = append(written.Warnings, fmt.Sprintf("the %s bucket did not take the report: %s", c.Place.Name, fault.Line(err)))
		}
	}
	return written, nil
}

// attach gives what stands beside a report, and names it there.
func attach(v *verification.Report, all verification.Detail) ([]byte, error) {
	all.Version, all.ReportID = document.Version, v.ReportID
	v.Problems, v.Warnings, v.First = int64(len(all.Problems)), int64(len(all.Warnings)), nil
	for _, p := range all.Problems[:min(len(all.Problems), verification.MaxFirst)] {
		v.First = append(v.First, short(fmt.Sprintf("%s %s: %s", p.Place, p.Key, p.What), verification.MaxFirstText))
	}
	v.Reason = short(v.Reason, verification.MaxFirstText)
	all.Left = int64(max(0, len(all.Problems)-maxProblems))
	all.Problems = slices.Clone(all.Problems[:len(all.Problems)-int(all.Left)])
	for i := range all.Problems {
		all.Problems[i].What = strings.ToValidUTF8(all.Problems[i].What, "?") // a store may have said it
	}
	encoded, err := notice.Encode(all)
	v.Detail = &verification.Attachment{Digest: manifest.DigestOf(encoded), Size: int64(len(encoded))}
	return encoded, err
}

// encode writes a report. A problem that has no room there stands in the detail alone.
func encode(v verification.Report) ([]byte, error) {
	for {
		payload, err := notice.Encode(v)
		if err != nil || len(payload) <= manifest.MaxStatement || len(v.First) == 0 {
			return payload, err
		}
		v.First = v.First[:len(v.First)-1]
	}
}

// short is a text that stands as it is in JSON and in a line of a log, cut where it is too long.
func short(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return ' '
		}
		return r
	}, text)
	return strings.TrimSpace(text[:min(len(text), most)])
}

// newID is a UUID of version 7: it begins with the time, so that keys sort as reports came.
func newID(now time.Time) manifest.RunID {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // it never fails
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16|uint64(b[6])<<8|uint64(b[7]))
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return manifest.RunID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// sighting is a report as the listings show it.
type sighting struct {
	report manifest.RunID
	stored time.Time // when the first place got it
	places []archive.Place
}

// Reports are those that the listings of an archive show.
type Reports struct {
	archive *archive.Archive
	found   map[layout.ID][]*sighting // the newest first
}

// List lists the reports of every place that answers. Places that do not are named in warnings: whoever asks has listed the
// manifests before, and has met the same silence there.
func List(ctx context.Context, a *archive.Archive) (reports *Reports, warnings []string, err error) {
	reports = &Reports{archive: a, found: map[layout.ID][]*sighting{}}
	for _, place := range a.Places {
		if failed := reports.list(ctx, place); failed != nil {
			warnings = append(warnings, fmt.Sprintf("list reports of the %s bucket: %s", place.Name, fault.Line(failed)))
		}
	}
	for _, all := range reports.found {
		slices.SortFunc(all, func(a, b *sighting) int { return cmp.Compare(b.report, a.report) })
	}
	if ctx.Err() != nil {
		return nil, nil, fault.New(fault.Retryable, "list reports: %w", context.Cause(ctx))
	}
	return reports, warnings, nil
}

func (r *Reports) list(ctx context.Context, place archive.Place) error {
	for info, err := range place.List(ctx, verified.Folder) {
		if err != nil {
			return err
		}
		id, report, isDetail, ok := verified.Parse(info.Key)
		if !ok || isDetail {
			continue
		}
		at := slices.IndexFunc(r.found[id], func(s *sighting) bool { return s.report == report })
		if at < 0 {
			r.found[id] = append(r.found[id], &sighting{report: report, stored: info.StoredAt})
			at = len(r.found[id]) - 1
		}
		s := r.found[id][at]
		s.places = append(s.places, place)
		if info.StoredAt.Before(s.stored) {
			s.stored = info.StoredAt
		}
	}
	return nil
}

// Newest gives the newest report on a manifest that verifies, nil when there is none, and names those that count for nothing.
func (r *Reports) Newest(ctx context.Context, m history.Manifest) (v *verification.Report, warnings []string) {
	return r.newest(ctx, m, func(verification.Report) bool { return true })
}

// Rehearsed gives the newest report of a rehearsal of a manifest that found it good, nil when there is none.
func (r *Reports) Rehearsed(ctx context.Context, m history.Manifest) *verification.Report {
	v, _ := r.newest(ctx, m, func(v verification.Report) bool { return v.Rehearsal != nil && v.Verdict == "verified" })
	return v
}

func (r *Reports) newest(ctx context.Context, m history.Manifest, is func(verification.Report) bool) (*verification.Report, []string) {
	var warnings []string
	for _, s := range r.found[m.ID] {
		for _, place := range s.places {
			read, err := r.read(ctx, m, s, place)
			switch {
			case err == nil && is(read):
				return &read, warnings
			case err != nil:
				warnings = append(warnings,
					fmt.Sprintf("report %s on %s of the %s bucket counts for nothing: %s", s.report, m.ID, place.Name, fault.Line(err)))
				continue
			}
			break // another place has the same one
		}
	}
	return nil, warnings
}

func (r *Reports) read(ctx context.Context, m history.Manifest, s *sighting, place archive.Place) (v verification.Report, err error) {
	envelope, err := place.Read(ctx, verified.Report(m.ID, s.report), archive.Span{Limit: signing.MaxEnvelope})
	switch {
	case errors.Is(err, archive.ErrTooLarge):
		return v, fault.New(fault.Corrupt, "read it: %w", err)
	case err != nil:
		return v, err
	}
	opened, err := r.archive.Trusted.Open(verification.Type, envelope)
	if err != nil {
		return v, err
	}
	if err := notice.Decode("report", opened.Payload, &v); err != nil {
		return v, err
	}
	if v.TargetID != r.archive.Target || v.ID() != m.ID || v.ReportID != s.report || v.Statement != m.Digest {
		return v, fault.New(fault.Corrupt, "it is report %s on manifest %s of %s with another statement or key", v.ReportID, v.ID(), v.TargetID)
	}
	return v, opened.JudgeAt(v.Ended, s.stored)
}

// Detail reads what a report names beside itself, from the first place that has it whole.
//
// Errors: fault.Corrupt when none has; the store's.
func Detail(ctx context.Context, a *archive.Archive, v verification.Report) (all verification.Detail, err error) {
	if v.Detail == nil {
		return all, nil
	}
	key := verified.Detail(verified.Report(v.ID(), v.ReportID))
	var reasons []error
	for _, place := range a.Places {
		encoded, err := place.Read(ctx, key, archive.Span{Limit: v.Detail.Size})
		if err == nil && manifest.DigestOf(encoded) != v.Detail.Digest {
			err = fault.New(fault.Corrupt, "it is not what the report names")
		}
		if err == nil {
			return all, notice.Decode("detail", encoded, &all)
		}
		reasons = append(reasons, fmt.Errorf("read %s of the %s bucket: %w", key, place.Name, err))
	}
	return all, fault.New(fault.Corrupt, "%w", errors.Join(reasons...))
}
