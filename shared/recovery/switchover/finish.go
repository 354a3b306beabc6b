package switchover

import (
	"context"
	"fmt"
	"maps"

	"tidemark/shared/fault"
	"tidemark/shared/position"
)

// Done is what became of a mapping.
type Done struct {
	Remembered

	// Kept: it was on already, and its group no further than the target, as an earlier call left it. Nothing was moved.
	Kept bool
	// From is where the group stood, To where it was read back.
	From, To position.Cut
	State    State
	Reason   string
	Last     string // what came of the last poll
	Notes    []string
}

// Finish moves the groups to where the live target stands, reads them back, and enables what was enabled before. Groups come
// first, all of them: nothing runs while a move may still be refused.
//
// A mapping that is on while its group is no further than the target skips nothing, so it is kept: a call that follows a
// killed one does not stop what works. One whose group is ahead is stopped and moved like the others. What was done is told
// also beside an error.
//
// Errors: fault.Gap when the log has not the offset where the target stands; fault.Misconfigured when the target stands
// nowhere in the topic, or a mapping is gone; fault.Retryable when something else moves a group, and when the wait was too long;
// the service's, the brokers' and the database's.
func (s *Switch) Finish(ctx context.Context, r Record) ([]Done, error) {
	done, kept := make([]Done, len(r.Mappings)), map[string]bool{}
	for i, m := range r.Mappings {
		done[i].Remembered = m
	}
	seen := map[string]Mapping{}
	err := s.finish(ctx, r, done, kept, seen)
	for i := range done {
		m := seen[done[i].UUID]
		done[i].State, done[i].Reason, done[i].Last = m.State, m.Reason, m.Last
		if err == nil && !m.State.isOn() {
			done[i].Notes = append(done[i].Notes, "it was not enabled when it was found, and is left so")
		}
	}
	return done, standing(err, r, seen)
}

func (s *Switch) finish(ctx context.Context, r Record, done []Done, kept map[string]bool, seen map[string]Mapping) error {
	for i, m := range r.Mappings {
		keep, now, err := s.keeps(ctx, m)
		if err != nil {
			return err
		}
		seen[m.UUID], kept[m.UUID], done[i].Kept = now, keep, keep
	}
	step := func(want State, is func(Remembered) bool) error {
		now, err := s.bring(ctx, r, r.uuids(is), want)
		maps.Copy(seen, now)
		return err
	}
	if err := step(Disabled, func(m Remembered) bool { return !kept[m.UUID] }); err != nil {
		return err
	}
	for i, m := range r.Mappings {
		if kept[m.UUID] {
			continue
		}
		if err := s.move(ctx, &done[i]); err != nil {
			return fmt.Errorf("move group %s of mapping %s: %w", m.Group, m.name(), err)
		}
	}
	return step(Enabled, func(m Remembered) bool { return m.Enabled || kept[m.UUID] })
}

// keeps says whether a mapping is on and skips nothing. The group is asked first: a function that is on commits there what
// the target has, and the target only goes on.
func (s *Switch) keeps(ctx context.Context, m Remembered) (bool, Mapping, error) {
	now, err := s.options.Mappings.Get(ctx, m.UUID)
	if err != nil || !now.State.isOn() {
		return false, now, err
	}
	committed, err := s.options.Groups.Committed(ctx, m.Group, m.Topic)
	if err != nil {
		return false, now, err
	}
	target, err := s.options.Target.Positions(ctx, m.Flow)
	if err != nil {
		return false, now, err
	}
	for p, offset := range committed {
		if at, known := target[p]; !known || at.Before(offset) {
			return false, now, nil
		}
	}
	return true, now, nil
}

// move brings a group to where the target stands in the topic.
func (s *Switch) move(ctx context.Context, d *Done) error {
	from, err := s.options.Groups.Committed(ctx, d.Group, d.Topic)
	if err != nil {
		return err
	}
	to, err := s.destination(ctx, d, from)
	if err != nil {
		return err
	}
	d.From = from
	if len(from) == 0 {
		d.Notes = append(d.Notes, "the group stood nowhere: its mapping never polled, or polls other brokers than these")
	}
	if !maps.Equal(from, to) {
		if err := s.commit(ctx, d.Group, to); err != nil {
			return err
		}
		if from, err = s.options.Groups.Committed(ctx, d.Group, d.Topic); err != nil {
			return err
		}
	}
	if d.To = from; !maps.Equal(from, to) {
		return fault.New(fault.Retryable, "it is read back at %s, and was moved to %s", from, to).
			WithHint("something else commits in this group: find and stop it")
	}
	return nil
}

// destination is where the target stands in the mapping's topic. A partition in which it stands nowhere begins at the log's
// start, so a group that is anywhere else there goes back to it.
func (s *Switch) destination(ctx context.Context, d *Done, from position.Cut) (position.Cut, error) {
	at, err := s.options.Target.Positions(ctx, d.Flow)
	if err != nil {
		return nil, err
	}
	to := position.Cut{}
	for p, offset := range at {
		if p.Topic == d.Topic {
			to[p] = offset
		}
	}
	if len(to) == 0 {
		return nil, fault.New(fault.Misconfigured, "the target stands nowhere in topic %s of flow %s", d.Topic, d.Flow).
			WithHint("the recovery did not bring this topic back: the group is left where it is")
	}
	asked := maps.Clone(to)
	maps.Copy(asked, from)
	bounds, err := s.options.Log.Bounds(ctx, asked.Partitions())
	if err != nil {
		return nil, err
	}
	for _, p := range asked.Partitions() {
		offset, stands := to[p]
		switch {
		case !stands:
			to[p] = bounds[p].Start
			d.Notes = append(d.Notes, fmt.Sprintf("the target stands nowhere in %s: the group goes to the log's start", p))
		case offset.Before(bounds[p].Start), bounds[p].End.Before(offset):
			return nil, fault.New(fault.Gap, "the target stands at %s in %s, and the log has [%s,%s)", offset, p, bounds[p].Start,
				bounds[p].End).WithHint("a poller that is sent there jumps without a word: nothing was moved in this group; records " +
				"are missing from the log, so decide with tidemark flow start")
		}
	}
	return to, nil
}

// commit moves a group once its last members are gone: those of a mapping that was just disabled stay for some seconds.
func (s *Switch) commit(ctx context.Context, group string, to position.Cut) error {
	patience := s.patience(groupPatience)
	for {
		err := s.options.Groups.Move(ctx, group, to, s.options.Note)
		if err == nil || !passes(err) {
			return err
		}
		if err := patience.pause(ctx, "group "+group+" cannot be moved yet", err); err != nil {
			return err
		}
	}
}
