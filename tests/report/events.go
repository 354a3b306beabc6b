package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// event is one line of go test -json, as far as it is read here.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// testName is a test of a package, both as events write them.
type testName struct {
	Package string
	Test    string
}

// eachEvent calls handle for every event of in. raw is the event's line with its end; it is not valid after the call.
// A line that is no event comes as the output of no package: go prints some of its own complaints that way.
func eachEvent(in io.Reader, handle func(e event, raw []byte) error) error {
	reader := bufio.NewReader(in)
	for {
		raw, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(raw)) > 0 {
			var e event
			if json.Unmarshal(raw, &e) != nil || e.Action == "" {
				e = event{Action: "build-output", Output: string(raw)}
			}
			if err := handle(e, raw); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read events: %w", err)
		}
	}
}
