package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"tidemark/shared/expiry"
)

// expiryJSON is the report's form for programs. Its names stay.
type expiryJSON struct {
	Confirmed bool           `json:"confirmed"`
	Manifests []decisionJSON `json:"manifests"`
	Locked    []string       `json:"locked"` // manifests that go once their lock ends
	Places    []sweepJSON    `json:"places"`
	Warnings  []string       `json:"warnings"`
}

type decisionJSON struct {
	Manifest string    `json:"manifest"`
	Run      string    `json:"run"`
	Created  time.Time `json:"created"`
	State    string    `json:"state"` // verified, revoked, unusable
	Kept     bool      `json:"kept"`  // marked by an operator
	Problem  string    `json:"problem,omitempty"`
	Expires  bool      `json:"expires"`
	Reasons  []string  `json:"reasons"`
}

type sweepJSON struct {
	Place   string `json:"place"`
	Named   int    `json:"named"`
	Bytes   int64  `json:"bytes,string"`
	Removed int    `json:"removed"`
	Spared  int    `json:"spared"`
	Locked  int    `json:"locked"`
	Waiting int    `json:"waiting"`
}

// ExpiryJSON prints the report of an expiry for programs.
func ExpiryJSON(out io.Writer, report expiry.Report) error {
	form := expiryJSON{
		Confirmed: report.Confirmed, Manifests: []decisionJSON{}, Places: []sweepJSON{}, Warnings: append([]string{}, report.Warnings...),
	}
	for _, d := range report.Decisions {
		m := d.Manifest
		form.Manifests = append(form.Manifests, decisionJSON{
			Manifest: fmt.Sprintf("%s/%d", m.Lineage, m.Seq), Run: m.RunID.String(), Created: m.Created.UTC(), State: state(d), Kept: m.Kept,
			Problem: d.Problem, Expires: !d.Keep, Reasons: reasons(d),
		})
	}
	for _, s := range report.Sweeps {
		form.Places = append(form.Places, sweepJSON{
			Place: s.Place, Named: len(s.Named), Bytes: s.Bytes, Removed: len(s.Removed), Spared: len(s.Spared), Locked: len(s.Locked),
			Waiting: s.Waiting,
		})
	}
	return WriteJSON(out, form)
}

// WriteJSON writes a form for programs.
func WriteJSON(out io.Writer, form any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(form)
}
