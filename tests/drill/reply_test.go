//go:build drill

package drill_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"tidemark/localstack/runtimeapi"
)

// TestReplyLost loses the reply to the event source: what comes again is skipped by the checkpoint and answered success.
func TestReplyLost(t *testing.T) {
	t.Parallel()
	t.Run("OnTheWay", func(t *testing.T) {
		t.Parallel()
		replyLost(t, runtimeapi.ErrReplyDropped, func(*lambda) {})
	})
	t.Run("WithTheProcess", func(t *testing.T) {
		t.Parallel()
		replyLost(t, nil, (*lambda).kill)
	})
}

// replyLost drops the reply to the second delivery and does something to the process at that moment.
func replyLost(t *testing.T, want error, meanwhile func(*lambda)) {
	t.Helper()
	w := newWorld(t)
	var l *lambda
	var drop atomic.Bool
	l = w.newLambda(t, lambdaOptions{onResponse: func(string, []byte) bool {
		if !drop.Swap(false) {
			return false
		}
		meanwhile(l)
		return true
	}})
	l.settle(t, w.batch(nil, w.first), 1)
	batch := w.batch(w.first, w.end())
	drop.Store(true)
	lost := l.deliver(t, batch)
	if lost.err == nil || want != nil && !errors.Is(lost.err, want) {
		t.Errorf("got %v, want a lost reply", lost.err)
	}
	w.ends(t, w.end())
	l.settle(t, batch, 1)
	w.ends(t, w.end())
	runs := slices.DeleteFunc(l.log(), func(of line) bool { return of.Msg != "batch applied" })
	for _, last := range runs[max(0, len(runs)-len(batch)):] {
		if last.Applied != 0 || last.Skipped == 0 {
			t.Errorf("%s/%d: applied %d, skipped %d", last.Topic, last.Partition, last.Applied, last.Skipped)
		}
	}
	if len(runs) < len(batch) {
		t.Errorf("the log tells of %d partitions, want %d", len(runs), len(batch))
	}
}
