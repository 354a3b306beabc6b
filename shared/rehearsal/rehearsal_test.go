package rehearsal_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/rehearsal"
	"tidemark/shared/verify"
	"tidemark/shared/verify/census"
)

const (
	flow   = "shop"
	orders = "orders"
)

// table is the one that recoverytest's backups have.
var table = body.Name{Schema: "public", Name: "rows"}

func at(number int32) position.Partition { return position.Partition{Topic: orders, Number: number} }

// digestOf counts rows as everybody in these tests does.
func digestOf(rows recoverytest.Rows) census.Digest {
	tally := census.NewTally(make([]body.Column, 2))
	form := append([]byte("PGCOPY\n\xff\r\n\x00"), make([]byte, 8)...)
	for key, value := range rows {
		form = binary.BigEndian.AppendUint16(form, 2)
		for _, field := range []string{key, value} {
			form = append(binary.BigEndian.AppendUint32(form, uint32(len(field))), field...) //nolint:gosec // a few bytes
		}
	}
	_, _ = tally.Write(append(form, 0xff, 0xff)) // Digest gives its error
	digest, err := tally.Digest()
	if err != nil {
		panic(err)
	}
	return digest
}

// counted is a database that is read as it stands.
type counted struct{ read func() rehearsal.State }

func (c counted) Read(context.Context, []body.Table) (rehearsal.State, error) { return c.read(), nil }

func stateOf(rows recoverytest.Rows, cut position.Cut) rehearsal.State {
	s := rehearsal.State{Tables: census.Tables{table: digestOf(rows)}}
	for p, next := range cut {
		s.Cut = append(s.Cut, body.Partition{Flow: flow, Topic: p.Topic, Partition: p.Number, NextOffset: next})
	}
	s.Cut.Sort()
	return s
}

// world is a log, an archive with one backup, a live target that has applied more, and an empty scratch database.
type world struct {
	*recoverytest.World

	scratch *recoverytest.Database
	cut     position.Cut // of the live target
	end     time.Time    // of the newest record below it
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: recoverytest.New(t, 1)}
	w.Flows[flow] = []string{orders}
	w.Log.Create(orders, 3)
	next := w.Now().Add(-time.Hour)
	put := func(number int32, round int) {
		next = next.Add(time.Second)
		w.Log.Append(at(number), next, recoverytest.Put(fmt.Sprint(number, "-", round%3), fmt.Sprint("v", round)))
	}
	for n := range 4 {
		put(0, n)
		put(1, n)
	}
	w.Backup(t, w.Stable())
	for n := range 3 {
		put(0, 4+n)
	}
	w.cut, w.end = w.Stable()[flow], next
	w.Log.Create("news", 1) // the backup knows nothing of it
	w.Flows[flow] = []string{orders, "news"}
	put(0, 8) // the live target goes on
	put(2, 1)
	w.Log.Append(position.Partition{Topic: "news"}, next, recoverytest.Put("n", "v"))
	w.scratch = w.Database()
	return w
}

// options are those of an honest rehearsal beside the live target.
func (w *world) options(t *testing.T) rehearsal.Options {
	t.Helper()
	return rehearsal.Options{
		Recovery: w.Process(w.scratch, nil).Options(t),
		Scratch:  counted{func() rehearsal.State { return stateOf(w.scratch.Rows(), w.scratch.Positions(flow)) }},
		Live: counted{func() rehearsal.State {
			return stateOf(w.State(recoverytest.Cut{flow: w.cut}), w.cut)
		}},
		Check: func(ctx context.Context, plan recovery.Plan) (verify.Outcome, error) {
			return w.check(ctx, t, plan)
		},
	}
}

// check counts what the archive holds.
func (w *world) check(ctx context.Context, t *testing.T, plan recovery.Plan) (verify.Outcome, error) {
	t.Helper()
	outcome := verify.Outcome{Level: verify.Hash, Share: verify.All, Tables: census.Tables{}}
	a := w.Archive(t)
	for _, table := range plan.Choice.Body.Tables {
		rows := recoverytest.Rows{}
		for _, c := range table.Chunks {
			stored, err := a.Fetch(ctx, c.Object, nil)
			if err != nil {
				return outcome, err
			}
			plain, err := a.Unpack(stored, c.Object, c.Object.PlainSize)
			if err != nil {
				return outcome, err
			}
			if err := json.Unmarshal(plain, &rows); err != nil {
				return outcome, err
			}
		}
		outcome.Tables[table.Name] = digestOf(rows)
	}
	return outcome, nil
}

// keys are those of both buckets.
func (w *world) keys(t *testing.T) (keys []string) {
	t.Helper()
	for _, bucket := range []*archivetest.Memory{w.Primary, w.Secondary} {
		for info, err := range bucket.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, info.Key)
		}
	}
	return keys
}

var every = []rehearsal.Phase{
	rehearsal.Archive, rehearsal.Restore, rehearsal.Base, rehearsal.Replay, rehearsal.Count, rehearsal.Compare,
}

// TestAnHonestRehearsalIsVerified: at the live target's cut the scratch database has its rows, though the log goes on; nothing in
// the buckets changes.
func TestAnHonestRehearsalIsVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.keys(t)
	got, err := rehearsal.Run(t.Context(), w.options(t))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	if got.Verdict() != verify.Verified || got.Err() != nil || !slices.Equal(got.Phases, every) {
		t.Errorf("got %s after %v: %v", got.Verdict(), got.Phases, got.Differences)
	}
	if got.Replayed() != 3 || !got.Point.Equal(w.end) || got.Age() != got.Begun.Sub(w.end) || got.Compared != 1 {
		t.Errorf("got %d records up to %s, %d tables; want 3 up to %s, 1", got.Replayed(), got.Point, got.Compared, w.end)
	}
	if want := w.State(recoverytest.Cut{flow: w.cut}); !cmp.Equal(want, w.scratch.Rows()) {
		t.Errorf("rows (-live +scratch):\n%s", cmp.Diff(want, w.scratch.Rows()))
	}
	if diff := cmp.Diff(before, w.keys(t)); diff != "" || w.scratch.State() != apply.StateHeld {
		t.Errorf("the scratch target is %q; the buckets (-before +after):\n%s", w.scratch.State(), diff)
	}
}

// TestMeasuresTheRecoveryAlone: what is counted for the comparison takes a recovery no time.
func TestMeasuresTheRecoveryAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options(t)
	scratch := o.Scratch
	o.Scratch = counted{func() rehearsal.State {
		w.Pass(time.Minute)
		state, _ := scratch.Read(t.Context(), nil)
		return state
	}}
	o.Recovery.Database = slow{o.Recovery.Database, w}
	got, err := rehearsal.Run(t.Context(), o)
	if err != nil || got.Took != 3*time.Second || got.Restore != 2*time.Second || got.Ended.Sub(got.Begun) < 2*time.Minute {
		t.Errorf("got %s with a restore of %s, %v; want 3s and 2s", got.Took, got.Restore, err)
	}
}

// slow is a database that takes 2 s to restore and 1 s to settle.
type slow struct {
	recovery.Database

	world *world
}

func (d slow) Restore(ctx context.Context, b recovery.Base) (recovery.Restored, error) {
	d.world.Pass(2 * time.Second)
	return d.Database.Restore(ctx, b)
}

func (d slow) Settle(ctx context.Context, s recovery.Settlement) error {
	d.world.Pass(time.Second)
	return d.Database.Settle(ctx, s)
}

// TestARehearsalWithoutALiveTarget goes to the log's end, or as far as it is told, and compares with the archive.
func TestARehearsalWithoutALiveTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options(t)
	o.Live = nil
	got, err := rehearsal.Run(t.Context(), o)
	if err != nil || got.Verdict() != verify.Verified || got.Replayed() != 6 || slices.Contains(got.Phases, rehearsal.Compare) {
		t.Errorf("got %s, %v after %v", got.Verdict(), err, got.Phases)
	}
	w.scratch = w.Database()
	o = w.options(t)
	o.Live, o.Recovery.Until = nil, inspection.End{Offsets: position.Cut{at(0): 5}}
	if _, err = rehearsal.Run(t.Context(), o); err != nil || w.scratch.Positions(flow)[at(0)] != 5 {
		t.Errorf("got %v, want orders/0 at 5", err)
	}
	o = w.options(t)
	o.Recovery.Until = inspection.End{At: w.Now()}
	if _, err := rehearsal.Run(t.Context(), o); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v for an end beside a live target", err)
	}
}

// rotten is a database into which other rows come than the archive holds.
type rotten struct {
	recovery.Database

	with func(plain string) string
}

func (d rotten) Restore(ctx context.Context, b recovery.Base) (recovery.Restored, error) {
	fetch := b.Fetch
	b.Fetch = func(ctx context.Context, object manifest.Object) ([]byte, error) {
		plain, err := fetch(ctx, object)
		return []byte(d.with(string(plain))), err
	}
	return d.Database.Restore(ctx, b)
}

// losing is an applier that says of every record that it is in, and leaves one out.
type losing struct {
	recovery.Applier

	value string
}

func (a losing) Apply(ctx context.Context, batch record.Batch) (apply.Outcome, error) {
	for i := range batch {
		for j := range batch[i].Records {
			if rec := &batch[i].Records[j]; string(rec.Value.Bytes()) == a.value {
				rec.Value = record.Present([]byte(recoverytest.Remove("nothing")))
			}
		}
	}
	return a.Applier.Apply(ctx, batch)
}

// TestFindsWhatDiffers by name, wherever it comes from.
func TestFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world, o *rehearsal.Options)
		says   string
	}{
		"AChunkThatDecodesToOtherRows": {func(_ *world, o *rehearsal.Options) {
			o.Recovery.Database = rotten{o.Recovery.Database, func(plain string) string { return strings.Replace(plain, "v3", "v2", 1) }}
		}, `before the replay: table "public.rows" has`},
		"ARecordThatIsLostInTheReplay": {func(_ *world, o *rehearsal.Options) {
			applier := o.Recovery.Applier
			o.Recovery.Applier = func(flow string, life position.Incarnation) (recovery.Applier, error) {
				a, err := applier(flow, life)
				return losing{a, recoverytest.Put("0-2", "v5")}, err
			}
		}, `beside the live target: table "public.rows" has`},
		"ARowThatWasChangedInTheScratchDatabase": {func(w *world, o *rehearsal.Options) {
			o.Scratch = counted{func() rehearsal.State {
				rows := w.scratch.Rows()
				if w.scratch.Settled() > 0 {
					rows["0-0"] = "by hand"
				}
				return stateOf(rows, w.scratch.Positions(flow))
			}}
		}, `beside the live target: table "public.rows" has`},
		"ARowThatWasAddedToTheLiveTarget": {func(w *world, o *rehearsal.Options) {
			o.Live = counted{func() rehearsal.State {
				rows := w.State(recoverytest.Cut{flow: w.cut})
				rows["more"] = "by hand"
				return stateOf(rows, w.cut)
			}}
		}, `has 6 rows, want 7`},
		"ATableThatIsMissing": {func(w *world, o *rehearsal.Options) {
			o.Scratch = counted{func() rehearsal.State {
				s := stateOf(w.scratch.Rows(), w.scratch.Positions(flow))
				delete(s.Tables, table)
				return s
			}}
		}, `table "public.rows" is not there`},
		"APositionThatIsElsewhere": {func(w *world, o *rehearsal.Options) {
			o.Scratch = counted{func() rehearsal.State {
				cut := w.scratch.Positions(flow)
				cut[at(1)]++
				return stateOf(w.scratch.Rows(), cut)
			}}
		}, `flow shop stands at 5 in orders/1, want 4`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := w.options(t)
			c.change(w, &o)
			got, err := rehearsal.Run(t.Context(), o)
			if err != nil {
				t.Fatal(fault.Line(err))
			}
			if got.Verdict() != verify.Failed || !fault.Is(got.Err(), fault.Corrupt) {
				t.Errorf("got %s: %v", got.Verdict(), got.Err())
			}
			if said := fmt.Sprint(got.Differences); !strings.Contains(said, c.says) {
				t.Errorf("got %s, want %q in it", said, c.says)
			}
		})
	}
}

// TestTellsATableApartThatNoFlowWrites: what the live target did in it alone is said, and is no failure; unless the replay
// changed it too.
func TestTellsATableApartThatNoFlowWrites(t *testing.T) {
	t.Parallel()
	for name, replays := range map[string]bool{"TheReplayLeftItAlone": false, "TheReplayChangedIt": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := w.options(t)
			o.Recovery.Unwritten = func(body.Body) ([]string, string) { return []string{table.String()}, "" }
			o.Live = counted{func() rehearsal.State {
				if !replays {
					w.cut = maps.Clone(w.cut)
					w.cut[at(0)] = 4 // as in the backup
				}
				rows := w.State(recoverytest.Cut{flow: w.cut})
				rows["settings"] = "by hand"
				return stateOf(rows, w.cut)
			}}
			got, err := rehearsal.Run(t.Context(), o)
			if err != nil {
				t.Fatal(fault.Line(err))
			}
			want := verify.Verified
			if replays {
				want = verify.Failed
			}
			if got.Verdict() != want || len(got.Differences) != 1 || got.Differences[0].Unwritten == replays {
				t.Errorf("got %s with %v", got.Verdict(), got.Differences)
			}
		})
	}
}

// TestNeverSaysVerifiedWithoutEveryPhase, whichever it is that is missing.
func TestNeverSaysVerifiedWithoutEveryPhase(t *testing.T) {
	t.Parallel()
	for _, phase := range every {
		o := rehearsal.Outcome{Compares: true, Phases: slices.DeleteFunc(slices.Clone(every), func(p rehearsal.Phase) bool { return p == phase })}
		if o.Verdict() != verify.Unfinished || o.Err() == nil {
			t.Errorf("without %s: got %s, %v", phase, o.Verdict(), o.Err())
		}
	}
	w := newWorld(t)
	o := w.options(t)
	o.Check = func(ctx context.Context, plan recovery.Plan) (verify.Outcome, error) {
		outcome, err := w.check(ctx, t, plan)
		outcome.Share = verify.All / 20
		return outcome, err
	}
	if got, err := rehearsal.Run(t.Context(), o); err == nil || got.Verdict() != verify.Unfinished {
		t.Errorf("after a look at a sample: got %s, %v", got.Verdict(), err)
	}
	o.Check = func(ctx context.Context, plan recovery.Plan) (verify.Outcome, error) {
		outcome, err := w.check(ctx, t, plan)
		outcome.Problems = []verify.Problem{{What: "rot"}}
		return outcome, err
	}
	if got, err := rehearsal.Run(t.Context(), o); !fault.Is(err, fault.Corrupt) || got.Verdict() != verify.Failed {
		t.Errorf("after a damaged archive: got %s, %v", got.Verdict(), err)
	}
	if w.scratch.Try() != nil {
		t.Error("a recovery from a damaged archive was begun")
	}
}

// TestSaysWhatStoppedIt: a log that lost what is needed refutes the backup, a store that stutters says nothing of it.
func TestSaysWhatStoppedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Log.Trim(at(0), 6)
	got, err := rehearsal.Run(t.Context(), w.options(t))
	refused, named := errorsAs(err)
	if !named || refused.Name != refusal.LogTruncated || got.Verdict() != verify.Failed {
		t.Errorf("got %s, %v", got.Verdict(), err)
	}
	w = newWorld(t)
	o := w.options(t)
	o.Recovery.Database = failing{o.Recovery.Database}
	if got, err = rehearsal.Run(t.Context(), o); !fault.Is(err, fault.Retryable) || got.Verdict() != verify.Unfinished {
		t.Errorf("got %s, %v", got.Verdict(), err)
	}
}

// failing is a database that goes away in the end.
type failing struct{ recovery.Database }

func (failing) Settle(context.Context, recovery.Settlement) error {
	return fault.New(fault.Retryable, "it is away")
}

// TestRefusesADatabaseThatIsNotEmpty: an earlier rehearsal's can be neither gone on with nor called one's own.
func TestRefusesADatabaseThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := rehearsal.Run(t.Context(), w.options(t)); err != nil {
		t.Fatal(fault.Line(err))
	}
	got, err := rehearsal.Run(t.Context(), w.options(t))
	refused, named := errorsAs(err)
	if !named || refused.Name != refusal.TargetNotEmpty || got.Verdict() != verify.Unfinished || w.scratch.Settled() != 1 {
		t.Errorf("got %s, %v", got.Verdict(), err)
	}
}

func errorsAs(err error) (*refusal.Error, bool) { return errors.AsType[*refusal.Error](err) }
