package rehearsing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/shared/archive/attestation"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/rehearsal"
	"tidemark/shared/verify"
	"tidemark/shared/wiring"
)

// Attest signs what was found and stores it beside the manifest. Of a rehearsal that chose none there is nothing to attest.
//
// Errors: as attestation.Write's.
func (r *Rehearsal) Attest(ctx context.Context, o rehearsal.Outcome) (attestation.Written, error) {
	m := o.Plan.Choice.Manifest
	if m.Seq == 0 {
		return attestation.Written{}, nil
	}
	f := Finding(o)
	f.Actor, f.Tool = r.request.Actor, r.request.Tool
	return attestation.Write(ctx, r.attest, m, f)
}

// Finding is an outcome as it is signed. Reports are not encrypted: tables have their numbers in the manifest's body there.
func Finding(o rehearsal.Outcome) attestation.Finding {
	choice := o.Plan.Choice
	f := wiring.Attested(o.Archive, wiring.Subject(choice.Manifest, choice.Body, nil, ""))
	f.Level, f.Share, f.Verdict, f.Reason = string(verify.Data), int64(verify.All), string(o.Verdict()), ""
	f.Begun, f.Ended = document.Moment(o.Begun), document.Moment(o.Ended)
	differ := map[body.Name]bool{}
	for _, d := range o.Differences {
		text, number := numbered(d, choice.Body)
		f.All.Differences = append(f.All.Differences, text)
		switch {
		case d.Unwritten:
			f.All.Warnings = append(f.All.Warnings, text)
			continue
		case d.Table != nil:
			differ[d.Table.Table] = true
		}
		f.All.Problems = append(f.All.Problems, verification.Problem{Table: number, What: text})
	}
	switch why := stopped(o.Stopped); {
	case o.Stopped == nil:
	case o.Verdict() == verify.Failed && len(f.All.Problems) == 0:
		f.All.Problems = append(f.All.Problems, verification.Problem{What: why})
	case o.Verdict() == verify.Unfinished:
		f.Reason = why
	}
	if f.Verdict == string(verify.Unfinished) && f.Reason == "" {
		f.Reason = fmt.Sprintf("it ended without %v", o.Missing())
	}
	f.Rehearsal = &verification.Rehearsal{
		Took: o.Took.Milliseconds(), Point: document.Moment(o.Point), Age: o.Age().Milliseconds(), Replayed: o.Replayed(),
		Tables: o.Tables.Root(), Compared: int64(max(o.Compared, len(differ))), Differences: int64(len(differ)), Cut: o.CutDigest(),
	}
	return f
}

// stopped says what stopped a rehearsal without its words, in which names may stand.
func stopped(err error) string {
	if refused, ok := errors.AsType[*refusal.Error](err); ok {
		return "a recovery is refused: " + string(refused.Name)
	}
	return "it was stopped by an error of class " + fault.ClassOf(err).String()
}

// numbered is a difference with the table's number.
func numbered(d rehearsal.Difference, b body.Body) (text string, number int) {
	if d.Table == nil {
		return fmt.Sprintf("%s: a partition stands elsewhere", d.Phase), 0
	}
	number = 1 + slices.IndexFunc(b.Tables, func(t body.Table) bool { return t.Name == d.Table.Table })
	rows := func(side *int64) string {
		if side == nil {
			return "no table"
		}
		return fmt.Sprintf("%d rows", *side)
	}
	var want, got *int64
	if d.Table.Want != nil {
		want = &d.Table.Want.Rows
	}
	if d.Table.Got != nil {
		got = &d.Table.Got.Rows
	}
	text = fmt.Sprintf("%s: table %d has %s, want %s", d.Phase, number, rows(got), rows(want))
	if d.Unwritten {
		text += "; no flow writes it"
	}
	return text, number
}
