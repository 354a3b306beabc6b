package recoveries

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/origin"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/switchover"
)

// Switching is the switch of functions that the command line asks for: FLOW=FUNCTION for each flow.
type Switching struct {
	Asked    []string
	Warnings []string // of what was found

	acts   *switchover.Switch
	record switchover.Record
}

// Prepare finds the mappings, or takes what an earlier call found and the try kept, and gives what the try is to keep. It
// changes nothing. kept is empty where no try kept anything.
//
// Errors: marked as usage for a flow that the recovery does not bring back; those of switchover.Find and ParseRecord.
func (s *Switching) Prepare(
	ctx context.Context, parts switchover.Options, plan recovery.Plan, kept json.RawMessage,
) (json.RawMessage, error) {
	flows, err := s.flows(flowsOf(plan))
	if err != nil {
		return nil, exit.Usage(err)
	}
	parts.Groups = origin.Groups(parts.Groups)
	s.acts = switchover.New(parts)
	if len(kept) > 0 {
		s.record, err = switchover.ParseRecord(kept)
		return kept, err
	}
	if s.record, s.Warnings, err = s.acts.Find(ctx, flows); err != nil {
		return nil, err
	}
	if plan.Resumed != nil {
		s.Warnings = append(s.Warnings, "this recovery was begun without --switch, so nothing says how the mappings were then: one "+
			"that is disabled now stays so")
	}
	return s.record.Encode()
}

// Stop disables the mappings. It comes when the try has kept the record, before anything is restored.
func (s *Switching) Stop(ctx context.Context) error { return s.acts.Stop(ctx, s.record) }

// Finish moves the groups and enables what was enabled. It comes when the target is live.
func (s *Switching) Finish(ctx context.Context) (Switched, error) {
	return s.acts.Finish(ctx, s.record)
}

// flows reads what was asked for. topics are those of each flow that is recovered.
func (s *Switching) flows(known []switchover.Flow) (flows []switchover.Flow, err error) {
	for _, pair := range s.Asked {
		name, function, ok := strings.Cut(pair, "=")
		if !ok || name == "" || function == "" {
			return nil, fmt.Errorf("--switch %q: want FLOW=FUNCTION", pair)
		}
		at := slices.IndexFunc(known, func(f switchover.Flow) bool { return f.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("--switch %q: the recovery brings back no flow %s", pair, name)
		}
		flow := known[at]
		flow.Function = function
		flows = append(flows, flow)
	}
	return flows, nil
}
