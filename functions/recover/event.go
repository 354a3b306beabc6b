package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// event is what an invocation asks for. Its members are the flags of tidemark recover. Called again it must be the same: a try
// that goes on is held against it.
type event struct {
	DryRun          *bool    `json:"dry_run"` // only false recovers
	Manifest        string   `json:"manifest"`
	From            []string `json:"from"`
	Until           []string `json:"until"`
	AllowGap        string   `json:"allow_gap"`
	AllowOlder      string   `json:"allow_older"`
	RequireFresh    bool     `json:"require_fresh"`
	MintInSecondary bool     `json:"mint_in_secondary"`
	Jobs            int      `json:"jobs"`
}

const inputHint = `want {"dry_run":false} with the flags of tidemark recover as members: manifest (a whole run id), from, until (lists), ` +
	`allow_gap, allow_older, require_fresh, mint_in_secondary, jobs; {} is a dry run`

// mostJobs is more than a function's memory has room for.
const mostJobs = 16

// decodeEvent reads an event. A member that nobody reads is refused: a misspelt until would replay what is to be left out.
//
// Errors: fault.Misconfigured.
func decodeEvent(payload []byte) (e event, err error) {
	if payload = bytes.TrimSpace(payload); len(payload) > 0 && payload[0] != '{' {
		err = errors.New("it is no JSON object")
	} else if len(payload) > 0 {
		err = json.Unmarshal(payload, &e, json.RejectUnknownMembers(true))
	}
	if err == nil {
		err = e.apply(&recovery.Options{})
	}
	if err != nil {
		return e, fault.New(fault.Misconfigured, "read the event: %w", err).WithHint("%s", inputHint)
	}
	return e, nil
}

// isDry says whether nothing is to be written, which is so unless the event says otherwise.
func (e event) isDry() bool { return e.DryRun == nil || *e.DryRun }

// apply tells a recovery.
func (e event) apply(o *recovery.Options) (err error) {
	o.AllowGap, o.AllowOlder, o.RequireFresh, o.MintInSecondary = e.AllowGap, e.AllowOlder, e.RequireFresh, e.MintInSecondary
	if o.Jobs = max(e.Jobs, 1); e.Jobs < 0 || e.Jobs > mostJobs {
		return fmt.Errorf("jobs is %d: want 1 to %d", e.Jobs, mostJobs)
	}
	if o.Manifest = manifest.RunID(e.Manifest); e.Manifest != "" {
		if err := o.Manifest.Validate(); err != nil {
			return fmt.Errorf("manifest: %w", err)
		}
	}
	if len(e.From) == 1 && (e.From[0] == "manifest" || e.From[0] == "earliest") {
		o.From = inspection.Start{Earliest: e.From[0] == "earliest"}
	} else if o.From.Offsets, err = offsets("from", e.From); err != nil {
		return err
	}
	if len(e.Until) == 1 && !strings.Contains(e.Until[0], "=") {
		if o.Until.At, err = time.Parse(time.RFC3339Nano, e.Until[0]); err != nil {
			return fmt.Errorf("until is %.60q: want a time as 2026-01-31T15:04:05Z, or TOPIC/PARTITION=OFFSET", e.Until[0])
		}
		return nil
	}
	o.Until.Offsets, err = offsets("until", e.Until)
	return err
}

func offsets(member string, texts []string) (cut position.Cut, err error) {
	for _, text := range texts {
		p, next, err := position.ParseNext(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", member, err)
		}
		if cut == nil {
			cut = position.Cut{}
		}
		if _, twice := cut[p]; twice {
			return nil, fmt.Errorf("%s names %s twice", member, p)
		}
		cut[p] = next
	}
	return cut, nil
}
