// Command install puts into the user's cache what the slower stand-ins run from, so that no test has to wait for it: it
// builds MinIO and installs LocalStack and MiniStack. What is there already is left alone.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sync/errgroup"

	"tidemark/localstack/aws"
	"tidemark/localstack/minio"
	"tidemark/shared/fault"
)

func main() {
	if err := install(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, fault.Line(err)) // there is nowhere else to say it
		os.Exit(1)
	}
}

func install() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return minio.Install(ctx) })
	group.Go(func() error { return aws.Install(ctx, aws.Options{}) })
	return group.Wait()
}
