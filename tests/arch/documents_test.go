package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// makeWords is a call of make with its targets.
	makeWords = regexp.MustCompile(`(?:^|[;&|$(]\s*)make((?:\s+[a-z][a-z0-9_/-]*)+)`)
	// makeRule is the head of a rule of a Makefile.
	makeRule = regexp.MustCompile(`(?m)^([A-Za-z0-9_/ .-]+?)\s*:(?:[^=]|$)`)
	codeSpan = regexp.MustCompile("`([^`]+)`")
)

// documentsNameRealTargets checks that every "make X" in the code of README.md and beneath docs can be run.
func documentsNameRealTargets(t *tree) []string {
	var targets []string
	for _, rule := range makeRule.FindAllStringSubmatch(t.texts["Makefile"], -1) {
		targets = append(targets, strings.Fields(rule[1])...)
	}
	var findings []string
	for name, text := range inOrder(t.texts) {
		if name != "README.md" && !within(name, "docs") {
			continue
		}
		for line, code := range codeLines(text) {
			for _, call := range makeWords.FindAllStringSubmatch(code, -1) {
				for _, target := range strings.Fields(call[1]) {
					if !slices.Contains(targets, target) {
						findings = append(findings, fmt.Sprintf("%s:%d: make %s: the Makefile has no such target", name, line, target))
					}
				}
			}
		}
	}
	return findings
}

// codeLines ranges over the code of a markdown text: the lines of fenced blocks and the spans within other lines.
func codeLines(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		fenced := false
		for i, line := range strings.Split(text, "\n") {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
				continue
			}
			codes := []string{line}
			if !fenced {
				codes = nil
				for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
					codes = append(codes, span[1])
				}
			}
			for _, code := range codes {
				if !yield(i+1, code) {
					return
				}
			}
		}
	}
}

func targetSamples() []sample {
	const makefile = "VERSION := 1\n.PHONY: test demo\ntest: build/x ## run\n\tmake sure\nlint fmt:\nbuild/x:\n"
	return []sample{
		{"FindsTargets", map[string]string{
			"Makefile":  makefile,
			"README.md": "To make sure, run `make test`.\n```\n$ make lint fmt # and more\nmake build/x VERBOSE=1\ncd x && make test\n```\n",
			"NOTES.md":  "`make nothing`\n",
		}, nil},
		{"ReportsTargetsThatDoNotExist", map[string]string{
			"Makefile":      makefile,
			"README.md":     "Run `make VERSION`, `make tests`.\n```\ncd x; make demo\n```\n",
			"docs/guide.md": "```sh\nmake lint up\n```\n",
		}, []string{"README.md:1: make tests", "README.md:3: make demo", "docs/guide.md:2: make up"}},
	}
}

// dependencyRecord is the decision that lists the modules this one is built from.
const dependencyRecord = "docs/decisions/0004-dependencies.md"

var (
	requirement   = regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.-]+\.[a-z]+/\S+) (v\S+)( // indirect)?$`)
	dependencyRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (v\\S+) \\|([^|]*)\\|")
)

// dependenciesAreRecorded checks the record's table against go.mod: every module that is imported here, in the version
// that is used, with its licence, and none that has gone.
func dependenciesAreRecorded(t *tree) []string {
	var findings []string
	used, direct := map[string]string{}, map[string]bool{}
	for _, line := range requirement.FindAllStringSubmatch(t.texts["go.mod"], -1) {
		used[line[1]], direct[line[1]] = line[2], line[3] == ""
	}
	recorded := map[string]bool{}
	for _, row := range dependencyRow.FindAllStringSubmatch(t.texts[dependencyRecord], -1) {
		module, version, licence := row[1], row[2], strings.TrimSpace(row[3])
		recorded[module] = true
		if used[module] != version {
			findings = append(findings, fmt.Sprintf("%s: %s %s: go.mod has %q", dependencyRecord, module, version, used[module]))
		}
		if licence == "" {
			findings = append(findings, fmt.Sprintf("%s: %s: no licence", dependencyRecord, module))
		}
	}
	for module := range inOrder(direct) {
		if direct[module] && !recorded[module] {
			findings = append(findings, fmt.Sprintf("go.mod: %s is not in %s", module, dependencyRecord))
		}
	}
	return findings
}

func dependencySamples() []sample {
	const mod = "module tidemark\n\ngo 1.26\n\nrequire (\n\texample.com/a v1.2.3\n\texample.com/b/v2 v2.0.0 // indirect\n)\n\n" +
		"require example.com/c v0.1.0\n"
	return []sample{
		{"FindsRecords", map[string]string{
			"go.mod":         mod,
			dependencyRecord: "| module | version | licence |\n|---|---|---|\n| `example.com/a` | v1.2.3 | MIT |\n| `example.com/c` | v0.1.0 | BSD |\n",
		}, nil},
		{"ReportsWhatDiffers", map[string]string{
			"go.mod":         mod,
			dependencyRecord: "| `example.com/a` | v1.2.2 | MIT |\n| `example.com/b/v2` | v2.0.0 |  |\n| `example.com/gone` | v1.0.0 | MIT |\n",
		}, []string{
			`example.com/a v1.2.2: go.mod has "v1.2.3"`, "example.com/b/v2: no licence", `example.com/gone v1.0.0: go.mod has ""`,
			"example.com/c is not in",
		}},
	}
}
