package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// transcript turns events back into the lines of go test and counts what happened.
//
// Packages run side by side and their events mix; a package's lines are held back until it ends, so they stay together.
// Of the tests only those that failed, were skipped or never ended are told.
type transcript struct {
	out      io.Writer
	packages map[string]*packageRun // those that have not ended
	count    map[string]int         // tests by how they ended
	broken   int                    // packages that failed
}

type packageRun struct {
	running map[string][]string // lines of each test that has not ended
	told    []string            // lines of the tests that did not pass
	own     []string            // lines of no test
}

func newTranscript(out io.Writer) *transcript {
	return &transcript{out: out, packages: map[string]*packageRun{}, count: map[string]int{}}
}

// add takes the next event.
func (t *transcript) add(e event) error {
	switch {
	case e.Action == "build-output":
		return t.print(e.Output)
	case e.Package == "":
		return nil
	case e.Test == "":
		return t.addPackage(e)
	}
	t.run(e.Package).add(e)
	switch e.Action {
	case "pass", "fail", "skip":
		t.count[e.Action]++
	}
	return nil
}

// addPackage takes an event that belongs to a package and to none of its tests.
func (t *transcript) addPackage(e event) error {
	p := t.run(e.Package)
	switch e.Action {
	case "output":
		p.own = append(p.own, e.Output)
	case "fail":
		t.broken++
		delete(t.packages, e.Package)
		return t.print(slices.Concat(p.told, p.abandoned(), p.own)...)
	case "pass", "skip":
		delete(t.packages, e.Package)
		return t.print(slices.Concat(p.told, slices.DeleteFunc(p.own, notClosing))...)
	}
	return nil
}

// notClosing says whether a line of a package is none of the two with which go test closes one that passed.
func notClosing(line string) bool {
	return !strings.HasPrefix(line, "ok  \t") && !strings.HasPrefix(line, "?   \t")
}

func (t *transcript) run(name string) *packageRun {
	p, ok := t.packages[name]
	if !ok {
		p = &packageRun{running: map[string][]string{}}
		t.packages[name] = p
	}
	return p
}

// close tells what never ended, prints the closing line, and says why this run proves nothing, if so.
func (t *transcript) close() error {
	var reasons []error
	for _, name := range slices.Sorted(maps.Keys(t.packages)) {
		p := t.packages[name]
		reasons = append(reasons, t.print(slices.Concat(p.told, p.abandoned(), p.own)...),
			fmt.Errorf("package %s did not end", name))
	}
	passed, failed, skipped := t.count["pass"], t.count["fail"], t.count["skip"]
	reasons = append(reasons, t.print(fmt.Sprintf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)))
	if failed > 0 || t.broken > 0 {
		reasons = append(reasons, fmt.Errorf("%d tests failed in %d packages", failed, t.broken))
	}
	if skipped > 0 {
		reasons = append(reasons, fmt.Errorf("%d tests were skipped: what a skipped test promises is not shown", skipped))
	}
	if passed == 0 {
		reasons = append(reasons, errors.New("no test passed"))
	}
	return errors.Join(reasons...)
}

func (t *transcript) print(lines ...string) error {
	for _, line := range lines {
		if _, err := io.WriteString(t.out, line); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// add takes an event of one of the package's tests.
func (p *packageRun) add(e event) {
	switch e.Action {
	case "run":
		p.running[e.Test] = nil
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			p.running[e.Test] = append(p.running[e.Test], e.Output)
		}
	case "fail", "skip":
		p.told = append(p.told, resultFirst(p.running[e.Test])...)
		delete(p.running, e.Test)
	case "pass":
		delete(p.running, e.Test)
	}
}

// abandoned gives the lines of tests that never ended: where a process dies, they say what it was doing.
func (p *packageRun) abandoned() []string {
	var told []string
	for _, name := range slices.Sorted(maps.Keys(p.running)) {
		told = append(told, "--- DID NOT END: "+name+"\n")
		told = append(told, p.running[name]...)
	}
	return told
}

// resultFirst moves a test's result in front of what it logged, where go test puts it.
func resultFirst(lines []string) []string {
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "--- ") })
	if at <= 0 {
		return lines
	}
	return slices.Concat(lines[at:at+1], lines[:at], lines[at+1:])
}
