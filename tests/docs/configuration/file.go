package main

import (
	"fmt"
	"os"
	"strings"
)

// write makes the file the page.
func write(path string) error {
	if err := os.WriteFile(path, []byte(page()), 0o644); err != nil { //nolint:gosec // a page is for everybody to read
		return fmt.Errorf("write reference: %w", err)
	}
	return nil
}

// compare says where the file is not the page.
func compare(path string) error {
	content, err := os.ReadFile(path) //nolint:gosec // whoever runs the command names the file
	if err != nil {
		return fmt.Errorf("read reference: %w; run go run ./tests/docs/configuration", err)
	}
	have, want := strings.Split(string(content), "\n"), strings.Split(page(), "\n")
	for i := range max(len(have), len(want)) {
		if h, w := line(have, i), line(want, i); h != w {
			return fmt.Errorf("%s:%d is stale; run go run ./tests/docs/configuration\n- %s\n+ %s", path, i+1, h, w)
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
