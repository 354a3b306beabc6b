// Command backup is the function that backs the target up: a schedule invokes it, or a person with {}.
package main

import (
	"context"
	stdlog "log"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"tidemark/shared/fault"
)

// version is the release; the build sets it.
var version = "development"

func main() {
	// At SIGTERM the sessions of the database end, and with them its locks: a machine that is put away says no goodbye.
	ctx, stop := context.WithCancel(context.Background())
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	h, err := assemble(ctx, os.Stdout)
	if err != nil {
		log.LogAttrs(ctx, slog.LevelError, "cannot start", fault.Attributes(err)...)
		stop()
		os.Exit(1)
	}
	h.announce(ctx)
	stdlog.SetFlags(0) // the runtime prints a failed invocation as JSON, behind whatever stands in front
	lambda.StartWithOptions(h, lambda.WithContext(ctx), lambda.WithEnableSIGTERM(stop))
}
