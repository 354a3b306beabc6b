package switchover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark/shared/fault"
)

// Find looks up the mappings of flows and says how they are. It changes nothing. Warnings are for a person to read.
//
// Errors: fault.Misconfigured for a function without mappings, for a mapping of something else than one topic of its flow, and
// for two of one topic, with all that was found; the service's.
func (s *Switch) Find(ctx context.Context, flows []Flow) (Record, []string, error) {
	found := finding{record: Record{Format: format}}
	functions := map[string]string{}
	for _, flow := range flows {
		if other, taken := functions[flow.Function]; taken {
			return Record{}, nil, fault.New(fault.Misconfigured, "function %s is named for flow %s and for flow %s", flow.Function, other,
				flow.Name).WithHint("a function applies one flow: name for each flow its own")
		}
		functions[flow.Function] = flow.Name
		listed, err := s.options.Mappings.List(ctx, flow.Function)
		if err != nil {
			return Record{}, nil, err
		}
		for i := range listed {
			m, err := s.decided(ctx, listed[i])
			if err != nil {
				return Record{}, nil, err
			}
			found.take(flow, m)
		}
		if len(listed) == 0 {
			found.refuse("function %s of flow %s has no event source mapping", flow.Function, flow.Name)
		}
	}
	if err := found.refused(); err != nil {
		return Record{}, nil, err
	}
	found.uncovered(flows)
	return found.record, found.warnings, nil
}

// decided waits until a mapping says whether it is on.
func (s *Switch) decided(ctx context.Context, m Mapping) (Mapping, error) {
	patience := s.patience(mappingPatience)
	for m.State == Creating || m.State == Updating {
		err := patience.pause(ctx, fmt.Sprintf("mapping %s is %s", m.UUID, m.State), nil)
		if err != nil {
			return m, err
		}
		if m, err = s.options.Mappings.Get(ctx, m.UUID); err != nil {
			return m, err
		}
	}
	return m, nil
}

// finding collects what is found.
type finding struct {
	record   Record
	warnings []string
	refusals []string
}

func (f *finding) refuse(form string, args ...any) {
	f.refusals = append(f.refusals, fmt.Sprintf(form, args...))
}

func (f *finding) warn(form string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(form, args...))
}

func (f *finding) take(flow Flow, m Mapping) {
	switch {
	case m.State == Deleting:
		f.warn("mapping %s of %s is being deleted, and is left alone", m.UUID, what(m))
		return
	case m.State != Disabled && m.State != Disabling && !m.State.isOn():
		f.refuse("mapping %s of %s is in state %q", m.UUID, what(m), m.State)
		return
	case len(m.Topics) != 1:
		f.refuse("mapping %s is of %s, not of one topic", m.UUID, what(m))
		return
	case !slices.Contains(flow.Topics, m.Topics[0]):
		f.refuse("mapping %s is of %s, which is no topic of flow %s", m.UUID, what(m), flow.Name)
		return
	}
	for _, other := range f.record.Mappings {
		if other.Flow == flow.Name && other.Topic == m.Topics[0] {
			f.refuse("mappings %s and %s are both of topic %s of flow %s", other.UUID, m.UUID, other.Topic, flow.Name)
			return
		}
	}
	if m.group() == m.UUID {
		f.warn("mapping %s of topic %s has no ConsumerGroupId: its group is its UUID, and one made anew begins elsewhere", m.UUID,
			m.Topics[0])
	}
	if m.Starts == "LATEST" {
		f.warn("mapping %s of topic %s starts at LATEST: it skips the first records of partitions that are added", m.UUID, m.Topics[0])
	}
	f.record.Mappings = append(f.record.Mappings, Remembered{
		Flow: flow.Name, Function: m.Function, UUID: m.UUID, Topic: m.Topics[0], Group: m.group(), Enabled: m.State.isOn(),
	})
}

// what a mapping polls.
func what(m Mapping) string {
	if len(m.Topics) > 0 {
		return "topic " + strings.Join(m.Topics, ", ")
	}
	return "source " + m.Source
}

func (f *finding) refused() error {
	if len(f.refusals) == 0 {
		return nil
	}
	for _, m := range f.record.Mappings {
		f.refusals = append(f.refusals, "and mapping "+m.name()+" fits")
	}
	return fault.New(fault.Misconfigured, "find what to switch: %s", strings.Join(f.refusals, "; ")).
		WithHint("nothing was changed: check flow, function, account and region, and delete mappings that nobody needs; or %s", byHand)
}

// uncovered warns of topics that no function polls: another function may, under a name that was not given.
func (f *finding) uncovered(flows []Flow) {
	polled := map[[2]string]bool{}
	for _, m := range f.record.Mappings {
		polled[[2]string{m.Flow, m.Topic}] = true
	}
	for _, flow := range flows {
		for _, topic := range flow.Topics {
			if at := [2]string{flow.Name, topic}; !polled[at] {
				polled[at] = true
				f.warn("no mapping that was found is of topic %s of flow %s: what polls it is not switched", topic, flow.Name)
			}
		}
	}
}
