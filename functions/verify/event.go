package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"tidemark/shared/fault"
	"tidemark/shared/verify"
)

// event is what an invocation asks for.
type event struct {
	Level verify.Level
	Share verify.Share // of the objects whose bytes are read at level hash
}

// usualSample is what a scheduled look reads: each object comes up about every twenty times.
const usualSample = "5%"

const inputHint = `want {"level":"files"}, {"level":"hash","sample":"5%"} or {"level":"data"}; {} is the second`

// decodeEvent reads an event. A member that nobody reads is refused: a misspelt sample would otherwise read all or nothing.
//
// Errors: fault.Misconfigured.
func decodeEvent(payload []byte) (e event, err error) {
	var given struct {
		Level  string `json:"level"`
		Sample string `json:"sample"`
	}
	if payload = bytes.TrimSpace(payload); len(payload) > 0 && payload[0] != '{' {
		err = errors.New("it is no JSON object")
	} else if len(payload) > 0 {
		err = json.Unmarshal(payload, &given, json.RejectUnknownMembers(true))
	}
	e.Level = verify.Level(cmp.Or(given.Level, string(verify.Hash)))
	switch {
	case err != nil:
	case e.Level == verify.Hash:
		e.Share, err = verify.ParseShare(cmp.Or(given.Sample, usualSample))
	case e.Level != verify.Files && e.Level != verify.Data:
		err = fmt.Errorf("level is %.20q", given.Level)
	case given.Sample != "":
		err = fmt.Errorf("level %s looks at everything, and a sample is asked for", e.Level)
	}
	if err != nil {
		return e, fault.New(fault.Misconfigured, "read the event: %w", err).WithHint("%s", inputHint)
	}
	return e, nil
}

// command is what does the same without a deadline.
func (e event) command() string {
	switch e.Level {
	case verify.Data:
		return "tidemark rehearse"
	case verify.Hash:
		return "tidemark verify --level hash --sample " + e.Share.String()
	case verify.Files:
	}
	return "tidemark verify --level " + string(e.Level)
}
