package recovery_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
)

// tablesThere is a database whose tables migrations made, until a try has it.
type tablesThere struct{ recovery.Database }

func (d tablesThere) Look(ctx context.Context) (recovery.Found, error) {
	found, err := d.Database.Look(ctx)
	if err == nil && found.Try == nil {
		err = fault.New(fault.Misconfigured, "%w: it has table public.rows, %w", recovery.ErrNotEmpty, recovery.ErrOnlyTables).
			WithHint("nothing was written: --schema existing")
	}
	return found, err
}

// TestExisting: tables that migrations made are loaded when somebody says so and they fit, by every call of the try.
func TestExisting(t *testing.T) {
	t.Parallel()
	there := func(o *recovery.Options) { o.Database = tablesThere{o.Database} }
	asked := func(err error) func(*recovery.Options) {
		return func(o *recovery.Options) {
			there(o)
			o.Existing = true
			o.Fits = func(_ context.Context, b body.Body) ([]string, error) {
				if len(b.Tables) == 0 {
					return nil, errors.New("no base")
				}
				return []string{"an index is not there"}, err
			}
		}
	}
	t.Run("IsRefusedUnlessAskedFor", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		d := w.Database()
		_, err := run(t, w, d, there)
		mustRefuse(t, err, refusal.TargetNotEmpty, "--schema existing")
		if d.Try() != nil {
			t.Error("the database was claimed")
		}
	})
	t.Run("IsRefusedWhenItDoesNotFit", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		d := w.Database()
		misfit := fault.New(fault.Misconfigured, "%w: table public.rows is not there", recovery.ErrMisfit)
		_, err := run(t, w, d, asked(misfit))
		mustRefuse(t, err, refusal.SchemaMismatch, "correct the tables")
		if d.Try() != nil {
			t.Error("the database was claimed")
		}
	})
	t.Run("GoesOnAsItBegan", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		d := w.Database()
		stop := errors.New("stop")
		if _, err := run(t, w, d, asked(nil), func(o *recovery.Options) {
			o.Database = broken{o.Database, stop}
		}); !errors.Is(err, stop) {
			t.Fatalf("got %v, want it stopped", err)
		}
		if try := d.Try(); try == nil || !try.Existing {
			t.Fatalf("the try is %+v", try)
		}
		report, err := run(t, w, d, there) // the flag is not said again
		if err != nil || !report.Try.Existing {
			t.Fatalf("%v, %+v", err, report.Try)
		}
		recoverytest.Recovered(t, w, d)
	})
	t.Run("IsNoOtherTrys", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		d := w.Database()
		stop := errors.New("stop")
		if _, err := run(t, w, d, func(o *recovery.Options) { o.Database = broken{o.Database, stop} }); !errors.Is(err, stop) {
			t.Fatalf("got %v, want it stopped", err)
		}
		_, err := run(t, w, d, asked(nil))
		mustRefuse(t, err, refusal.TargetNotEmpty, "leave out --schema")
	})
	t.Run("TellsWhatIsMissing", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		d := w.Database()
		report, err := run(t, w, d, asked(nil))
		if err != nil {
			t.Fatal(err)
		}
		wantWarning(t, report.Warnings, "an index is not there")
		recoverytest.Recovered(t, w, d)
	})
}

// broken is a database whose restore does not begin.
type broken struct {
	recovery.Database

	err error
}

func (d broken) Restore(context.Context, recovery.Base) (recovery.Restored, error) {
	return recovery.Restored{}, d.err
}

// mustRefuse fails the test unless an error refuses by this name, with a hint that has these words.
func mustRefuse(t *testing.T, err error, name refusal.Name, hint string) {
	t.Helper()
	refused, ok := errors.AsType[*refusal.Error](err)
	if !ok || refused.Name != name {
		t.Fatalf("got %v, want %s", err, name)
	}
	if !strings.Contains(fault.HintOf(err), hint) {
		t.Errorf("got the hint %q, want %q in it", fault.HintOf(err), hint)
	}
}
