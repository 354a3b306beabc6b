// Command configuration writes docs/configuration.md, the reference of all variables and keys, from the tables that
// read and check them.
//
// With -check it writes nothing, and exits with 1 and the first line that differs when the page is stale. It holds no
// knowledge of any setting; it is run by make and stands in no deployed binary. Paths are relative to where it is run.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("configuration", flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("file", "docs/configuration.md", "the page")
	check := flags.Bool("check", false, "compare the page instead of writing it")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	act := write
	if *check {
		act = compare
	}
	if err := act(*path); err != nil {
		_, _ = fmt.Fprintln(stderr, err) // the exit code says it too
		return 1
	}
	return 0
}
