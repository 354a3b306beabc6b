package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// machine is what infra/recover.asl.json says, as far as the function must agree with it.
type machine struct {
	StartAt string
	States  map[string]struct {
		Type, Next, Default, Resource, InputPath, ResultPath string
		Parameters                                           map[string]string
		Retry                                                []struct{ ErrorEquals []string }
		Choices                                              []struct {
			Variable, StringEquals, Next string
			BooleanEquals                *bool
		}
	}
}

// TestTheMachineGoesOnAsTheReplySays: it sends the same event as long as the reply says continue, retries what the function
// calls retryable and nothing that a person must look at, and fails by the name of a refusal.
func TestTheMachineGoesOnAsTheReplySays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../infra/recover.asl.json")
	if err != nil {
		t.Fatal(err)
	}
	var m machine
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	first := m.States[m.StartAt]
	task := m.States[first.Next]
	if first.Parameters["event.$"] != "$" || task.InputPath != "$.event" || task.ResultPath != "$.reply" || task.Resource != "${RecoverFunctionArn}" {
		t.Errorf("the event is not the execution's input, or the reply not kept beside it: %+v, %+v", first, task)
	}
	if len(task.Retry) != 1 || !slices.Contains(task.Retry[0].ErrorEquals, "RetryableError") ||
		slices.Contains(task.Retry[0].ErrorEquals, "FailedError") || slices.Contains(task.Retry[0].ErrorEquals, "States.ALL") {
		t.Errorf("got retries %+v", task.Retry)
	}
	choices := m.States[task.Next].Choices
	if len(choices) != 2 || choices[0].Variable != "$.reply.continue" || choices[0].BooleanEquals == nil || !*choices[0].BooleanEquals ||
		choices[0].Next != first.Next || choices[1].Variable != "$.reply.outcome" || choices[1].StringEquals != refused {
		t.Errorf("got choices %+v", choices)
	}
	if m.States[choices[1].Next].Type != "Fail" || m.States[m.States[task.Next].Default].Type != "Succeed" {
		t.Errorf("a refusal does not fail, or the end does not succeed: %+v", m.States)
	}
	for name, state := range m.States {
		if _, known := m.States[state.Next]; state.Next != "" && !known {
			t.Errorf("%s leads to %q, which is no state", name, state.Next)
		}
	}
}
