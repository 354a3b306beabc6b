// Command mutants breaks each invariant of the ledger in turn and expects its named test to turn red.
//
// A mutant is a text of one source file and what stands in its place. The go tool compiles it in through an overlay, so
// the product holds no switch for it and the tree is never touched. A mutant whose text is gone, whose test is not red, or
// whose test is red without it, fails the run.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survivors := 0
	for _, m := range mutants() {
		verdict, err := m.hunt(ctx)
		if err != nil {
			survivors++
			verdict = "FAILED: " + err.Error()
		}
		fmt.Printf("%-3s %-62s %s\n", m.law, m.breaks, verdict) //nolint:forbidigo // a table for a person
	}
	if survivors > 0 {
		fmt.Fprintf(os.Stderr, "mutants: %d of %d laws are not guarded\n", survivors, len(mutants()))
		stop()
		os.Exit(1)
	}
}
