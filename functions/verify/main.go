// Command verify is the function that verifies backups: schedules invoke it, one for a look at the archive and one for a
// rehearsal, or a person with {"level":"files|hash|data","sample":"5%"}.
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
