//go:build drill

package drill_test

import (
	"errors"
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
	l.output.forget()
	l.settle(t, batch, 1)
	w.ends(t, w.end())
	runs := 0
	for _, line := range l.output.lines() {
		if line.Msg != "batch applied" {
			continue
		}
		if runs++; line.Applied != 0 || line.Skipped == 0 {
			t.Errorf("%s/%d: applied %d, skipped %d", line.Topic, line.Partition, line.Applied, line.Skipped)
		}
	}
	if runs != len(batch) {
		t.Errorf("%d partitions were skipped, want %d", runs, len(batch))
	}
}
