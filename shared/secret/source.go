package secret

import (
	"context"
	"sync"
	"time"

	"tidemark/shared/fault"
)

// Options configures a Source. Fetch and Now are required.
type Options struct {
	// Fetch gives the login that is kept now. Its error has a class and none of the secret.
	Fetch func(ctx context.Context) (Login, error)
	// TTL is how long a login is believed. 0 means DefaultTTL.
	TTL time.Duration
	Now func() time.Time
}

// DefaultTTL is how long a login is believed unless somebody says otherwise.
const DefaultTTL = 5 * time.Minute

// pause is the least time between two fetches: a wrong password must not become a storm of questions.
const pause = 5 * time.Second

// Source gives a login as it is kept elsewhere, where it is changed while this process runs.
//
// What was fetched is believed for a time to live, and until somebody says that a server refused it. One fetch is under way
// at a time; whoever comes meanwhile waits for it. A fetch that fails takes nothing away: the login goes on being given out,
// unless it was refused. One that was refused is fetched anew at its next use, though not within seconds of the last fetch:
// till then it is given out again, and the server is the judge. Safe for concurrent use.
type Source struct {
	options Options
	turn    chan struct{} // whoever holds it may fetch

	mu      sync.Mutex
	login   Login
	until   time.Time // when the login has run out
	refused bool      // a server refused the login
	asked   time.Time // when the last fetch ended
	failed  error     // what the last fetch came to
}

// NewSource makes a source. It fetches when it is first asked.
func NewSource(options Options) *Source {
	if options.TTL == 0 {
		options.TTL = DefaultTTL
	}
	return &Source{options: options, turn: make(chan struct{}, 1)}
}

// Current is the login to use now.
//
// Errors: Fetch's, when there is no login that could be used in place of the one that was not to be had; fault.Retryable when
// ctx ends before.
func (s *Source) Current(ctx context.Context) (Login, error) {
	if login, err, known := s.known(); known {
		return login, err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return Login{}, fault.New(fault.Retryable, "wait for the secret: %w", ctx.Err())
	}
	defer func() { <-s.turn }()
	if login, err, known := s.known(); known {
		return login, err // somebody else fetched it meanwhile
	}
	fetched, err := s.options.Fetch(ctx)
	return s.took(ctx, fetched, err)
}

// Refused says that a server refused a password that Current gave. One that has been replaced since changes nothing.
func (s *Source) Refused(password Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.login.Password.Equal(password) {
		s.refused = true
	}
}

// known is what to answer without a fetch, if there is something.
func (s *Source) known() (Login, error, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	has := !s.login.Password.IsZero()
	if has && !s.refused && now.Before(s.until) && !now.Before(s.asked) {
		return s.login, nil, true
	}
	since := now.Sub(s.asked)
	if s.asked.IsZero() || since >= pause || since < 0 { // below zero: the clock was put back
		return Login{}, nil, false
	}
	switch {
	case has && (s.failed == nil || !s.refused):
		return s.login, nil, true
	case s.failed != nil:
		return Login{}, s.failed, true
	}
	return Login{}, nil, false
}

// took keeps what a fetch came to.
func (s *Source) took(ctx context.Context, fetched Login, err error) (Login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && ctx.Err() != nil {
		return s.instead(err) // the caller's time was over, which says nothing of the secret
	}
	s.asked, s.failed = s.now(), err
	if err != nil {
		return s.instead(err)
	}
	s.login, s.refused, s.until = fetched, false, s.asked.Add(s.options.TTL)
	return fetched, nil
}

// instead is what is given out in place of what could not be fetched.
func (s *Source) instead(err error) (Login, error) {
	if s.refused || s.login.Password.IsZero() {
		return Login{}, err
	}
	return s.login, nil
}

// now is the wall clock: the monotonic one may stand still while a function is frozen.
func (s *Source) now() time.Time { return s.options.Now().Round(0) }
