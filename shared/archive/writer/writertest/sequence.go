package writertest

import (
	"slices"
	"sync"

	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/fault"
)

// Form is a way in which one call goes wrong.
type Form string

// The forms: an error before any effect, an effect whose reply is lost, the death of the process before or after the effect.
const (
	Error      Form = "error"
	ReplyLost  Form = "reply lost"
	KillBefore Form = "killed before"
	KillAfter  Form = "killed after"
)

// Forms are all of them.
func Forms() []Form { return []Form{Error, ReplyLost, KillBefore, KillAfter} }

// Kills says whether the process dies by it.
func (f Form) Kills() bool { return f == KillBefore || f == KillAfter }

// Call is a call that leaves a process.
type Call struct {
	N      int    // from 1 on
	Place  string // primary, secondary, database, …
	Method string
	Key    string // of an object, or what else tells calls of a method apart
}

// Plan says what goes wrong with a call; the empty form is nothing. It may do something by itself meanwhile: cancel, change
// something, run another process.
type Plan func(Call) Form

// At is the plan that the nth call goes wrong.
func At(n int, form Form) Plan {
	return func(c Call) Form {
		if c.N == n {
			return form
		}
		return ""
	}
}

// Sequence numbers all calls of one process, whatever they call, and says what goes wrong with each. Once a call has killed the
// process, every further one is killed before its effect and has no number.
type Sequence struct {
	plan Plan

	mu    sync.Mutex
	calls []Call
	dead  bool
}

// NewSequence is a sequence without calls. A nil plan breaks nothing.
func NewSequence(plan Plan) *Sequence { return &Sequence{plan: plan} }

// Calls are the calls so far.
func (s *Sequence) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Next numbers a call and says what goes wrong with it.
func (s *Sequence) Next(place, method, key string) Form {
	s.mu.Lock()
	if s.dead {
		s.mu.Unlock()
		return KillBefore
	}
	call := Call{N: len(s.calls) + 1, Place: place, Method: method, Key: key}
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if s.plan == nil {
		return ""
	}
	form := s.plan(call)
	if form.Kills() {
		s.mu.Lock()
		s.dead = true
		s.mu.Unlock()
	}
	return form
}

// Bucket is the part of the sequence that goes to one bucket. dies, if it is given, is called when a call of it kills the process.
func (s *Sequence) Bucket(place string, dies func()) faulty.Plan {
	return func(c faulty.Call) *faulty.Fault {
		form := s.Next(place, c.Method, c.Key)
		if form.Kills() && dies != nil {
			dies()
		}
		switch form {
		case Error:
			return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store stutters")}
		case ReplyLost:
			return &faulty.Fault{Drop: true}
		case KillBefore:
			return &faulty.Fault{Kill: faulty.KillBefore}
		case KillAfter:
			return &faulty.Fault{Kill: faulty.KillAfter}
		}
		return nil
	}
}

// Break is the world's two buckets as one process sees them, with one call going wrong: the nth of both together.
func (w *World) Break(n int, form Form) (primary, secondary *faulty.Bucket) {
	_, primary, secondary = w.follow(At(n, form))
	return primary, secondary
}

func (w *World) follow(plan Plan) (s *Sequence, primary, secondary *faulty.Bucket) {
	s = NewSequence(plan)
	return s, faulty.New(w.Primary, s.Bucket("primary", nil)), faulty.New(w.Secondary, s.Bucket("secondary", nil))
}

// Trace is the calls of one process to both buckets, in their joint order.
type Trace struct{ *Sequence }

// Trace is the world's two buckets as one process sees them, with nothing going wrong.
func (w *World) Trace() (t Trace, primary, secondary *faulty.Bucket) {
	t.Sequence, primary, secondary = w.follow(nil)
	return t, primary, secondary
}

// Numbers are the calls that a form can break. After its effect only a call that has one is broken in another way than before
// it.
func (t Trace) Numbers(form Form) (numbers []int) {
	for _, c := range t.Calls() {
		if form == Error || form == KillBefore || slices.Contains([]string{"Create", "Delete", "Retain"}, c.Method) {
			numbers = append(numbers, c.N)
		}
	}
	return numbers
}

// Hold is the world's two buckets as one process sees them, which freezes at the nth call of both together: before it takes
// effect, or after it, before the process learns of it.
func (w *World) Hold(n int, after bool, gate *faulty.Gate) (primary, secondary *faulty.Bucket) {
	var mu sync.Mutex
	count := 0
	plan := func(faulty.Call) *faulty.Fault {
		mu.Lock()
		defer mu.Unlock()
		if count++; count != n {
			return nil
		}
		if after {
			return &faulty.Fault{HoldReply: gate}
		}
		return &faulty.Fault{Hold: gate}
	}
	return faulty.New(w.Primary, plan), faulty.New(w.Secondary, plan)
}
