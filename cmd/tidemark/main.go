// Command tidemark is the operator's command: one verb a file, the same core as the functions.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report"
)

// version is the release; the build sets it.
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tidemark:", report.OneLine(exit.Message(err)))
	}
	os.Exit(exit.Code(err, interrupted))
}
