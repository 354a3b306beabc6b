// Package ssmmark keeps an archive's high-water mark in a parameter of AWS Systems Manager.
//
// The service has no compare-and-set: whoever read an older mark may write over a newer one. Each write is therefore looked
// back at. The service numbers its versions, so a writer sees that others wrote between its reading and its writing, reads
// what it wrote over, and puts the newest of them back; then it reads the mark again. A writer that dies between its write
// and that look leaves the older mark, until the next one that is raised. A mark may thus be behind for a while, which only
// makes freshness less strict; it is never ahead of what was committed. It refuses to take a parameter that holds something
// else for one that is not there. A Mark has no state and may be used by several goroutines.
package ssmmark

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/document"
)

// Client is what a mark needs of ssm.Client.
type Client interface {
	GetParameter(ctx context.Context, in *ssm.GetParameterInput, options ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
	PutParameter(ctx context.Context, in *ssm.PutParameterInput, options ...func(*ssm.Options)) (*ssm.PutParameterOutput, error)
}

const (
	callTimeout = 30 * time.Second // with the client's own retries: the client waits for an answer for ever
	raiseTries  = 6
	firstWait   = 50 * time.Millisecond
	maxValue    = 4 << 10 // of a standard parameter
)

// Mark is a mark in a parameter.
type Mark struct {
	client Client
	name   string
}

var _ history.HighWater = (*Mark)(nil)

// New is the mark in the parameter of that name. The service is not asked.
func New(client Client, name string) *Mark { return &Mark{client: client, name: name} }

// record is the parameter's form.
type record struct {
	Version int `json:"version"`
	history.Mark
}

// Load gives the mark. Errors: fault.Corrupt for a parameter that holds something else; fault.Misconfigured when this
// process may not read it; fault.Retryable when the service is away.
func (m *Mark) Load(ctx context.Context) (history.Mark, error) {
	found, _, err := m.read(ctx, m.name)
	return found, err
}

// read gives the mark that a parameter, or a version of it, holds, and the version's number; 0 when it is not there.
func (m *Mark) read(ctx context.Context, name string) (found history.Mark, version int64, err error) {
	doing := "read the high-water mark, parameter " + name
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := m.client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
	if _, absent := errors.AsType[*types.ParameterNotFound](err); absent {
		return found, 0, nil
	}
	if err != nil {
		return found, 0, classify(doing, err)
	}
	if out.Parameter == nil || out.Parameter.Version < 1 {
		return found, 0, fault.New(fault.Corrupt, "%s: the answer has no version", doing)
	}
	var read record
	if err := document.Decode("high-water mark", maxValue, []byte(aws.ToString(out.Parameter.Value)), &read); err != nil {
		return found, 0, fault.New(fault.ClassOf(err), "%s: %w", doing, err).
			WithHint("look at its older versions (aws ssm get-parameter-history) and put the newest good one back; once it is " +
				"deleted, an archive that was turned back goes unnoticed")
	}
	return read.Mark, out.Parameter.Version, nil
}

// Raise remembers a newer mark. Errors: those of Load; fault.Retryable also when others keep writing over it.
func (m *Mark) Raise(ctx context.Context, mark history.Mark) error {
	if err := mark.Validate(); err != nil {
		return fault.New(fault.Bug, "raise the high-water mark: %w", err)
	}
	for try := range raiseTries {
		if err := pause(ctx, try); err != nil {
			return fault.New(fault.Retryable, "raise the high-water mark, parameter %s: %w", m.name, err)
		}
		known, version, err := m.read(ctx, m.name)
		if err != nil || !known.Before(mark) {
			return err // after a write: what was written is there
		}
		written, err := m.write(ctx, mark)
		if err != nil {
			return err
		}
		if mark, err = m.overwritten(ctx, mark, version, written); err != nil {
			return err
		}
	}
	return fault.New(fault.Retryable, "raise the high-water mark, parameter %s: it did not stay in %d tries", m.name, raiseTries).
		WithHint("something else writes to the parameter, or several backups run at once; the next one raises it again")
}

// write puts a mark, over whatever is there, and gives its version; 0 when another wrote at the same time.
func (m *Mark) write(ctx context.Context, mark history.Mark) (int64, error) {
	encoded, err := document.Encode(record{Version: document.Version, Mark: mark})
	if err != nil {
		return 0, fault.Wrap(fault.Bug, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := m.client.PutParameter(ctx, &ssm.PutParameterInput{
		Name: &m.name, Value: aws.String(string(encoded)), Type: types.ParameterTypeString, Overwrite: aws.Bool(true),
	})
	if _, busy := errors.AsType[*types.TooManyUpdates](err); busy {
		return 0, nil
	}
	if err != nil {
		return 0, classify("raise the high-water mark, parameter "+m.name, err)
	}
	return out.Version, nil
}

// overwritten gives the newest of a mark and those that others wrote between two versions, over which it was written.
func (m *Mark) overwritten(ctx context.Context, mark history.Mark, after, until int64) (history.Mark, error) {
	for version := after + 1; version < until; version++ {
		found, _, err := m.read(ctx, m.name+":"+strconv.FormatInt(version, 10))
		if _, gone := errors.AsType[*types.ParameterVersionNotFound](err); gone {
			continue
		}
		if err != nil {
			return mark, fmt.Errorf("look at what was written over: %w", err)
		}
		if mark.Before(found) {
			mark = found
		}
	}
	return mark, nil
}

// pause waits before a try that is not the first, longer each time.
func pause(ctx context.Context, try int) error {
	if err := ctx.Err(); err != nil || try == 0 {
		return err
	}
	timer := time.NewTimer(firstWait << (try - 1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
