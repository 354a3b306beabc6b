//go:build integration

package integration_test

import (
	"context"
	"sync"
	"testing"
)

// tally counts and wakes who waits for a number.
type tally struct {
	mu      sync.Mutex
	count   int
	changed chan struct{}
}

func newTally() *tally { return &tally{changed: make(chan struct{})} }

func (c *tally) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count += n
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *tally) now() (count int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count, c.changed
}

// await waits until the count has come to n, or for the end of ctx.
func (c *tally) await(ctx context.Context, n int) error {
	for {
		count, changed := c.now()
		if count >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reaches is await for a test.
func (c *tally) reaches(t *testing.T, what string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.await(ctx, n); err != nil {
		count, _ := c.now()
		t.Fatalf("%s: %d, waited in vain for %d", what, count, n)
	}
}
