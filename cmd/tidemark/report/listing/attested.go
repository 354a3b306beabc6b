package listing

import (
	"fmt"
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/verify"
)

// attested is the newest report in short: how closely it was looked at, what was found unless all was well, and how long ago.
func (m Manifest) attested(now time.Time) string {
	if m.Report == nil {
		return "-"
	}
	text := m.Report.Level
	if m.Report.IsSample() {
		text += " of " + verify.Share(m.Report.Share).String()
	}
	if m.Report.Verdict != string(verify.Verified) {
		text = m.Report.Verdict + ", " + text
	}
	return fmt.Sprintf("%s, %s ago", text, report.Age(now.Sub(m.Report.Ended)))
}

// reportJSON is a report's form for programs. Its names stay.
type reportJSON struct {
	Report   string    `json:"report"`
	Level    string    `json:"level"`
	Sample   string    `json:"sample"` // share of the objects whose bytes were to be read
	Verdict  string    `json:"verdict"`
	Problems int64     `json:"problems,string"`
	Ended    time.Time `json:"ended"`
	Actor    string    `json:"actor"`
}

func (m Manifest) reportForm() *reportJSON {
	r := m.Report
	if r == nil {
		return nil
	}
	return &reportJSON{r.ReportID.String(), r.Level, verify.Share(r.Share).String(), r.Verdict, r.Problems, r.Ended, r.Actor}
}

// warnings are the archive's and those about reports.
func (m Manifests) warnings() []string {
	all := append([]string{}, m.Warnings...)
	for _, listed := range m.List {
		all = append(all, listed.Ignored...)
	}
	return all
}
