package listing

import (
	"io"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// PrintJSON prints it for programs.
func (m Manifests) PrintJSON(out io.Writer) error {
	form := struct {
		Manifests []manifestJSON `json:"manifests"`
		Warnings  []string       `json:"warnings"`
	}{[]manifestJSON{}, append([]string{}, m.warnings()...)}
	for _, listed := range m.List {
		form.Manifests = append(form.Manifests, listed.form())
	}
	return report.WriteJSON(out, form)
}

// PrintJSON prints all that is known of it for programs: the documents are as they were verified.
func (m Manifest) PrintJSON(out io.Writer) error {
	form := struct {
		manifestJSON

		Statement *manifest.Statement `json:"statement"` // null when it cannot be believed
		Digest    manifest.Digest     `json:"statement_digest,omitempty"`
		Body      *body.Body          `json:"body"` // null when it cannot be read
	}{manifestJSON: m.form(), Digest: m.Digest}
	if m.Statement.Seq > 0 {
		form.Statement = &m.Statement
	}
	if m.IsRead() {
		form.Body = &m.Body
	}
	return report.WriteJSON(out, form)
}
