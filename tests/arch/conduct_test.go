package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// nothingIsSkipped checks that no test can end without showing what it promises: a missing service fails.
func nothingIsSkipped(t *tree) []string {
	var findings []string
	for _, s := range t.files {
		tests := testingNames(s.syntax)
		ast.Inspect(s.syntax, func(node ast.Node) bool {
			call, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch call.Sel.Name {
			case "SkipNow", "Skipf":
			case "Skip":
				if !slices.Contains(tests, lastName(call.X)) {
					return true
				}
			default:
				return true
			}
			findings = append(findings, fmt.Sprintf("%s: %s.%s: a missing service fails",
				t.at(call), lastName(call.X), call.Sel.Name))
			return true
		})
	}
	return findings
}

// testingNames are the names that the file gives to values of package testing, in parameters and in fields.
func testingNames(file *ast.File) []string {
	names := []string{"T", "B", "F", "TB"} // embedded
	ast.Inspect(file, func(node ast.Node) bool {
		field, ok := node.(*ast.Field)
		if !ok {
			return true
		}
		of := field.Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		if selector, ok := of.(*ast.SelectorExpr); ok && isTestingName(selector) {
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
		return true
	})
	return names
}

// lastName is the last identifier of a chain of selectors.
func lastName(expression ast.Expr) string {
	switch x := expression.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

func skipSamples() []sample {
	return []sample{
		{"LeavesOtherSkipsAlone", map[string]string{
			"shared/kafkaevent/a.go":      "package kafkaevent\nfunc f(d *decoder) { d.Skip(); d.SkipValue() }\n",
			"shared/kafkaevent/a_test.go": "package kafkaevent\nfunc TestX(t *testing.T) { d.Skip(); t.Fatal() }\n",
		}, nil},
		{"ReportsSkips", map[string]string{
			"shared/apply/a_test.go": "package apply\nfunc TestX(tt *testing.T) {\n\ttt.Skip()\n\ttt.Skipf(\"\")\n}\n" +
				"type h struct { inner testing.TB }\nfunc (s h) f() { s.inner.Skip() }\n",
			"tests/drill/a.go": "package drill\nfunc f(x any) { x.SkipNow() }\ntype e struct { *testing.T }\nfunc (s e) f() { s.T.Skip() }\n",
		}, []string{"a_test.go:3: tt.Skip", "a_test.go:4: tt.Skipf", "a_test.go:7: inner.Skip", "a.go:2: x.SkipNow", "a.go:4: T.Skip"}},
	}
}

// nothingSleeps checks that whoever waits, waits for a signal with a deadline.
func nothingSleeps(t *tree) []string {
	var findings []string
	for _, s := range t.files {
		imports := s.imports()
		ast.Inspect(s.syntax, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if ok && selector.Sel.Name == "Sleep" && imports[lastName(selector.X)] == "time" {
				findings = append(findings, fmt.Sprintf("%s: time.Sleep: wait for a signal with a deadline", t.at(selector)))
			}
			return true
		})
	}
	return findings
}

func sleepSamples() []sample {
	return []sample{
		{"LeavesOtherSleepersAlone", map[string]string{
			"shared/apply/a.go": "package apply\nimport \"time\"\nvar a = time.Now\nfunc f(clock c) { clock.Sleep() }\n",
		}, nil},
		{"ReportsSleep", map[string]string{
			"shared/apply/a.go":        "package apply\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
			"tests/drill/a_test.go":    "package drill\nimport clock \"time\"\nvar wait = clock.Sleep\n",
			"localstack/services/a.go": "package services\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
		}, []string{"localstack/services/a.go:3", "shared/apply/a.go:3", "tests/drill/a_test.go:3"}},
	}
}

// buildMagic are the first bytes of programs, libraries and archives.
var buildMagic = []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "MZ\x90", "!<arch>", "PK\x03\x04", "\x1f\x8b"}

// buildNames are names and endings of what tools leave behind.
var buildNames = []string{"bootstrap", ".exe", ".so", ".a", ".o", ".zip", ".gz", ".prof", ".pprof", ".draft"}

func noBuildResultsAreKept(t *tree) []string {
	var findings []string
	for name, head := range inOrder(t.heads) {
		base := path.Base(name)
		built := slices.ContainsFunc(buildMagic, func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) })
		if built || slices.Contains(buildNames, base) || slices.Contains(buildNames, path.Ext(base)) {
			findings = append(findings, fmt.Sprintf("%s: looks like the result of a build", name))
		}
	}
	return findings
}

func buildResultSamples() []sample {
	return []sample{
		{"LeavesSourcesAndIgnoredFilesAlone", map[string]string{
			"build/apply/bootstrap": "\x7fELF", "shared/apply/apply.test": "\x7fELF", "cpu.out": "x", ".git/objects/pack": "PK\x03\x04",
			"README.md": "MZ is a mark", "localstack/services/bootstrap.go": importing("services"),
		}, nil},
		{"ReportsPrograms", map[string]string{
			"functions/apply/bootstrap": strings.Repeat("x", 9), "tidemark": "\x7fELF\x02", "docs/old.zip": "x", "tests/mem.prof": "x",
		}, []string{"docs/old.zip", "functions/apply/bootstrap", "tests/mem.prof", "tidemark"}},
	}
}
