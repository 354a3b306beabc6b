package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// mention is a place where a document names a test as its evidence.
type mention struct {
	place string // file:line
	test  testName
}

// tables checks that every test named in a table of the documents ran and passed. A document is a markdown file, or a
// folder whose markdown files are read.
func tables(tree fs.FS, out io.Writer, module, events string, documents []string) error {
	results, err := readResults(tree, events)
	if err != nil {
		return err
	}
	files, err := markdownFiles(tree, documents)
	if err != nil {
		return err
	}
	var named []mention
	var problems []error
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return fmt.Errorf("read document: %w", err)
		}
		found, unclear := mentions(file, string(text))
		named, problems = append(named, found...), append(problems, unclear...)
	}
	for _, m := range named {
		problems = append(problems, m.check(module, results))
	}
	if len(named) == 0 {
		problems = append(problems, fmt.Errorf("no table of %s names a test", strings.Join(documents, ", ")))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d tests named in tables of %d documents: all ran, all passed\n", len(named), len(files))
	return err
}

// check says what is wrong with the evidence, or nil.
func (m mention) check(module string, results map[testName]string) error {
	full := testName{Package: module + "/" + m.test.Package, Test: m.test.Test}
	switch result := results[full]; result {
	case "pass":
		return nil
	case "":
		return fmt.Errorf("%s: %s %s did not run: the run has no test of that name", m.place, m.test.Package, m.test.Test)
	default:
		return fmt.Errorf("%s: %s %s did not pass: %s", m.place, m.test.Package, m.test.Test, result)
	}
}

// readResults says of every test of a saved run how it ended. A test that ran more than once passed if it always did.
func readResults(tree fs.FS, name string) (map[testName]string, error) {
	file, err := tree.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the saved run (make test writes it): %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	results := map[testName]string{}
	return results, eachEvent(file, func(e event, _ []byte) error {
		at := testName{Package: e.Package, Test: e.Test}
		switch e.Action {
		case "run":
			if results[at] == "" {
				results[at] = "it never ended"
			}
		case "pass":
			if before := results[at]; before == "" || before == "it never ended" {
				results[at] = "pass"
			}
		case "fail", "skip":
			results[at] = e.Action
		}
		return nil
	})
}

// markdownFiles lists the markdown files among and beneath names.
func markdownFiles(tree fs.FS, names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		err := fs.WalkDir(tree, path.Clean(name), func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && path.Ext(file) == ".md" {
				files = append(files, file)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
	}
	return files, nil
}

// mentions reads the tables of a markdown text whose header has a column "test". Each row names at least one test, each
// in a code span: "TestX/Y" where the table has a column "package", "shared/apply TestX/Y" anywhere. What is unclear is
// an error, because a row that is passed over in silence would look like one that was checked.
func mentions(file, text string) (found []mention, unclear []error) {
	var columns []string // of the table that the line is in, nil outside of one
	fenced := false
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced, columns = !fenced, nil
			continue
		}
		place := fmt.Sprintf("%s:%d", file, i+1)
		switch {
		case fenced || !strings.HasPrefix(line, "|"):
			columns = nil
		case columns == nil && i+1 < len(lines) && isDelimiter(lines[i+1]):
			columns = cells(strings.ToLower(line))
		case columns == nil || isDelimiter(line):
		default:
			tests, err := namedTests(columns, cells(line))
			for _, test := range tests {
				found = append(found, mention{place: place, test: test})
			}
			if err != nil {
				unclear = append(unclear, fmt.Errorf("%s: %w", place, err))
			}
		}
	}
	return found, unclear
}

// namedTests reads one row. In a table without a column of tests it finds none.
func namedTests(columns, row []string) ([]testName, error) {
	column := slices.IndexFunc(columns, func(title string) bool { return title == "test" || title == "tests" })
	if column < 0 {
		return nil, nil
	}
	if column >= len(row) {
		return nil, errors.New("the row ends before its column of tests")
	}
	var shared string
	if at := slices.Index(columns, "package"); at >= 0 && at < len(row) {
		shared = strings.Trim(row[at], "` ")
	}
	var tests []testName
	for _, span := range codeSpan.FindAllStringSubmatch(row[column], -1) {
		parts := strings.Fields(span[1])
		if len(parts) == 1 && shared != "" {
			parts = []string{shared, parts[0]}
		}
		if len(parts) != 2 || !testWord.MatchString(parts[1]) {
			return tests, fmt.Errorf("`%s` names no test: write `PACKAGE TestX/Y`, or `TestX/Y` beside a column package",
				span[1])
		}
		tests = append(tests, testName{Package: strings.TrimPrefix(parts[0], "./"), Test: parts[1]})
	}
	if len(tests) == 0 {
		return nil, errors.New("the row names no test")
	}
	return tests, nil
}

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	testWord  = regexp.MustCompile(`^(Test|Fuzz|Example)\w*(/\S+)?$`)
	delimiter = regexp.MustCompile(`^\|[ :|-]*-[ :|-]*$`)
)

func isDelimiter(line string) bool { return delimiter.MatchString(strings.TrimSpace(line)) }

// cells splits a line of a table. A pipe behind a backslash belongs to its cell.
func cells(line string) []string {
	const escaped = "\x00"
	line = strings.ReplaceAll(strings.Trim(line, "| "), `\|`, escaped)
	row := strings.Split(line, "|")
	for i := range row {
		row[i] = strings.TrimSpace(strings.ReplaceAll(row[i], escaped, "|"))
	}
	return row
}
