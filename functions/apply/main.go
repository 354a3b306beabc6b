// Command apply is the function that applies batches of a Kafka topic to the target: the event source invokes it.
package main

import (
	"context"
	stdlog "log"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"tidemark/shared/fault"
)

const closeTimeout = 400 * time.Millisecond // Lambda kills the process half a second after SIGTERM

// version is the release; the build sets it.
var version = "development"

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	h, err := assemble(os.Stdout)
	if err != nil {
		log.LogAttrs(context.Background(), slog.LevelError, "cannot start", fault.Attributes(err)...)
		os.Exit(1)
	}
	h.announce(context.Background())
	stdlog.SetFlags(0) // the runtime prints a failed invocation as JSON, behind whatever stands in front
	lambda.StartWithOptions(h, lambda.WithEnableSIGTERM(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		h.target.Close(ctx)
	}))
}
