// Command template writes the parts of template.yaml that follow from a flow file, between marks: for each topic an
// event of the apply function, the right to read the topic in its consumer group, and an alarm on its lag.
//
// An event source mapping takes one topic, and the template language has no loop; so what must be the same for each
// topic is said once, here. With -check it writes nothing, and exits with 1 and the first line that differs when the
// template is stale. It refuses a flow that the service could not serve from one stack: too many topics, or names that
// make no consumer group. It is run by make and stands in no deployed binary. Paths are relative to where it is run.
//
// The tests of this folder hold the whole template to what the function needs: TestStack transforms it as a deployment
// does and asserts on the result.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"tidemark/shared/config"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("template", flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("template", "template.yaml", "the template")
	flowFile := flags.String("flow", "functions/apply/flow.yaml", "the flow file")
	check := flags.Bool("check", false, "compare the template instead of writing it")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := bring(*path, *flowFile, *check); err != nil {
		_, _ = fmt.Fprintln(stderr, "template:", err) // the exit code says it too
		return 1
	}
	return 0
}

// bring makes the template what the flow file wants, or says where it is not.
func bring(path, flowFile string, check bool) error {
	flow, err := config.ReadFlow(flowFile)
	if err != nil {
		return err
	}
	topics, err := topicsOf(flow)
	if err != nil {
		return fmt.Errorf("%s: %w", flowFile, err)
	}
	have, err := os.ReadFile(path) //nolint:gosec // whoever runs the command names the file
	if err != nil {
		return fmt.Errorf("read template: %w", err)
	}
	want, err := fill(string(have), render(topics))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case check:
		return compare(path, flowFile, string(have), want)
	case string(have) == want:
		return nil
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a template is for everybody to read
		return fmt.Errorf("write template: %w", err)
	}
	return nil
}

// compare says where the template is stale.
func compare(path, flowFile, have, want string) error {
	h, w := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range max(len(h), len(w)) {
		if line(h, i) != line(w, i) {
			return fmt.Errorf("%s:%d is stale; run make template FLOW=%s\n- %s\n+ %s",
				path, i+1, flowFile, line(h, i), line(w, i))
		}
	}
	return nil
}

// line is a line of the list, or a word for none.
func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end of file)"
}
