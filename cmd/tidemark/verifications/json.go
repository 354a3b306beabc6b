package verifications

import (
	"fmt"
	"io"
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/fault"
	"tidemark/shared/wiring"
)

// findingJSON is a finding's form for programs. Its names stay.
type findingJSON struct {
	Manifest string                 `json:"manifest"`
	Run      string                 `json:"run"`
	Level    string                 `json:"level"`
	Sample   string                 `json:"sample"` // share of the objects whose bytes were to be read
	Seed     string                 `json:"seed"`
	Places   []string               `json:"places"`
	Begun    time.Time              `json:"begun"`
	Ended    time.Time              `json:"ended"`
	Looked   verification.Looked    `json:"looked"`
	Verdict  string                 `json:"verdict"` // verified, failed, unfinished
	Reason   string                 `json:"reason,omitempty"`
	Problems []verification.Problem `json:"problems"`
	Warnings []string               `json:"warnings"`
	Tables   []tableJSON            `json:"tables"` // that were read as a whole
	Report   string                 `json:"report,omitempty"`
	Stored   []string               `json:"report_in"`
}

type tableJSON struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

func (all findings) printJSON(out io.Writer) error {
	form := struct {
		Manifests []findingJSON `json:"manifests"`
		Warnings  []string      `json:"warnings"`
	}{[]findingJSON{}, append([]string{}, all.warnings...)}
	for _, f := range all.list {
		form.Manifests = append(form.Manifests, f.form())
	}
	return report.WriteJSON(out, form)
}

func (f finding) form() findingJSON {
	said := wiring.Attested(f.outcome, f.subject)
	form := findingJSON{
		Manifest: fmt.Sprintf("%s/%d", f.Lineage, f.Seq), Run: f.Run.String(), Level: said.Level, Sample: f.outcome.Share.String(),
		Seed: said.Seed, Places: append([]string{}, said.Places...), Begun: f.begun, Ended: f.ended, Looked: said.Looked,
		Verdict: said.Verdict, Problems: append([]verification.Problem{}, said.All.Problems...), Tables: []tableJSON{},
		Warnings: append(append(append([]string{}, said.All.Warnings...), f.written.Warnings...), f.Ignored...),
		Stored:   append([]string{}, f.written.Places...),
	}
	if f.outcome.Unread > 0 {
		form.Reason = report.OneLine(fault.Line(f.outcome.Reason))
	}
	if len(f.written.Places) > 0 {
		form.Report = f.written.Key
	}
	for _, t := range f.Body.Tables {
		if digest, whole := f.outcome.Tables[t.Name]; whole {
			form.Tables = append(form.Tables, tableJSON{t.Schema, t.Name.Name, digest.String()})
		}
	}
	return form
}
