package setting

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// MaxYAMLBytes is the largest file that ReadYAML takes.
	MaxYAMLBytes = 1 << 18
	// maxTokens bounds what the parser sees: its time grows with the square of keys and of nesting. The largest
	// file of any use has some 12,000.
	maxTokens = 15_000
)

// ReadYAML reads a struct from one YAML map, strictly. name is the file's and stands before line and column in
// errors; hint tells what to do about them.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func ReadYAML[T any](fields []Field[T], name string, data []byte, hint string) (T, error) {
	var into T
	r := newReport(name)
	if root, ok := parseYAML(data, r); ok {
		fill(&into, fields, root, r)
	}
	if err := r.err(hint); err != nil {
		var none T
		return none, err
	}
	return into, nil
}

// parseYAML reads the one map of a file. Everything that a file of settings does not need is refused before the parser
// sees it: anchors and aliases (a few lines of which can stand for gigabytes), tags, directives, explicit keys.
func parseYAML(data []byte, r *report) (node, bool) {
	if at, err := readable(data); err != nil {
		r.add(at, "%w", err)
		return node{}, false
	}
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\ufeff"))
	if at, err := admitted(tokens); err != nil {
		r.add(at, "%w", err)
		return node{}, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // fill refuses twins, all of them at once
	if err != nil {
		at, why := syntax(err)
		r.add(at, "is not YAML: %s", why)
		return node{}, false
	}
	root, at, err := onlyDocument(file)
	if err != nil {
		r.add(at, "%w", err)
		return node{}, false
	}
	return root, true
}

// readable refuses bytes that are no text and tabs that stand for indentation.
func readable(data []byte) (place, error) {
	if len(data) > MaxYAMLBytes {
		return place{}, fmt.Errorf("is larger than %d bytes: it is no file of settings", MaxYAMLBytes)
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if column, err := readableLine(line); err != nil {
			return place{number, column}, err
		}
	}
	return place{}, nil
}

func readableLine(line string) (column int, err error) {
	for i, c := range line {
		column++
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(line[i:], string(utf8.RuneError)):
			return column, errors.New("is not text in UTF-8")
		case unicode.IsControl(c) && !strings.ContainsRune("\t\r\n", c):
			return column, fmt.Errorf("holds the control character %U: remove it", c)
		}
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 && strings.TrimSpace(line) != "" {
		return tab + 1, errors.New("a line is indented with a tab: YAML wants spaces")
	}
	return 0, nil
}

// admitted refuses tokens that no file of settings needs, and too many of them.
func admitted(tokens token.Tokens) (place, error) {
	refused := map[token.Type]string{
		token.AnchorType:     "an anchor (&)",
		token.AliasType:      "an alias (*)",
		token.MergeKeyType:   "a merge key (<<)",
		token.TagType:        "a tag (!)",
		token.DirectiveType:  "a directive (%)",
		token.MappingKeyType: "an explicit key (?)",
	}
	count := 0
	for _, t := range tokens {
		if what, ok := refused[t.Type]; ok {
			return placeOf(t), fmt.Errorf("%s has no place here: write the value itself, in quotes if it is text", what)
		}
		if t.Type != token.CommentType {
			count++
		}
		if count > maxTokens {
			return placeOf(t), errors.New("holds far more keys and values than any file of settings")
		}
	}
	return place{}, nil
}

// syntax takes place and message out of the parser's error, whose own text repeats the file.
func syntax(err error) (place, string) {
	var found interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &found) {
		return place{}, "the parser gave up"
	}
	return placeOf(found.GetToken()), strings.Trim(clip(found.GetMessage()), `"`)
}

// onlyDocument is the map that the file holds.
func onlyDocument(file *ast.File) (node, place, error) {
	var root node
	documents := 0
	for _, d := range file.Docs {
		documents++
		if documents > 1 {
			return node{}, placeOf(d.Start), errors.New("holds several documents: this file is one, so split it at ---")
		}
		root = convert(d.Body)
	}
	switch root.shape {
	case absent:
		return node{}, place{}, errors.New("is empty: write at least the required keys")
	case mapped:
		return root, root.at, nil
	case untyped, quotable, whole, fraction, truth, null, nothing, listed, forbidden:
	}
	return node{}, root.at, fmt.Errorf("is %s: this file is a map, each line a key and a value", root.shape)
}

// convert takes what settings need out of the parser's tree.
func convert(tree ast.Node) node {
	switch tree := tree.(type) {
	case nil:
		return node{}
	case *ast.MappingNode:
		return mapOf(placeOf(tree.Start), tree.Values)
	case *ast.MappingValueNode:
		return mapOf(place{}, []*ast.MappingValueNode{tree})
	case *ast.SequenceNode:
		list := node{at: placeOf(tree.Start), shape: listed}
		for _, item := range tree.Values {
			list.items = append(list.items, convert(item))
		}
		return list
	case *ast.StringNode:
		return node{at: placeOf(tree.Token), shape: quotable, text: tree.Value}
	case *ast.LiteralNode:
		return node{at: placeOf(tree.Start), shape: quotable, text: tree.Value.Value}
	}
	return convertWord(tree)
}

func convertWord(tree ast.Node) node {
	word := node{at: placeOf(tree.GetToken()), shape: forbidden, text: tree.GetToken().Value}
	switch tree.(type) {
	case *ast.IntegerNode:
		word.shape = whole
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		word.shape = fraction
	case *ast.BoolNode:
		word.shape = truth
	case *ast.NullNode:
		word.shape = null
		if tree.GetToken().Type == token.ImplicitNullType {
			word.shape = nothing
		}
	}
	return word
}

// mapOf is a map that stands where its first key does: the parser gives the place of a colon. An empty one has its
// brace.
func mapOf(brace place, pairs []*ast.MappingValueNode) node {
	entries := make([]entry, 0, len(pairs))
	for _, pair := range pairs {
		key := pair.Key.GetToken()
		entries = append(entries, entry{
			key:   node{at: placeOf(key), shape: quotable, text: key.Value},
			value: convert(pair.Value),
		})
	}
	if len(entries) > 0 {
		brace = entries[0].key.at
	}
	return node{at: brace, shape: mapped, entries: entries}
}

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{line: t.Position.Line, column: t.Position.Column}
}
