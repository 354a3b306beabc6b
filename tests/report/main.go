// Command report reads the events of go test -json: one run of the tests serves people and the documents' tables.
//
//	go test -json ./... | report lines -save build/test.json
//	report tables -events build/test.json README.md docs
//
// lines prints what go test would have printed, and fails on a failed test, on a skipped one, and where nothing ran.
// tables fails unless every test that a table names has run and passed. It owns no test and starts none.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

func main() {
	tree, err := os.OpenRoot(".")
	if err == nil {
		err = run(tree, os.Args[1:], os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// run reads and writes files of tree only.
func run(tree *os.Root, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say lines or tables")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	switch args[0] {
	case "lines":
		save := flags.String("save", "", "keep the events in this `file` when everything passed")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return lines(tree, in, out, *save)
	case "tables":
		events := flags.String("events", "build/test.json", "`file` with the events of the run")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return tables(tree.FS(), out, module(), *events, flags.Args())
	}
	return fmt.Errorf("%q: say lines or tables", args[0])
}

// module is the path of the module that this binary was built in, without which a package's short name means nothing.
func module() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Path
	}
	return ""
}
