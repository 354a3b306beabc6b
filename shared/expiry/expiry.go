// Package expiry owns how backups leave an archive: which manifests go, and how the objects that nobody needs any more are
// swept so that no writer loses what it leans on.
//
// A manifest goes by the policy (package policy): its statement is removed from every bucket. Objects go in two phases. A
// sweep first names, create-only, what no manifest of either bucket refers to; a day of the store's clock later, after the
// manifests were read anew, those of them that are still without a reference are removed. Between the two every run that
// begins reads the name and stores the bytes in another form, and every run that began before has ended or is too old to
// count. Whatever cannot be read or verified stops everything: what it refers to is not known. It refuses to remove what is
// not Tidemark's, and anything at all when no manifest is left that verifies.
package expiry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/expiry/policy"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// Grace is how long an object stays after a sweep has named it, by the store's clock: twice as long as a run may live.
const Grace = 24 * time.Hour

// What nobody needs any more after so long, by the store's clock.
const (
	keepSweeps = 90 * 24 * time.Hour // the record of a sweep that has ended
	keepRuns   = 7 * 24 * time.Hour  // the record of a run that left no manifest
)

// Options says what is expired, and by whom.
type Options struct {
	Archive *archive.Archive
	Policy  policy.Policy
	Actor   string
	Now     func() time.Time
	// Replay says whether the log still holds what follows a manifest's cut; nil: nobody asked.
	Replay func(context.Context, history.Manifest) policy.ReplayState
}

// Report says what goes, or went.
type Report struct {
	Decisions []Decision
	Locked    []layout.ID   // manifests that go and whose statement retention holds in some bucket
	Sweeps    []SweepReport // one for each place
	Warnings  []string
	Confirmed bool
}

// Decision is what the policy says of a manifest.
type Decision struct {
	policy.Decision
	Problem string // why it does not count as verified
}

// Errors of an expiry.
var (
	// ErrUnreadable says that a manifest could not be read, so that nobody knows what it refers to.
	ErrUnreadable = errors.New("a manifest cannot be read or verified")
	// ErrNothingVerified says that nothing would be left to recover from.
	ErrNothingVerified = errors.New("no manifest verifies")
)

// Run decides by the policy and, when confirmed, removes what goes.
//
// Errors: ErrUnreadable and ErrNothingVerified, with the report so far; the stores' own. Running again goes on.
func Run(ctx context.Context, o Options, confirmed bool) (Report, error) {
	report := Report{Confirmed: confirmed}
	if err := o.Policy.Validate(); err != nil {
		return report, fault.Wrap(fault.Misconfigured, err)
	}
	survey := newSurvey(o)
	if err := survey.read(ctx); err != nil {
		return report, err
	}
	report.Warnings = survey.history.Warnings
	report.Decisions = survey.decide()
	if err := survey.sound(report.Decisions); err != nil {
		return report, err
	}
	if confirmed {
		var err error
		if report.Locked, err = survey.expire(ctx, report.Decisions); err != nil {
			return report, err
		}
	}
	for _, place := range o.Archive.Places {
		swept, err := survey.sweep(ctx, place, report.Decisions, confirmed)
		report.Sweeps = append(report.Sweeps, swept)
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// sound refuses to go on when what is referred to is not known, or when nothing would be left.
func (s *survey) sound(decisions []Decision) error {
	if len(s.unreadable) > 0 {
		return fault.New(fault.Corrupt, "%d of %d manifests, the newest %s: %w: %w", len(s.unreadable), len(s.history.Entries),
			s.unreadable[0].id, ErrUnreadable, s.unreadable[0].reason).
			WithHint("%s", s.unreadable[0].hint())
	}
	for _, d := range decisions {
		if d.Manifest.Verified && d.Keep {
			return nil
		}
	}
	return fault.New(fault.Corrupt, "look for what must stay: %w", ErrNothingVerified).
		WithHint("nothing is removed before there is a backup that verifies: check the archive's address, then tidemark backup")
}

// expire removes the statements of manifests that go, the oldest first, from every place, and gives those that are locked.
func (s *survey) expire(ctx context.Context, decisions []Decision) (locked []layout.ID, err error) {
	for _, d := range slices.Backward(decisions) {
		if d.Keep {
			continue
		}
		isLocked := false
		for _, place := range s.options.Archive.Places {
			err := place.Delete(ctx, layout.Manifest(idOf(d)))
			if err != nil && !errors.Is(err, archive.ErrLocked) {
				return locked, err
			}
			isLocked = isLocked || err != nil
		}
		if isLocked {
			locked = append(locked, idOf(d))
		}
	}
	return locked, nil
}

// unreadable is a manifest of which it is not known what it refers to.
type unreadable struct {
	id     layout.ID
	reason error
	opened bool // its statement verifies
}

// hint says what an operator can do about it.
func (u unreadable) hint() string {
	if u.id.Run.IsZero() {
		return "pin the key that signed " + layout.Lineage(u.id.Lineage) + "; if nobody recovered the target, remove that object"
	}
	return "mend it from the other bucket (tidemark copy), pin its key, or withdraw it: tidemark revoke " + u.id.Run.String() +
		" --reason …"
}

// survey is what is known of an archive's manifests.
type survey struct {
	options    Options
	history    *history.History
	stock      history.Stock
	unreadable []unreadable
	problems   map[layout.ID]error
	replay     map[layout.ID]policy.ReplayState
	refers     references
	digests    map[layout.ID]manifest.Digest // of the statements
	created    map[layout.ID]time.Time
	lives      map[manifest.Digest]bool // what the records of lives refer to
	inUse      map[manifest.Digest]bool // what anything refers to
}

func newSurvey(o Options) *survey {
	return &survey{options: o, refers: newReferences()}
}

// read reads every manifest of every place. It is called again for a fresh mark, and then reads only what is new.
func (s *survey) read(ctx context.Context) (err error) {
	if s.history, err = history.Read(ctx, s.options.Archive); err != nil {
		return err
	}
	if err := s.history.Reached(); err != nil {
		return fault.New(fault.ClassOf(err), "every bucket must answer, or what it refers to is not known: %w", err)
	}
	if s.stock, err = s.history.Stock(ctx); err != nil {
		return err
	}
	s.unreadable, s.problems, s.inUse = nil, map[layout.ID]error{}, map[manifest.Digest]bool{}
	s.replay, s.lives = map[layout.ID]policy.ReplayState{}, map[manifest.Digest]bool{}
	s.digests, s.created = map[layout.ID]manifest.Digest{}, map[layout.ID]time.Time{}
	for _, e := range s.history.Entries {
		if err := s.readManifest(ctx, e); err != nil {
			return err
		}
	}
	if err := s.forgetGone(ctx); err != nil {
		return err
	}
	s.forgetImpostors()
	defer func() { maps.Copy(s.inUse, s.lives) }()
	for _, life := range s.history.Lives {
		if life.Problem != nil {
			s.unreadable = append(s.unreadable, unreadable{layout.ID{Lineage: life.Lineage}, life.Problem, false})
		} else if life.Recovered != nil {
			s.lives[life.Recovered.Shared.Digest] = true
		}
	}
	return nil
}

func (s *survey) readManifest(ctx context.Context, e history.Entry) error {
	m, err := s.history.OpenRevoked(ctx, e)
	var objects []manifest.Object
	if err == nil {
		s.digests[e.ID], s.created[e.ID] = m.Digest, m.Statement.Created
		objects, err = s.objects(ctx, m)
	}
	switch {
	case fault.Is(err, fault.Retryable), ctx.Err() != nil:
		return err
	case err != nil:
		s.problems[e.ID] = err
		// Of a withdrawn one an operator has said that nothing depends on it. A late one whose body was swept before it came
		// tells nothing, and there is nothing that could be recovered from it.
		if swept := e.Late() && errors.Is(err, archive.ErrNotFound); !e.Revoked && !swept {
			s.unreadable = append(s.unreadable, unreadable{e.ID, err, m.Envelope != nil})
		}
	}
	for _, object := range objects {
		s.inUse[object.Digest] = true
	}
	if s.problems[e.ID] == nil {
		err := s.history.Whole(ctx, m, objects, s.stock)
		if fault.Is(err, fault.Retryable) {
			return err
		}
		s.problems[e.ID] = err
	}
	if s.options.Replay != nil {
		s.replay[e.ID] = s.options.Replay(ctx, m)
	}
	return nil
}

// forgetGone forgets manifests that another expirer removed after they were listed: what is no longer listed anywhere refers to
// nothing. What a place still lists and nobody can read stays what it is.
func (s *survey) forgetGone(ctx context.Context) error {
	gone := map[layout.ID]bool{}
	for _, u := range s.unreadable {
		listed, err := s.isListed(ctx, layout.Manifest(u.id))
		if err != nil {
			return err
		}
		gone[u.id] = !listed
	}
	s.unreadable = slices.DeleteFunc(s.unreadable, func(u unreadable) bool { return gone[u.id] })
	s.history.Entries = slices.DeleteFunc(s.history.Entries, func(e history.Entry) bool { return gone[e.ID] })
	return nil
}

// isListed says whether any place lists a key now.
func (s *survey) isListed(ctx context.Context, key string) (bool, error) {
	for _, place := range s.options.Archive.Places {
		for info, err := range place.List(ctx, key) {
			if err != nil {
				return false, fmt.Errorf("list the %s bucket: %w", place.Name, err)
			}
			if info.Key == key {
				return true, nil
			}
		}
	}
	return false, nil
}

// forgetImpostors takes garbage under the name of a run whose own manifest verifies for what it is. A run makes one manifest,
// and to withdraw the run, which would be the way on, would withdraw the good one.
func (s *survey) forgetImpostors() {
	verified := map[manifest.RunID]bool{}
	for id := range s.digests {
		verified[id.Run] = true
	}
	s.unreadable = slices.DeleteFunc(s.unreadable, func(u unreadable) bool { return !u.opened && verified[u.id.Run] })
}

// objects are everything that a manifest refers to.
func (s *survey) objects(ctx context.Context, m history.Manifest) ([]manifest.Object, error) {
	if !s.refers.known(m.Digest) {
		b, err := s.history.Body(ctx, m)
		if err != nil {
			return nil, err
		}
		s.refers.add(m.Digest, history.Objects(m, b))
	}
	return slices.Collect(s.refers.each(m.Digest)), nil
}

func idOf(d Decision) layout.ID {
	return layout.ID{Lineage: d.Manifest.Lineage, Seq: d.Manifest.Seq, Run: d.Manifest.RunID}
}

func (s *survey) decide() []Decision {
	manifests := make([]policy.Manifest, 0, len(s.history.Entries))
	for _, e := range s.history.Entries {
		created, known := s.created[e.ID]
		if !known {
			created = e.Copies[0].StoredAt
		}
		manifests = append(manifests, policy.Manifest{
			Lineage: e.Lineage, Seq: e.Seq, RunID: e.Run, Created: created, Verified: s.problems[e.ID] == nil && !e.Revoked,
			Revoked: e.Revoked, Kept: e.Kept, Replay: s.replay[e.ID],
		})
	}
	var decisions []Decision
	for _, d := range policy.Decide(manifests, s.options.Policy, s.options.Now()) {
		decision := Decision{Decision: d}
		if problem := s.problems[idOf(decision)]; problem != nil {
			decision.Problem = problem.Error()
		}
		decisions = append(decisions, decision)
	}
	return decisions
}
