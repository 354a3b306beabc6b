package writertest

import (
	"slices"

	"tidemark/shared/archive/archivetest/faulty"
)

// Trace is the calls of one process to both buckets, in their joint order.
type Trace struct{ calls []faulty.Call }

// Trace is the world's two buckets as one process sees them, with nothing going wrong.
func (w *World) Trace() (t *Trace, primary, secondary *faulty.Bucket) {
	t = &Trace{}
	plan := w.locked(func(c faulty.Call) *faulty.Fault {
		t.calls = append(t.calls, c)
		return nil
	})
	return t, faulty.New(w.Primary, plan), faulty.New(w.Secondary, plan)
}

// Numbers are the calls that a form can break, from 1 on. After its effect only a call that has one is broken in another way
// than before it.
func (t *Trace) Numbers(form Form) (numbers []int) {
	for i, c := range t.calls {
		if form == Error || form == KillBefore || slices.Contains([]string{"Create", "Delete", "Retain"}, c.Method) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}
