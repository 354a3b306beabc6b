package extraction_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/extraction"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
)

// shop is an archive of one backup of the table public.rows.
func shop(t *testing.T) *recoverytest.World {
	t.Helper()
	w := recoverytest.New(t, 1)
	w.Flows["shop"] = []string{"orders"}
	w.Log.Create("orders", 1)
	for _, key := range []string{"a", "b", "c"} {
		w.Log.Append(position.Partition{Topic: "orders"}, w.Now(), recoverytest.Put(key, "v"))
	}
	w.Backup(t, w.Stable())
	return w
}

// taker takes what it is asked for.
type taker struct {
	outline error
	asked   []extraction.Request
	plain   []string
}

func (d *taker) Outline(_ context.Context, r extraction.Request) (extraction.Outline, error) {
	d.asked = append(d.asked, r)
	return extraction.Outline{Tables: r.Body.Tables, Warnings: []string{"a key is left out"}}, d.outline
}

func (d *taker) Extract(ctx context.Context, r extraction.Request) (recovery.Restored, error) {
	done := recovery.Restored{}
	for _, c := range r.Body.Tables[0].Chunks {
		plain, err := r.Fetch(ctx, c.Object)
		if err != nil {
			return done, err
		}
		d.plain, done.Rows = append(d.plain, string(plain)), done.Rows+c.Rows
	}
	return done, nil
}

func options(t *testing.T, w *recoverytest.World, d *taker, tables ...string) extraction.Options {
	t.Helper()
	return extraction.Options{Archive: w.Archive(t), Tables: tables, Into: "back", Database: d}
}

func TestExtraction(t *testing.T) {
	t.Parallel()
	t.Run("TakesTheNewestManifestsRows", func(t *testing.T) {
		t.Parallel()
		w, d := shop(t), &taker{}
		o := options(t, w, d, "public.rows", `"public".rows`, `public."rows"`)
		plan, err := extraction.Prepare(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		done, err := extraction.Run(t.Context(), o, plan)
		if err != nil || done.Rows != 3 || strings.Join(d.plain, "") != `{"a":"v","b":"v"}{"c":"v"}` {
			t.Errorf("%v, %+v of %q", err, done, d.plain)
		}
		if diff := cmp.Diff([]body.Name{{Schema: "public", Name: "rows"}}, d.asked[0].Tables); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := strings.Join(plan.Warnings, "; "); !strings.Contains(got, "freshness_unproven") || !strings.Contains(got, "a key is left out") {
			t.Errorf("warnings %q", got)
		}
	})
	t.Run("NamesTablesThatAreMeantPerhaps", func(t *testing.T) {
		t.Parallel()
		w, d := shop(t), &taker{}
		for meant, hint := range map[string]string{
			"public.row": "did you mean public.rows?", "rows": "did you mean public.rows?", "x.y": "as tidemark manifests show lists them",
		} {
			_, err := extraction.Prepare(t.Context(), options(t, w, d, meant))
			if !errors.Is(err, extraction.ErrUnknownTable) || !strings.Contains(fault.HintOf(err), hint) {
				t.Errorf("%s: got %v, %q", meant, err, fault.HintOf(err))
			}
		}
		if len(d.asked) > 0 {
			t.Error("the database was asked")
		}
	})
	t.Run("RefusesASchemaThatIsThereByName", func(t *testing.T) {
		t.Parallel()
		w, d := shop(t), &taker{outline: fault.New(fault.Misconfigured, "schema back is there: %w", recovery.ErrNotEmpty).WithHint("drop it")}
		_, err := extraction.Prepare(t.Context(), options(t, w, d, "public.rows"))
		refused, ok := errors.AsType[*refusal.Error](err)
		if !ok || refused.Name != refusal.TargetNotEmpty || fault.HintOf(err) != "drop it" {
			t.Errorf("got %v, %q", err, fault.HintOf(err))
		}
	})
	t.Run("RefusesWithoutABackup", func(t *testing.T) {
		t.Parallel()
		_, err := extraction.Prepare(t.Context(), options(t, recoverytest.New(t, 1), &taker{}, "public.rows"))
		if refused, ok := errors.AsType[*refusal.Error](err); !ok || refused.Name != refusal.NoBackup || !errors.Is(err, history.ErrNoBackup) {
			t.Errorf("got %v", err)
		}
	})
}
