package secret_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/shared/fault"
	"tidemark/shared/secret"
)

// keeper is a service that keeps a login, beside a clock.
type keeper struct {
	mu      sync.Mutex
	now     time.Time
	kept    string
	away    error
	fetches int
}

func (k *keeper) Fetch(context.Context) (secret.Login, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fetches++
	if k.away != nil {
		return secret.Login{}, k.away
	}
	return secret.Login{User: "shop", Password: secret.New(k.kept)}, nil
}

func (k *keeper) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// step is one event in the life of a source.
type step struct {
	after   time.Duration
	keep    string // the service keeps this from now on
	away    bool   // the service is away from now on
	back    bool
	refused string // a server refuses this
	wants   string // Current gives this; empty: it fails
	fetches int    // in all
}

func TestSource(t *testing.T) {
	t.Parallel()
	const ttl, long = time.Minute, time.Hour
	for name, steps := range map[string][]step{
		"BelievesForATimeToLive": {
			{keep: "a", wants: "a", fetches: 1},
			{keep: "b", after: ttl - time.Second, wants: "a", fetches: 1},
			{after: time.Second, wants: "b", fetches: 2},
		},
		"FetchesARefusedOneAnewAtOnce": {
			{keep: "a", wants: "a", fetches: 1},
			{keep: "b", after: 10 * time.Second, refused: "a", wants: "b", fetches: 2},
			{after: 10 * time.Second, wants: "b", fetches: 2},
		},
		"LeavesOneThatWasReplacedSince": {
			{keep: "a", wants: "a", fetches: 1},
			{keep: "b", after: long, wants: "b", fetches: 2},
			{after: 10 * time.Second, refused: "a", wants: "b", fetches: 2},
		},
		// The rotation's service keeps the old one until the database has the new one.
		"AsksAgainWhileTheServiceKeepsTheRefusedOne": {
			{keep: "a", wants: "a", fetches: 1},
			{after: 10 * time.Second, refused: "a", wants: "a", fetches: 2},
			{after: time.Second, refused: "a", wants: "a", fetches: 2},
			{keep: "b", after: 4 * time.Second, wants: "b", fetches: 3},
		},
		"UsesTheOldOneWhileTheServiceIsAway": {
			{keep: "a", wants: "a", fetches: 1},
			{away: true, after: long, wants: "a", fetches: 2},
			{after: time.Second, wants: "a", fetches: 2},
			{after: 5 * time.Second, wants: "a", fetches: 3},
			{back: true, keep: "b", after: 5 * time.Second, wants: "b", fetches: 4},
		},
		"GivesNoRefusedOneOutWhileTheServiceIsAway": {
			{keep: "a", wants: "a", fetches: 1},
			{away: true, after: 10 * time.Second, refused: "a", fetches: 2},
			{after: time.Second, fetches: 2},
			{back: true, keep: "b", after: 5 * time.Second, wants: "b", fetches: 3},
		},
		"RemembersAFailureForSeconds": {
			{away: true, fetches: 1},
			{back: true, keep: "a", after: 4 * time.Second, fetches: 1},
			{after: time.Second, wants: "a", fetches: 2},
		},
		"FetchesWhenTheClockWasPutBack": {
			{keep: "a", wants: "a", fetches: 1},
			{keep: "b", after: -long, wants: "b", fetches: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keeper{now: time.Unix(1_000_000, 0)}
			source := secret.NewSource(secret.Options{Fetch: k.Fetch, TTL: ttl, Now: k.Now})
			for i, s := range steps {
				k.live(s)
				if s.refused != "" {
					source.Refused(secret.New(s.refused))
				}
				login, err := source.Current(t.Context())
				if got := login.Password.Reveal(); got != s.wants || (err != nil) != (s.wants == "") {
					t.Errorf("step %d: got %q, %v, want %q", i, got, err, s.wants)
				}
				if k.fetches != s.fetches {
					t.Errorf("step %d: %d fetches, want %d", i, k.fetches, s.fetches)
				}
			}
		})
	}
}

func (k *keeper) live(s step) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = k.now.Add(s.after)
	if s.keep != "" {
		k.kept = s.keep
	}
	if s.away {
		k.away = fault.New(fault.Retryable, "it is away")
	}
	if s.back {
		k.away = nil
	}
}

func TestSourceNeverStorms(t *testing.T) {
	t.Parallel()
	t.Run("OnAPasswordThatIsWrongForEver", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			k := &keeper{now: time.Unix(1_000_000, 0), kept: "wrong"}
			begin := k.now
			source := secret.NewSource(secret.Options{Fetch: k.Fetch, TTL: time.Minute, Now: k.Now})
			for range rapid.IntRange(1, 200).Draw(t, "logins") {
				k.live(step{
					after: time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond,
					away:  rapid.IntRange(0, 9).Draw(t, "away") == 0, back: rapid.Bool().Draw(t, "back"),
				})
				if login, err := source.Current(context.Background()); err == nil {
					source.Refused(login.Password)
				}
			}
			if most := 1 + int(k.now.Sub(begin)/(5*time.Second)); k.fetches > most {
				t.Fatalf("%d fetches in %s, want at most %d", k.fetches, k.now.Sub(begin), most)
			}
		})
	})
	t.Run("WhenManyAskAtOnce", func(t *testing.T) {
		t.Parallel()
		k := &keeper{now: time.Unix(1_000_000, 0), kept: "a"}
		gate := make(chan struct{})
		source := secret.NewSource(secret.Options{Now: k.Now, Fetch: func(ctx context.Context) (secret.Login, error) {
			<-gate
			return k.Fetch(ctx)
		}})
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if login, err := source.Current(t.Context()); err != nil || login.Password.Reveal() != "a" {
					t.Errorf("got %v", err)
				}
			})
		}
		close(gate)
		group.Wait()
		if k.fetches != 1 {
			t.Errorf("%d fetches, want 1", k.fetches)
		}
	})
	t.Run("AndLetsNobodyWaitPastHisTime", func(t *testing.T) {
		t.Parallel()
		k, gate, entered := &keeper{kept: "a"}, make(chan struct{}), make(chan struct{})
		source := secret.NewSource(secret.Options{Now: time.Now, Fetch: func(ctx context.Context) (secret.Login, error) {
			close(entered)
			<-gate
			return k.Fetch(ctx)
		}})
		var group sync.WaitGroup
		group.Go(func() { _, _ = source.Current(t.Context()) })
		<-entered
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := source.Current(ctx); !fault.Is(err, fault.Retryable) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want it retryable", err)
		}
		close(gate)
		group.Wait()
	})
	t.Run("AndTakesACallersEndForNoFailure", func(t *testing.T) {
		t.Parallel()
		k := &keeper{now: time.Unix(1_000_000, 0), kept: "a", away: fault.New(fault.Retryable, "ended")}
		source := secret.NewSource(secret.Options{Fetch: k.Fetch, Now: k.Now})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := source.Current(ctx); err == nil {
			t.Error("got a login")
		}
		k.away = nil
		if login, err := source.Current(t.Context()); err != nil || login.Password.Reveal() != "a" {
			t.Errorf("got %v", err)
		}
	})
}
