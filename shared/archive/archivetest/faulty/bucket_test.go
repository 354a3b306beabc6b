package faulty_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/fault"
)

func open(plans ...faulty.Plan) (*archivetest.Memory, *faulty.Bucket) {
	memory := archivetest.NewMemory(time.Now)
	return memory, faulty.New(memory, plans...)
}

// holds says whether a bucket has that content under a key.
func holds(t *testing.T, bucket archive.Bucket, key, content string) bool {
	t.Helper()
	got, err := bucket.Read(t.Context(), key, archive.Span{Limit: 1 << 20})
	if err != nil && !errors.Is(err, archive.ErrNotFound) {
		t.Fatalf("read %s: %v", key, err)
	}
	return err == nil && string(got) == content
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err, want error, class fault.Class) {
	t.Helper()
	if !errors.Is(err, want) || !fault.Is(err, class) {
		t.Errorf("got error %v of class %s, want %q of class %s", err, fault.ClassOf(err), want, class)
	}
}

func list(t *testing.T, bucket archive.Bucket) (keys []string, err error) {
	t.Helper()
	for info, err := range bucket.List(t.Context(), "") {
		if err != nil {
			return keys, err
		}
		keys = append(keys, info.Key)
	}
	return keys, nil
}

func TestBucket(t *testing.T) {
	t.Parallel()
	fresh := func(*testing.T) archive.Bucket {
		_, bucket := open()
		return bucket
	}
	archivetest.Exercise(t, fresh, archivetest.KeepsChecksums)
	archivetest.ExerciseVersioned(t, fresh)
	archivetest.ExerciseRetention(t, fresh)
}

func TestBucketNumbersEveryCall(t *testing.T) {
	t.Parallel()
	_, bucket := open()
	ctx := t.Context()
	must(t, bucket.Create(ctx, "a", []byte("1")))
	_, err := bucket.Stat(ctx, "a")
	must(t, err)
	_, err = bucket.Read(ctx, "a", archive.Span{Limit: 1})
	must(t, err)
	listing := bucket.List(ctx, "a")
	must(t, bucket.Retain(ctx, "a", time.Time{}))
	for _, err := range listing { // begins here
		must(t, err)
		break
	}
	must(t, bucket.Delete(ctx, "a"))
	want := []faulty.Call{
		{1, "Create", "a"}, {2, "Stat", "a"}, {3, "Read", "a"}, {4, "Retain", "a"}, {5, "List", "a"}, {6, "Delete", "a"},
	}
	if diff := cmp.Diff(want, bucket.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestBucketFailsBeforeTheEffect(t *testing.T) {
	t.Parallel()
	memory, bucket := open(faulty.At(2, faulty.Fault{Fail: fault.Wrap(fault.Retryable, io.ErrClosedPipe)}))
	must(t, bucket.Create(t.Context(), "a", []byte("1")))
	wantError(t, bucket.Create(t.Context(), "b", []byte("2")), io.ErrClosedPipe, fault.Retryable)
	if holds(t, memory, "b", "2") {
		t.Error("the call that failed took effect")
	}
	must(t, bucket.Create(t.Context(), "b", []byte("3")))
}

func TestBucketDropsReplies(t *testing.T) {
	t.Parallel()
	drop := faulty.Fault{Drop: true}
	memory, bucket := open(faulty.At(1, drop), faulty.At(2, drop), faulty.At(3, drop), faulty.At(4, drop),
		faulty.At(5, drop), faulty.At(6, drop))
	wantError(t, bucket.Create(t.Context(), "a", []byte("1")), faulty.ErrReplyLost, fault.UnknownOutcome)
	if !holds(t, memory, "a", "1") {
		t.Error("the creation whose reply was lost did not land")
	}
	err := bucket.Create(t.Context(), "a", []byte("1"))
	wantError(t, err, faulty.ErrReplyLost, fault.UnknownOutcome)
	if errors.Is(err, archive.ErrExists) {
		t.Errorf("got %v: the store's answer is known", err)
	}
	content, err := bucket.Read(t.Context(), "a", archive.Span{Limit: 1})
	wantError(t, err, faulty.ErrReplyLost, fault.Retryable)
	info, err := bucket.Stat(t.Context(), "a")
	wantError(t, err, faulty.ErrReplyLost, fault.Retryable)
	if len(content) > 0 || info.Key != "" {
		t.Errorf("got %q and %+v beside the errors", content, info)
	}
	_, err = list(t, bucket)
	wantError(t, err, faulty.ErrReplyLost, fault.Retryable)
	wantError(t, bucket.Delete(t.Context(), "a"), faulty.ErrReplyLost, fault.UnknownOutcome)
	if holds(t, memory, "a", "1") {
		t.Error("the deletion whose reply was lost did not land")
	}
}

func TestBucketHoldsACall(t *testing.T) {
	t.Parallel()
	before, after := faulty.NewGate(), faulty.NewGate()
	memory, bucket := open(faulty.At(1, faulty.Fault{Hold: before, HoldReply: after}))
	done := make(chan error, 1)
	go func() { done <- bucket.Create(t.Context(), "a", []byte("frozen")) }()
	<-before.Reached()
	if holds(t, memory, "a", "frozen") {
		t.Error("the call took effect while it was held")
	}
	must(t, bucket.Create(t.Context(), "b", nil)) // goes past
	before.Release()
	<-after.Reached()
	if !holds(t, memory, "a", "frozen") {
		t.Error("the call did not take effect before its reply was held")
	}
	select {
	case err := <-done:
		t.Errorf("the call returned %v while its reply was held", err)
	default:
	}
	after.Release()
	must(t, <-done)
}

func TestBucketLetsGoOfACallWhoseContextEnds(t *testing.T) {
	t.Parallel()
	memory, bucket := open(faulty.At(1, faulty.Fault{Hold: faulty.NewGate()}),
		faulty.At(2, faulty.Fault{HoldReply: faulty.NewGate()}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, bucket.Create(ctx, "a", nil), context.Canceled, fault.Retryable)
	wantError(t, bucket.Delete(ctx, "a"), context.Canceled, fault.UnknownOutcome)
	if holds(t, memory, "a", "") {
		t.Error("a call that was held took effect when it was given up")
	}
}

func TestBucketKills(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kill  faulty.Kill
		lands bool
	}{
		"BeforeTheEffect": {faulty.KillBefore, false},
		"AfterTheEffect":  {faulty.KillAfter, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory, bucket := open(faulty.At(2, faulty.Fault{Kill: test.kill}))
			must(t, bucket.Create(t.Context(), "a", []byte("1")))
			wantError(t, bucket.Create(t.Context(), "b", []byte("2")), faulty.ErrKilled, fault.Bug)
			if got := holds(t, memory, "b", "2"); got != test.lands {
				t.Errorf("the killed call landed: %t, want %t", got, test.lands)
			}
			wantError(t, bucket.Create(t.Context(), "c", nil), faulty.ErrKilled, fault.Bug)
			wantError(t, bucket.Delete(t.Context(), "a"), faulty.ErrKilled, fault.Bug)
			wantError(t, bucket.Retain(t.Context(), "a", time.Time{}), faulty.ErrKilled, fault.Bug)
			_, err := bucket.Read(t.Context(), "a", archive.Span{Limit: 1})
			wantError(t, err, faulty.ErrKilled, fault.Bug)
			_, err = bucket.Stat(t.Context(), "a")
			wantError(t, err, faulty.ErrKilled, fault.Bug)
			keys, err := list(t, bucket)
			wantError(t, err, faulty.ErrKilled, fault.Bug)
			if len(keys) > 0 {
				t.Errorf("a dead process listed %v", keys)
			}
			if holds(t, memory, "c", "") || !holds(t, memory, "a", "1") {
				t.Error("a call after the kill landed")
			}
			if calls := len(bucket.Calls()); calls != 2 {
				t.Errorf("%d calls were numbered, want the 2 that the store saw", calls)
			}
		})
	}
}

func TestBucketKillsHeldCallsForGood(t *testing.T) {
	t.Parallel()
	gate := faulty.NewGate()
	memory, bucket := open(faulty.At(1, faulty.Fault{Hold: gate}))
	done := make(chan error, 1)
	go func() { done <- bucket.Create(t.Context(), "a", []byte("frozen")) }()
	<-gate.Reached()
	bucket.Kill()
	bucket.Kill() // is dead already
	gate.Release()
	wantError(t, <-done, faulty.ErrKilled, fault.Bug)
	if holds(t, memory, "a", "frozen") {
		t.Error("a call of a dead process landed")
	}
}

func TestBucketKilledByItsPlanTakesNoEffect(t *testing.T) {
	t.Parallel()
	var kill func()
	memory, bucket := open(func(faulty.Call) *faulty.Fault {
		kill() // comes between the call and its effect
		return nil
	})
	kill = bucket.Kill
	wantError(t, bucket.Create(t.Context(), "a", nil), faulty.ErrKilled, fault.Bug)
	if holds(t, memory, "a", "") {
		t.Error("a call of a dead process landed")
	}
}

// TestBucketHoldsTheFirstUntilTheSecondLanded: beneath it, another one holds the effect of the second.
func TestBucketHoldsTheFirstUntilTheSecondLanded(t *testing.T) {
	t.Parallel()
	gate := faulty.NewGate()
	_, inner := open(faulty.At(1, faulty.Fault{Hold: gate}))
	bucket := faulty.New(inner, faulty.Reorder(1, 2))
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- bucket.Create(t.Context(), "a", nil) }()
	for len(bucket.Calls()) == 0 { // the first has its number
		runtime.Gosched()
	}
	go func() { second <- bucket.Create(t.Context(), "a", nil) }()
	<-gate.Reached()
	for range 1_000 { // whoever is let go has the time to go
		runtime.Gosched()
	}
	if calls := len(inner.Calls()); calls != 1 {
		t.Errorf("%d calls came through, want the second alone", calls)
	}
	gate.Release()
	must(t, <-second)
	wantError(t, <-first, archive.ErrExists, fault.Fenced)
}

func TestBucketReordersTwoCreates(t *testing.T) {
	t.Parallel()
	for range 50 {
		memory, bucket := open(faulty.Reorder(1, 2))
		outcomes := map[string]error{}
		var mu sync.Mutex
		var group sync.WaitGroup
		for _, content := range []string{"x", "y"} {
			group.Go(func() {
				err := bucket.Create(t.Context(), "a", []byte(content))
				mu.Lock()
				defer mu.Unlock()
				outcomes[content] = err
			})
		}
		group.Wait()
		for content, err := range outcomes {
			if (err == nil) != holds(t, memory, "a", content) {
				t.Errorf("the writer of %s got %v", content, err)
			}
		}
	}
	memory, bucket := open(faulty.Reorder(1, 2))
	first := make(chan error, 1)
	go func() { first <- bucket.Create(t.Context(), "a", []byte("first")) }()
	for len(bucket.Calls()) == 0 { // the first has its number
		runtime.Gosched()
	}
	must(t, bucket.Create(t.Context(), "a", []byte("second")))
	wantError(t, <-first, archive.ErrExists, fault.Fenced)
	if !holds(t, memory, "a", "second") {
		t.Error("the first call took effect first")
	}
}

func TestBucketLetsTheFirstPlanDecide(t *testing.T) {
	t.Parallel()
	lineages := func(c faulty.Call) *faulty.Fault {
		if c.Method == "Create" && c.Key == "lineages/1.json" {
			return &faulty.Fault{Drop: true}
		}
		return nil
	}
	_, bucket := open(lineages, faulty.At(2, faulty.Fault{Fail: io.EOF}))
	must(t, bucket.Create(t.Context(), "a", nil))
	wantError(t, bucket.Create(t.Context(), "lineages/1.json", nil), faulty.ErrReplyLost, fault.UnknownOutcome)
}

// noLocks hides what a bucket can do beside the contract.
type noLocks struct{ archive.Bucket }

func TestBucketHasNoLocksWhereThereAreNone(t *testing.T) {
	t.Parallel()
	memory, _ := open()
	err := faulty.New(noLocks{memory}).Retain(t.Context(), "a", time.Time{})
	if !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v of class %s, want class misconfigured", err, fault.ClassOf(err))
	}
}
