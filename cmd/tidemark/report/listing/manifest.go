// Package listing owns how manifests are shown: which there are, what is in one, what changed between two. Names that stand in
// them are anybody's text and never reach a terminal as they are. It reads nothing and judges nothing. No state.
package listing

import (
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// Manifest is a manifest as far as it could be read and verified.
type Manifest struct {
	history.Manifest

	Body    body.Body
	Objects []manifest.Object // everything that it refers to; none when the body could not be read
	Problem error             // why it cannot be used
	Log     Log

	Report  *verification.Report // the newest one that counts; nil without one
	Ignored []string             // reports that count for nothing
}

// IsRead says whether the body was read and is the one that was signed.
func (m Manifest) IsRead() bool { return len(m.Objects) > 0 }

func (m Manifest) bytes() (stored int64) {
	for _, object := range m.Objects {
		stored += object.Size
	}
	return stored
}

// created is when the state that it shows was taken; of one whose statement cannot be believed, when the store got it.
func (m Manifest) created() time.Time {
	if m.Statement.Seq > 0 {
		return m.Statement.Created.UTC()
	}
	return m.Copies[0].StoredAt.UTC()
}

// verdict is one word for programs.
func (m Manifest) verdict() string {
	switch {
	case m.Revoked:
		return "revoked"
	case m.Problem != nil:
		return "unusable"
	}
	return "verified"
}

// state is the verdict for a person, with the reason.
func (m Manifest) state() string {
	state := m.verdict()
	if state == "unusable" {
		state = report.FirstLine(m.Problem)
	}
	if m.Late() {
		state += ", late"
	}
	if m.Kept {
		state += ", kept"
	}
	return state
}
