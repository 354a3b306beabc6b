package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"tidemark/shared/fault"
)

// event is what an invocation asks for. The zero event is a backup that was not scheduled.
type event struct {
	Scheduled time.Time // the time that the run stands for
	Execution string    // the scheduler's name for it
	Attempt   int       // of the scheduler; the backup counts its own
}

// on is a log whose lines name the event.
func (e event) on(log *slog.Logger) *slog.Logger {
	if e.Scheduled.IsZero() {
		return log
	}
	return log.With(slog.Time("scheduled_time", e.Scheduled), slog.String("execution", e.Execution))
}

// input is the event as the schedule of template.yaml sends it.
type input struct {
	ScheduledTime *string `json:"scheduled_time"`
	Execution     *string `json:"execution"`
	Attempt       *string `json:"attempt"`
}

const inputHint = `want {"scheduled_time":"<aws.scheduler.scheduled-time>","execution":"<aws.scheduler.execution-id>",` +
	`"attempt":"<aws.scheduler.attempt-number>"} as the schedule's input, whose words EventBridge Scheduler replaces, ` +
	`or {} for a backup that stands for no scheduled time`

// decodeEvent reads an event. A member that nobody reads is refused: a misspelt scheduled_time would otherwise make every
// delivery of one event a backup of its own.
//
// Errors: fault.Misconfigured.
func decodeEvent(payload []byte) (event, error) {
	var given input
	if payload = bytes.TrimSpace(payload); len(payload) == 0 {
		return event{}, nil
	}
	err := errors.New("it is no JSON object")
	if payload[0] == '{' {
		err = json.Unmarshal(payload, &given, json.RejectUnknownMembers(true))
	}
	if err == nil && given == (input{}) {
		return event{}, nil
	}
	var read event
	if err == nil {
		read, err = given.read()
	}
	if err != nil {
		return event{}, fault.New(fault.Misconfigured, "read the event: %w", err).WithHint("%s", inputHint)
	}
	return read, nil
}

func (i input) read() (event, error) {
	for _, member := range []struct {
		name string
		text *string
	}{{"scheduled_time", i.ScheduledTime}, {"execution", i.Execution}, {"attempt", i.Attempt}} {
		switch {
		case member.text == nil || *member.text == "":
			return event{}, fmt.Errorf("%s is missing", member.name)
		case strings.Contains(*member.text, "<aws.scheduler."):
			return event{}, fmt.Errorf("%s is %.60q: whoever sent the event did not replace that, as EventBridge Scheduler does; "+
				"rules of EventBridge and stand-ins of the scheduler leave it", member.name, *member.text)
		}
	}
	at, err := time.Parse(time.RFC3339, *i.ScheduledTime)
	if err != nil || at.IsZero() {
		return event{}, fmt.Errorf("scheduled_time is %.60q: want a time as in 2026-01-02T03:04:05Z", *i.ScheduledTime)
	}
	attempt, err := strconv.Atoi(*i.Attempt)
	if err != nil || attempt < 1 {
		return event{}, fmt.Errorf("attempt is %.60q: want a number from 1 on", *i.Attempt)
	}
	return event{Scheduled: at.UTC(), Execution: fmt.Sprintf("%.200s", *i.Execution), Attempt: attempt}, nil
}
