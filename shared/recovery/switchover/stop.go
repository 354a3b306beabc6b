package switchover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/shared/fault"
)

// How long is waited for what takes the service minutes, and for members that leave a group. No clock: pauses are added up.
const (
	firstPause      = 2 * time.Second
	longestPause    = 15 * time.Second
	mappingPatience = 20 * time.Minute
	groupPatience   = 5 * time.Minute
)

// Stop disables the mappings of a record, which the caller keeps already, and waits until they are. Mappings that are give
// no work.
//
// Errors: the service's; fault.Retryable when the wait was too long. The hint says which are disabled now.
func (s *Switch) Stop(ctx context.Context, r Record) error {
	seen, err := s.bring(ctx, r, r.uuids(func(Remembered) bool { return true }), Disabled)
	return standing(err, r, seen)
}

// bring asks for a state of mappings, of all at once since each may take minutes, and waits until they have it.
func (s *Switch) bring(ctx context.Context, r Record, uuids []string, want State) (map[string]Mapping, error) {
	seen, patience := map[string]Mapping{}, s.patience(mappingPatience)
	for {
		waiting, busy, err := s.askAll(ctx, r, uuids, want, seen)
		if err != nil || len(waiting) == 0 {
			return seen, err
		}
		first := fmt.Sprintf("mapping %s is %s, not %s yet", r.named(waiting[0]), seen[waiting[0]].State, want)
		if more := len(waiting) - 1; more > 0 {
			first += fmt.Sprintf(", and %d more", more)
		}
		if err := patience.pause(ctx, first, busy); err != nil {
			return seen, err
		}
		uuids = waiting
	}
}

// askAll asks once for a state of mappings, puts down how each is, and gives those that do not have it yet, with what stood in
// the way.
func (s *Switch) askAll(
	ctx context.Context, r Record, uuids []string, want State, seen map[string]Mapping,
) (waiting []string, busy, err error) {
	for _, uuid := range uuids {
		m, err := s.ask(ctx, uuid, want)
		if m.UUID != "" {
			seen[uuid] = m
		}
		switch {
		case err == nil && m.State == want:
			continue
		case err != nil && !passes(err):
			return nil, nil, fmt.Errorf("have mapping %s %s: %w", r.named(uuid), want, err)
		}
		waiting, busy = append(waiting, uuid), errors.Join(busy, err)
	}
	return waiting, busy, nil
}

// ask looks at a mapping and asks for a state unless it has it or is on its way somewhere.
func (s *Switch) ask(ctx context.Context, uuid string, want State) (Mapping, error) {
	m, err := s.options.Mappings.Get(ctx, uuid)
	switch {
	case err != nil:
		return Mapping{}, err
	case m.State == want, m.State.changes():
		return m, nil
	case m.State == Deleting:
		return m, fault.New(fault.Misconfigured, "it is being deleted").WithHint("%s", byHand)
	case want == Enabled:
		return m, s.options.Mappings.Enable(ctx, uuid)
	}
	return m, s.options.Mappings.Disable(ctx, uuid)
}

// passes says whether an act may be tried again at once: each of them may be done twice.
func passes(err error) bool {
	return fault.Is(err, fault.Retryable) || fault.Is(err, fault.UnknownOutcome)
}

// standing adds to an error what is disabled now.
func standing(err error, r Record, seen map[string]Mapping) error {
	if err == nil {
		return nil
	}
	var disabled []string
	for uuid, m := range seen {
		if m.State == Disabled {
			disabled = append(disabled, r.named(uuid))
		}
	}
	slices.Sort(disabled)
	told := "no mapping is known to be disabled now"
	if len(disabled) > 0 {
		told = "disabled now: " + strings.Join(disabled, ", ")
	}
	told += "; the same command goes on"
	if hint := fault.HintOf(err); hint != "" {
		told = hint + "; " + told
	}
	return fault.New(fault.ClassOf(err), "%w", err).WithHint("%s", told)
}

// patience is for one thing that is waited for.
type patience struct {
	of          *Switch
	next        time.Duration
	spent, most time.Duration
}

func (s *Switch) patience(most time.Duration) *patience {
	return &patience{of: s, next: firstPause, most: most}
}

// pause waits once more. what is so still, err is what stood in the way last; it may be nil.
func (p *patience) pause(ctx context.Context, what string, err error) error {
	if p.spent >= p.most {
		err = errors.Join(fmt.Errorf("%s, for %s", what, p.spent), err)
		return fault.New(fault.Retryable, "%w", err).WithHint("look at it; the same command waits on")
	}
	if err != nil {
		what += ": " + err.Error()
	}
	p.of.options.OnWait(what)
	if ended := p.of.options.Wait(ctx, p.next); ended != nil {
		return fault.New(fault.Retryable, "%s: %w", what, ended)
	}
	p.spent += p.next
	p.next = min(2*p.next, longestPause)
	return nil
}
