package recovery

import (
	"context"
	"errors"
	"fmt"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/recovery/life"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/signing"
)

// choose takes the manifest of the earlier try, or the newest.
func (o Options) choose(ctx context.Context, earlier *Try) (history.Choice, *history.History, error) {
	read, err := o.source()
	if err != nil {
		return history.Choice{}, nil, err
	}
	h, err := history.Read(ctx, read)
	if err != nil {
		return history.Choice{}, nil, named(life.Forked(err))
	}
	request := history.Request{Run: o.Manifest, AllowOlder: o.AllowOlder != ""}
	if !o.Until.IsZero() && earlier == nil {
		request.Fits = o.inspect().Fits
	}
	if earlier != nil {
		request = history.Request{Run: earlier.Base.Run, AllowOlder: true} // it was judged when the try began
	} else if o.HighWater != nil {
		if request.Mark, err = o.HighWater.Load(ctx); err != nil {
			return history.Choice{}, h, err
		}
	}
	choice, err := h.Choose(ctx, request)
	if err != nil {
		return choice, h, named(err)
	}
	if earlier != nil && choice.Manifest.Digest != earlier.Statement {
		return choice, h, refusal.Of(fault.Corrupt, &refusal.Error{
			Name: refusal.Corrupt, What: fmt.Sprintf("manifest %s is not the one that the earlier try began with", choice.Manifest.ID),
		})
	}
	return choice, h, nil
}

// past is what a try that has ended came from, if it is still there.
func (o Options) past(ctx context.Context, ended *Try) (history.Choice, []string) {
	choice, _, err := o.choose(ctx, ended)
	if err != nil {
		return choice, []string{"the recovery ended before, and its manifest cannot be used any more: " + err.Error()}
	}
	return choice, nil
}

// named gives an error of the choice its name.
func named(err error) error {
	r := &refusal.Error{What: err.Error(), Err: err}
	_, isNamed := errors.AsType[*refusal.Error](err)
	switch {
	case isNamed:
		return err
	case errors.Is(err, history.ErrNoBackup):
		r.Name = refusal.NoBackup
	case errors.Is(err, history.ErrOlderThanSeen):
		r.Name, r.Override, r.Loses = refusal.OlderThanSeen, "--allow-older REASON", "what only the newer manifest has and the log no longer"
	case errors.Is(err, archive.ErrForeign):
		r.Name = refusal.IdentityMismatch
	case errors.Is(err, history.ErrForked):
		r.Name = refusal.LineageForked
	case errors.Is(err, signing.ErrUntrusted):
		r.Name = refusal.Untrusted
	case fault.Is(err, fault.Corrupt):
		r.Name = refusal.Corrupt
	default:
		return err
	}
	return refusal.Of(fault.ClassOf(err), r)
}

// freshness says how sure it is that the choice is the newest, and refuses when it must be.
func (o Options) freshness(c history.Choice) (warnings []string, err error) {
	for _, passed := range c.Passed {
		warnings = append(warnings, fmt.Sprintf("manifest %s was passed over: %v", passed.ID, passed.Reason))
	}
	switch {
	case c.FreshnessProven:
		return warnings, nil
	case o.AllowOlder != "":
		return append(warnings, string(refusal.FreshnessUnproven)+", accepted: "+o.AllowOlder), nil
	case o.RequireFresh:
		return warnings, refusal.Of(fault.Misconfigured, &refusal.Error{
			Name: refusal.FreshnessUnproven, What: "nobody outside the buckets remembers which manifest is the newest",
			Override: "--allow-older REASON", Loses: "what was backed up after this manifest, if anything was",
		})
	}
	return append(warnings, string(refusal.FreshnessUnproven)+": nobody outside the buckets remembers which manifest is the newest"), nil
}
