package listing

import "tidemark/cmd/tidemark/report"

// Log is whether the log still holds what follows a manifest's positions.
type Log struct {
	State LogState // the zero value is unknown
	Why   string   // of anything but replayable
}

// LogState is a state of the log, in one or two words for people and programs. They stay.
type LogState string

// The states.
const (
	UnknownLog LogState = "unknown"    // nobody could say
	Replayable LogState = "replayable" // all of it
	LogGap     LogState = "gap"        // not all of it any more
	NoLog      LogState = "no log"     // the log is another one, or shorter than the positions
)

func (l Log) String() string {
	if l.State == "" {
		return string(UnknownLog)
	}
	return string(l.State)
}

// notes are the lines behind the table: why the log is not replayable, each reason once, and the warnings.
func (m Manifests) notes() (lines []string) {
	told := map[string]bool{}
	for _, listed := range m.List {
		line := "log (" + listed.Log.String() + "): " + report.OneLine(listed.Log.Why)
		if listed.Log.Why != "" && !told[line] {
			told[line] = true
			lines = append(lines, line)
		}
	}
	for _, warning := range m.warnings() {
		lines = append(lines, "warning: "+report.OneLine(warning))
	}
	return lines
}
