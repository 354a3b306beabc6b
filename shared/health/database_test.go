package health_test

import (
	"context"
	"errors"
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/health"
	"tidemark/shared/manifest/body"
)

// stub is a database that shows one content.
type stub struct {
	content backup.Content
	err     error
	closing error
	closed  int
}

func (s *stub) Snapshot(context.Context) (backup.Snapshot, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s, nil
}

func (s *stub) Content() backup.Content { return s.content }

func (s *stub) Reader(context.Context) (backup.Reader, error) {
	return nil, fault.New(fault.Bug, "a doctor reads no rows")
}

func (s *stub) Close(context.Context) error {
	s.closed++
	return s.closing
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*stub)
		check   string
		verdict health.Verdict
		part    string
		is      error
	}{
		"IsReadable":      {func(*stub) {}, "readable", health.Fine, "PostgreSQL 15, 1 tables of 4096 bytes", nil},
		"HasPages":        {func(*stub) {}, "pages", health.Fine, "1 of the tables", nil},
		"HasALedger":      {func(*stub) {}, "ledger", health.Fine, "version 3", nil},
		"IsLive":          {func(*stub) {}, "target", health.Fine, "life 1", nil},
		"IsCaptured":      {func(*stub) {}, "captured", health.Fine, "everything", nil},
		"IsAway":          {func(s *stub) { s.err = fault.New(fault.Retryable, "away").WithHint("wait") }, "readable", health.Failed, "wait", nil},
		"HasAnOldLedger":  {func(s *stub) { s.content.Database.LedgerVersion = 2 }, "ledger", health.Failed, "tidemark migrate", nil},
		"HasANewerLedger": {func(s *stub) { s.content.Database.LedgerVersion = 4 }, "ledger", health.Failed, "release", nil},
		"IsNew":           {func(s *stub) { s.content.Life = backup.Life{State: "new"} }, "target", health.Failed, "tidemark init", nil},
		"IsHeld":          {func(s *stub) { s.content.Life.State = "held" }, "target", health.Failed, "held", nil},
		"IsAnotherTarget": {func(s *stub) { s.content.Life.TargetID = "other" }, "target", health.Failed, "other", apply.ErrOtherTarget},
		"IsNotCaptured": {
			func(s *stub) { s.content.Uncaptured = []string{"a", "b"} }, "captured", health.Failed, "bring back: b",
			backup.ErrUncaptured,
		},
		"IsNotCapturedAsAllowed": {func(s *stub) { s.content.Uncaptured = []string{"a"} }, "captured", health.Fine, "as was allowed: a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stub{content: backup.Content{
				Life:     backup.Life{TargetID: writertest.Target, Lineage: 1, State: "live"},
				Database: body.Snapshot{ServerVersion: 150018, LedgerVersion: 3, LedgerSchema: "tidemark"},
				Tables:   []backup.Table{{Bytes: 4096}},
			}}
			c.change(s)
			found := health.Database{
				Source: s, Target: writertest.Target, LeastLedger: 3, MostLedger: 3, AllowUncaptured: []string{"a"},
			}.Examine(t.Context())
			if f := expect(t, found, c.check, c.verdict, c.part); c.is != nil && !errors.Is(f.Err, c.is) {
				t.Errorf("got %v, want %v", f.Err, c.is)
			}
			if s.err == nil && s.closed != 1 {
				t.Errorf("closed %d times: the server keeps dead rows for an open snapshot", s.closed)
			}
		})
	}
}
