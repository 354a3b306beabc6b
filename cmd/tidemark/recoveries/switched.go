package recoveries

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/switchover"
)

// Switched is what became of mappings.
type Switched []switchover.Done

// Lines say it for a screen.
func (s Switched) Lines() (lines []string) {
	for i := range s {
		d := &s[i]
		what := fmt.Sprintf("group %s moved from [%s] to [%s]", d.Group, d.From, d.To)
		if d.Kept {
			what = "group " + d.Group + " was right, and was kept"
		}
		line := fmt.Sprintf("mapping %s of topic %s: %s; %s, last result: %s", d.UUID, d.Topic, what, d.State, report.OrDash(d.Last))
		lines = append(lines, report.OneLine(strings.Join(append([]string{line}, d.Notes...), "; ")))
	}
	return lines
}

// byHand are the lines that say what a person does who did not ask for a switch. They go into a shell: names that a terminal
// would obey are not printed as they are.
func byHand(steps switchover.Steps) (lines []string) {
	for _, part := range []struct {
		title    string
		commands []string
	}{{"stop the functions:", steps.Stop}, {"then move their groups:", steps.Move}, {"then start them:", steps.Start}} {
		if len(part.commands) > 0 {
			lines = append(lines, part.title)
		}
		for _, command := range part.commands {
			lines = append(lines, "  "+report.OneLine(command))
		}
	}
	return lines
}

// flowsOf are the flows that a plan brings back, and their topics.
func flowsOf(plan recovery.Plan) (flows []switchover.Flow) {
	add := func(flow, topic string) {
		at := slices.IndexFunc(flows, func(f switchover.Flow) bool { return f.Name == flow })
		if at < 0 {
			at, flows = len(flows), append(flows, switchover.Flow{Name: flow})
		}
		if !slices.Contains(flows[at].Topics, topic) {
			flows[at].Topics = append(flows[at].Topics, topic)
		}
	}
	for _, t := range plan.Tallies {
		add(t.Flow, t.Partition.Topic)
	}
	if plan.Resumed != nil {
		for _, p := range plan.Resumed.Ends {
			add(p.Flow, p.Topic)
		}
	}
	return flows
}

// ByHand are the commands that do by hand what --switch does, for a recovery that is planned, or done: at is where its flows
// stand then.
func ByHand(plan recovery.Plan, at map[string]position.Cut, brokers []string, logsIn bool) []string {
	return byHand(switchover.Commands(switchover.Site{Flows: flowsOf(plan), Brokers: brokers, LogsIn: logsIn, At: at}))
}
