// Command demo shows Tidemark at work on one machine: recorded Debezium events through Kafka, an event source and the
// real apply function into PostgreSQL, with the function killed on the way.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	equal, err := run(ctx, os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	case !equal:
		fmt.Fprintln(os.Stderr, "demo: the target differs from the source")
		os.Exit(1)
	}
}
