//go:build integration

package integration_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/localstack/runtimeapi"
	"tidemark/shared/postgres/postgrestest"
)

// function is the real one, and what it wrote.
type function struct {
	*runtimeapi.Function

	output *transcript
}

const (
	invokeTimeout = 30 * time.Second       // no invocation that passes comes near it
	grace         = 200 * time.Millisecond // what a process that is told to end has for it
)

// function makes a function of the stage's flow. onResponse may be nil; see runtimeapi.Options.
func (s *stage) function(t *testing.T, onResponse func(requestID string, body []byte) (drop bool)) *function {
	t.Helper()
	f := &function{output: &transcript{}}
	var err error
	f.Function, err = runtimeapi.New(runtimeapi.Options{
		Bootstrap: bootstrap, Name: "apply", Timeout: invokeTimeout, Grace: grace, Output: f.output, OnResponse: onResponse,
		Env: map[string]string{
			"TIDEMARK_TARGET_ID":       postgrestest.TargetID.String(),
			"TIDEMARK_DATABASE_URL":    s.db.URL,
			"TIDEMARK_FLOW_FILE":       s.flowFile,
			"TIDEMARK_PARTIAL_REPLIES": "true",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Stop()
		if t.Failed() {
			t.Logf("the function wrote:\n%s", f.output.end())
		}
	})
	return f
}

// counts stops the function, so that its last line is there, and sums up how many records it applied and skipped.
func (f *function) counts() (applied, skipped int) {
	f.Stop()
	for _, l := range f.output.lines() {
		applied += l.Applied
		skipped += l.Skipped
	}
	return applied, skipped
}

// stoppedAt stops the function and verifies that it stopped at a fault of the class, for a reason that holds the text.
func (f *function) stoppedAt(t *testing.T, class, text string) {
	t.Helper()
	f.Stop()
	for _, l := range f.output.lines() {
		if l.Msg == "batch stopped" {
			if l.Class != class || !strings.Contains(l.Error, text) {
				t.Errorf("the function stopped at %s: %s; want %s about %q", l.Class, l.Error, class, text)
			}
			return
		}
	}
	t.Errorf("the function did not stop, want %s about %q", class, text)
}

// transcript is what a function wrote.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes everything.
func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// line is what a log line of the function says, as far as tests ask.
type line struct {
	Level, Msg, Class, Error string
	Applied, Skipped         int
}

// lines are the log lines so far. What is no JSON is left out.
func (o *transcript) lines() []line {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []line
	for text := range strings.Lines(o.text.String()) {
		var l line
		if json.Unmarshal([]byte(text), &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines
}

// end is the last of what was written, for a person.
func (o *transcript) end() string {
	const most = 4000
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.text.String()
	return text[max(0, len(text)-most):]
}
