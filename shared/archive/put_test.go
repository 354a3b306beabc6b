package archive_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/fault"
)

const key = "manifests/a.json"

func content() []byte { return []byte("a statement") }

// sequence is the plan that the calls of a method go wrong one after the other; nil is nothing, and so is what follows.
func sequence(method string, faults ...*faulty.Fault) faulty.Plan {
	return func(c faulty.Call) *faulty.Fault {
		if c.Method != method || len(faults) == 0 {
			return nil
		}
		f := faults[0]
		faults = faults[1:]
		return f
	}
}

func fails(err error) *faulty.Fault { return &faulty.Fault{Fail: err} }

func lost() *faulty.Fault { return &faulty.Fault{Drop: true} }

func conflict() error { return fault.New(fault.Retryable, "create: %w", archive.ErrConflict) }

func unknown() error { return fault.New(fault.UnknownOutcome, "create: no reply") }

func denied() error { return fault.New(fault.Misconfigured, "create: %w", archive.ErrDenied) }

func repeated(f *faulty.Fault) []*faulty.Fault { return slices.Repeat([]*faulty.Fault{f}, 100) }

// TestPut: each answer of a store, and what is known after it. None of them deletes anything.
func TestPut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		held  string // under the key before
		plans []faulty.Plan
		class fault.Class // Unclassified: it succeeds
		err   error
		tries int
		there bool // content is under the key in the end
	}{
		"Creates":                      {tries: 1, there: true},
		"RepeatsAfterAConflict":        {plans: []faulty.Plan{sequence("Create", fails(conflict()), fails(conflict()))}, tries: 3, there: true},
		"KnowsItsOwnBytes":             {held: "a statement", tries: 1, there: true},
		"RefusesOtherBytes":            {held: "another one", class: fault.Fenced, err: archive.ErrExists, tries: 1},
		"RefusesOtherBytesOfOtherSize": {held: "longer than that", class: fault.Fenced, err: archive.ErrExists, tries: 1},
		"ReadsBackAfterALostReply":     {plans: []faulty.Plan{sequence("Create", lost())}, tries: 1, there: true},
		"FindsAnothersAfterALostReply": {
			held: "another one", plans: []faulty.Plan{sequence("Create", lost())}, class: fault.Fenced, err: archive.ErrExists, tries: 1,
		},
		"RepeatsWhatDidNotLand": {plans: []faulty.Plan{sequence("Create", fails(unknown()))}, tries: 2, there: true},
		"DoesNotKnowWhenNothingLands": {
			plans: []faulty.Plan{sequence("Create", repeated(fails(unknown()))...)}, class: fault.UnknownOutcome, tries: 6,
		},
		"DoesNotKnowWhenConflictsGoOn": {
			plans: []faulty.Plan{sequence("Create", repeated(fails(conflict()))...)}, class: fault.UnknownOutcome, err: archive.ErrConflict,
			tries: 6,
		},
		"DoesNotKnowWhenItCannotReadBack": {
			plans: []faulty.Plan{sequence("Create", repeated(lost())...), sequence("Stat", repeated(lost())...)},
			class: fault.UnknownOutcome, tries: 6, there: true,
		},
		"FindsItAtTheNextReadingBack": {
			plans: []faulty.Plan{sequence("Create", repeated(lost())...), sequence("Stat", lost())}, tries: 2, there: true,
		},
		"BelievesADenialAtOnce": {
			plans: []faulty.Plan{sequence("Create", fails(denied()))}, class: fault.Misconfigured, err: archive.ErrDenied, tries: 1,
		},
		"DoesNotKnowWhenDeniedAfterALostReply": {
			plans: []faulty.Plan{sequence("Create", lost(), fails(denied())), sequence("Stat", lost())},
			class: fault.UnknownOutcome, err: archive.ErrDenied, tries: 2, there: true,
		},
		"DoesNotKnowWhenReadingBackIsDenied": {
			plans: []faulty.Plan{sequence("Create", lost()), sequence("Stat", fails(denied()))},
			class: fault.UnknownOutcome, err: archive.ErrDenied, tries: 1, there: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory := archivetest.NewMemory(time.Now)
				if test.held != "" {
					if err := memory.Create(t.Context(), key, []byte(test.held)); err != nil {
						t.Fatal(err)
					}
				}
				bucket := faulty.New(memory, test.plans...)
				err := archive.Put(t.Context(), bucket, key, content())
				if fault.ClassOf(err) != test.class || test.err != nil && !errors.Is(err, test.err) {
					t.Errorf("got %v of class %s, want %v of class %s", err, fault.ClassOf(err), test.err, test.class)
				}
				if got := calls(bucket, "Create"); got != test.tries {
					t.Errorf("%d tries, want %d", got, test.tries)
				}
				if calls(bucket, "Delete") > 0 {
					t.Error("something was deleted")
				}
				found, err := memory.Read(t.Context(), key, archive.Span{Limit: 100})
				if got := err == nil && string(found) == string(content()); got != test.there {
					t.Errorf("the key holds %q, %v; want the content there: %t", found, err, test.there)
				}
			})
		})
	}
}

func calls(bucket *faulty.Bucket, method string) (n int) {
	for _, call := range bucket.Calls() {
		if call.Method == method {
			n++
		}
	}
	return n
}

// withoutChecksums is a bucket of a store that keeps none.
type withoutChecksums struct{ archive.Bucket }

func (b withoutChecksums) Stat(ctx context.Context, key string) (archive.Info, error) {
	info, err := b.Bucket.Stat(ctx, key)
	info.Checksum = ""
	return info, err
}

func TestPutReadsBack(t *testing.T) {
	t.Parallel()
	large, other := make([]byte, 8<<20), make([]byte, 8<<20)
	other[len(other)-1] = 1
	for name, test := range map[string]struct {
		wrap  func(archive.Bucket) archive.Bucket
		reads int
	}{
		"ByTheChecksumWhereTheStoreKeepsOne": {func(b archive.Bucket) archive.Bucket { return b }, 0},
		"ByTheBytesWhereItKeepsNone":         {func(b archive.Bucket) archive.Bucket { return withoutChecksums{b} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := faulty.New(test.wrap(archivetest.NewMemory(time.Now)))
			for _, err := range []error{
				archive.Put(t.Context(), bucket, key, large), archive.Put(t.Context(), bucket, key, large),
			} {
				if err != nil {
					t.Errorf("equal bytes: %v", err)
				}
			}
			if got := calls(bucket, "Read"); got != test.reads {
				t.Errorf("%d bodies were read, want %d", got, test.reads)
			}
			if err := archive.Put(t.Context(), bucket, key, other); !errors.Is(err, archive.ErrExists) || !fault.Is(err, fault.Fenced) {
				t.Errorf("other bytes of the same size: got %v, want ErrExists", err)
			}
		})
	}
}

func TestPutWaitsLongerEachTimeAndNotForAContextThatEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bucket := faulty.New(archivetest.NewMemory(time.Now), sequence("Create", repeated(fails(unknown()))...))
		begun := time.Now()
		if err := archive.Put(t.Context(), bucket, key, content()); !fault.Is(err, fault.UnknownOutcome) {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(begun); waited != 1550*time.Millisecond {
			t.Errorf("it waited %s, want 50, 100, 200, 400 and 800 ms", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		defer cancel()
		before := calls(bucket, "Create")
		err := archive.Put(ctx, bucket, key, content())
		if !fault.Is(err, fault.UnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context and an unknown outcome", err)
		}
		if tries := calls(bucket, "Create") - before; tries != 2 {
			t.Errorf("%d tries in 60 ms, want 2", tries)
		}
	})
}

// overwriting is a bucket of a store that takes no notice of If-None-Match.
type overwriting struct{ *archivetest.Memory }

func (o overwriting) Create(ctx context.Context, key string, content []byte) error {
	if err := o.Delete(ctx, key); err != nil {
		return err
	}
	return o.Memory.Create(ctx, key, content)
}

func TestIsCreateOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wrap  func(*archivetest.Memory) archive.Bucket
		plan  faulty.Plan
		want  bool
		class fault.Class
	}{
		"SeesARefusal":    {want: true},
		"SeesAnOverwrite": {wrap: func(m *archivetest.Memory) archive.Bucket { return overwriting{m} }},
		"AsksAgain":       {plan: sequence("Create", lost(), fails(conflict())), want: true},
		"GivesUp":         {plan: sequence("Create", repeated(fails(conflict()))...), class: fault.Retryable},
		"SaysADenial":     {plan: sequence("Create", fails(denied())), class: fault.Misconfigured},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory := archivetest.NewMemory(time.Now)
				if err := memory.Create(t.Context(), key, content()); err != nil {
					t.Fatal(err)
				}
				var inner archive.Bucket = memory
				if test.wrap != nil {
					inner = test.wrap(memory)
				}
				plan := test.plan
				if plan == nil {
					plan = func(faulty.Call) *faulty.Fault { return nil }
				}
				got, err := archive.IsCreateOnly(t.Context(), faulty.New(inner, plan), key, content())
				if got != test.want || fault.ClassOf(err) != test.class {
					t.Errorf("got %t, %v, want %t and class %s", got, err, test.want, test.class)
				}
			})
		})
	}
}
