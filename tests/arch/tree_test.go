package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is a working tree as the rules see it.
type tree struct {
	module string
	fset   *token.FileSet
	files  []*source         // Go files, in the order of their paths
	texts  map[string]string // documents, Makefile, go.mod
	heads  map[string][]byte // the first bytes of every file
}

// source is one Go file.
type source struct {
	path      string
	syntax    *ast.File
	lines     int
	generated bool
}

func (s *source) dir() string { return path.Dir(s.path) }

// isTest says whether the file is compiled into tests alone.
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// imports maps the names of the imported packages to their paths.
func (s *source) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range s.syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it: cannot happen
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

// load reads a tree. What git never sees is left out: results of builds, caches, test binaries and profiles.
func load(files fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), texts: map[string]string{}, heads: map[string][]byte{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" || name == "build" || name == ".cache":
			return skip(entry)
		case entry.IsDir() || path.Ext(name) == ".test" || path.Ext(name) == ".out":
			return nil
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read tree: %w", err)
		}
		return t.add(name, content)
	})
	return t, err
}

// skip leaves out a folder with all that is in it, or a file (a linked work tree has a file .git).
func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (t *tree) add(name string, content []byte) error {
	t.heads[name] = content[:min(len(content), 8)]
	switch {
	case path.Ext(name) == ".md" || path.Base(name) == "Makefile":
		t.texts[name] = string(content)
	case name == "go.mod":
		t.texts[name] = string(content)
		first, _, _ := strings.Cut(strings.TrimPrefix(string(content), "module "), "\n")
		t.module = strings.TrimSpace(first)
	case path.Ext(name) == ".go" && !strings.Contains("/"+name, "/testdata/"):
		syntax, err := parser.ParseFile(t.fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse tree: %w", err)
		}
		lines := bytes.Count(content, []byte("\n"))
		t.files = append(t.files, &source{name, syntax, lines, ast.IsGenerated(syntax)})
	}
	return nil
}

// written gives the files that people write and that go into binaries or run as programs.
func (t *tree) written() []*source {
	return slices.DeleteFunc(slices.Clone(t.files), func(s *source) bool { return s.isTest() || s.generated })
}

// folders groups files by the folder they are in.
func folders(files []*source) map[string][]*source {
	groups := map[string][]*source{}
	for _, s := range files {
		groups[s.dir()] = append(groups[s.dir()], s)
	}
	return groups
}

// at names a place: file:line.
func (t *tree) at(node ast.Node) string {
	p := t.fset.Position(node.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// within says whether a folder or file is one of homes or beneath one.
func within(name string, homes ...string) bool {
	return slices.ContainsFunc(homes, func(home string) bool {
		return name == home || strings.HasPrefix(name, home+"/")
	})
}
