//go:build integration

package ssmmark_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"tidemark/localstack/aws"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/ssmmark"
	"tidemark/shared/fault"
)

// TestMarkInAStandIn asks a service that somebody else wrote for what the service of the other tests believes.
func TestMarkInAStandIn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server, err := aws.StartLocalStack(ctx, aws.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	client := ssm.NewFromConfig(server.Config())
	m := ssmmark.New(client, name)
	expect(t, m, history.Mark{})
	for _, step := range []struct{ raise, want history.Mark }{
		{mark(1, 5), mark(1, 5)}, {mark(1, 4), mark(1, 5)}, {mark(1, 6), mark(1, 6)}, {mark(2, 1), mark(2, 1)},
	} {
		if err := m.Raise(ctx, step.raise); err != nil {
			t.Fatal(err)
		}
		expect(t, m, step.want)
	}
	const writers = 4
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			if err := ssmmark.New(client, name).Raise(ctx, mark(3, int64(i)+1)); err != nil && !fault.Is(err, fault.Retryable) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	expect(t, m, mark(3, writers))
}
