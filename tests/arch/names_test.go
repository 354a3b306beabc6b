package arch

import (
	"fmt"
	"go/ast"
	"iter"
	"path"
	"slices"
	"strings"
)

// inOrder ranges over a map by its keys.
func inOrder[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range sortedKeys(m) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// foldersAreKnown checks that code lies in a folder whose place in the house is decided.
func foldersAreKnown(t *tree) []string {
	var findings []string
	for dir := range inOrder(folders(t.files)) {
		if layerOf(dir) == nowhere {
			findings = append(findings, fmt.Sprintf("%s: no layer has a folder of that name", dir))
		}
	}
	return findings
}

func folderSamples() []sample {
	return []sample{
		{"KnowsTheHouse", map[string]string{
			"shared/postgres/ledger/a.go": importing("ledger"), "functions/apply/main.go": importing("main"),
			"cmd/tidemark/main.go": importing("main"), "localstack/services/a.go": importing("services"),
			"tests/internal/harness/a.go": importing("harness"), "shared/secret/a.go": importing("secret"),
		}, nil},
		{"ReportsStrangers", map[string]string{
			"shared/shared.go": importing("shared"), "shared/odds/a.go": importing("odds"), "main.go": importing("main"),
			"internal/a.go": importing("internal"), "shared/odds/a_test.go": importing("odds"),
		}, []string{".: no layer", "internal: no layer", "shared: no layer", "shared/odds: no layer"}},
	}
}

// junkDrawers are names of packages that own nothing, so everything ends up in them.
var junkDrawers = []string{"util", "utils", "common", "types", "models", "helpers", "misc"}

func packageNamesSayWhatTheyOwn(t *tree) []string {
	var findings []string
	for dir, files := range inOrder(folders(t.files)) {
		name := strings.TrimSuffix(files[0].syntax.Name.Name, "_test")
		if slices.Contains(junkDrawers, name) || slices.Contains(junkDrawers, path.Base(dir)) {
			findings = append(findings, fmt.Sprintf("%s: the name %s says nothing of what it owns", dir, name))
		}
	}
	return findings
}

func packageNameSamples() []sample {
	return []sample{
		{"AllowsNouns", map[string]string{"shared/record/a.go": importing("record")}, nil},
		{"ReportsJunkDrawers", map[string]string{
			"shared/apply/util/a.go": importing("util"), "shared/record/a.go": importing("common"),
			"tests/helpers/a_test.go": importing("helpers_test"),
		}, []string{"shared/apply/util", "shared/record: the name common", "tests/helpers"}},
	}
}

// packagesIntroduceThemselves checks that each package has a comment that says what it owns. A package of tests alone
// may have it in any of its files.
func packagesIntroduceThemselves(t *tree) []string {
	var findings []string
	for dir, files := range inOrder(folders(t.files)) {
		written := slices.DeleteFunc(slices.Clone(files), (*source).isTest)
		if len(written) == 0 {
			written = files
		}
		if !slices.ContainsFunc(written, func(s *source) bool { return introduces(s.syntax) }) {
			findings = append(findings, fmt.Sprintf("%s: no file has a package comment", dir))
		}
	}
	return findings
}

// introduces says whether the file's comment is about the package. Directives are no comment.
func introduces(file *ast.File) bool {
	return file.Doc != nil && strings.TrimSpace(file.Doc.Text()) != ""
}

func introductionSamples() []sample {
	return []sample{
		{"FindsTheComment", map[string]string{
			"shared/record/a.go": importing("record"), "shared/record/b.go": "// Package record owns records.\npackage record\n",
			"tests/drill/a_test.go": "//go:build drill\n\n// Package drill kills things.\npackage drill\n",
		}, nil},
		{"ReportsSilence", map[string]string{
			"shared/record/a.go":      importing("record"),
			"shared/record/a_test.go": "// Package record owns records.\npackage record\n",
			"shared/fault/a.go":       "//go:build linux\npackage fault\n",
			"cmd/tidemark/main.go":    "// about something else\n\npackage main\n",
		}, []string{"cmd/tidemark", "shared/fault", "shared/record"}},
	}
}

// designed are the packages whose design has a document of its own.
var designed = []string{"shared/apply", "shared/archive", "shared/recovery", "shared/envelope"}

func corePackagesExplainTheirDesign(t *tree) []string {
	var findings []string
	packages := folders(t.files)
	for _, dir := range designed {
		if len(packages[dir]) > 0 && strings.TrimSpace(t.texts[dir+"/DESIGN.md"]) == "" {
			findings = append(findings, fmt.Sprintf("%s: no DESIGN.md", dir))
		}
	}
	return findings
}

func designSamples() []sample {
	return []sample{
		{"AsksOnlyForPackagesThatExist", map[string]string{
			"shared/apply/a.go": importing("apply"), "shared/apply/DESIGN.md": "# Apply\n", "shared/record/a.go": importing("record"),
		}, nil},
		{"ReportsAMissingDesign", map[string]string{
			"shared/apply/a.go": importing("apply"), "shared/archive/a.go": importing("archive"), "shared/archive/DESIGN.md": "\n",
		}, []string{"shared/apply", "shared/archive"}},
	}
}
