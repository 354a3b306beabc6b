package body_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// member is a member of a JSON object, as the Go struct declares it.
type member struct {
	name, form string
	optional   bool
	index      []int
	of         reflect.Type
}

// members are those of one struct. Those of an embedded struct without a name of its own stand among the others.
func members(t reflect.Type) []member {
	var list []member
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	for field := range t.Fields() {
		tag := field.Tag.Get("json")
		if field.Anonymous && tag == "" {
			for _, m := range members(field.Type) {
				m.index = append(append([]int{}, field.Index...), m.index...)
				list = append(list, m)
			}
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		list = append(list, member{
			name: name, form: form(field.Type, strings.Contains(options, "string")),
			optional: strings.Contains(options, "omit"), index: field.Index, of: field.Type,
		})
	}
	return list
}

// form is how the document names what a Go type is in JSON.
func form(t reflect.Type, quoted bool) string {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		return form(t.Elem(), quoted)
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case kind == reflect.Slice:
		return "array of " + form(t.Elem(), false)
	case kind == reflect.Struct:
		return t.Name()
	case kind == reflect.Bool:
		return "boolean"
	case kind == reflect.String:
		return "string"
	case quoted:
		return "integer in a string"
	}
	return "integer"
}

// described are the members of a struct and of all that it is made of, by the name of the type.
func described(roots ...reflect.Type) map[string][]member {
	found := map[string][]member{}
	for len(roots) > 0 {
		t := roots[0]
		roots = roots[1:]
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		list := members(t)
		if found[t.Name()] != nil || len(list) == 0 {
			continue
		}
		found[t.Name()] = list
		for _, m := range list {
			roots = append(roots, m.of)
		}
	}
	return found
}

// without is a document whose first object of a type that has the member has lost it, or has null for it.
func without(t *testing.T, encoded []byte, of, name string, null bool) []byte {
	t.Helper()
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		t.Fatal(err)
	}
	changed := strip(tree, reflect.TypeFor[body.Body](), of, func(object map[string]any) bool {
		_, has := object[name]
		if delete(object, name); null && has {
			object[name] = nil
		}
		return has
	})
	text, err := json.Marshal(tree)
	if err != nil || !changed {
		t.Fatalf("no %s in the document has a %s: %v", of, name, err)
	}
	return text
}

// strip does what it is told to the first object of a type that has the member.
func strip(tree any, t reflect.Type, of string, change func(map[string]any) bool) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := tree.(type) {
	case []any:
		for _, element := range value {
			if strip(element, t.Elem(), of, change) {
				return true
			}
		}
	case map[string]any:
		if t.Name() == of && change(value) {
			return true
		}
		for _, m := range members(t) {
			if below, has := value[m.name]; has && strip(below, m.of, of, change) {
				return true
			}
		}
	}
	return false
}

// page is where the forms are described for readers who have no Go.
const page = "../../../docs/archive-format.md"

var (
	heading = regexp.MustCompile("^### ([A-Z][A-Za-z]+)$")
	row     = regexp.MustCompile("^\\| `([a-z_]+)` \\| ([A-Za-z ]+?)(, optional)? \\| ([0-9]+) \\| (.+) \\|$")
)

// TestPage: the tables of the page have the members of the documents, no more and no less, in their form.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Form     string
		Optional bool
	}
	want, got := map[string]map[string]line{}, map[string]map[string]line{}
	for name, list := range described(reflect.TypeFor[manifest.Statement](), reflect.TypeFor[body.Body]()) {
		want[name] = map[string]line{}
		for _, m := range list {
			want[name][m.name] = line{m.form, m.optional}
		}
	}
	section := ""
	for _, written := range strings.Split(string(text), "\n") {
		switch found := heading.FindStringSubmatch(written); {
		case found != nil:
			section = found[1]
		case strings.HasPrefix(written, "#"):
			section = ""
		}
		cells := row.FindStringSubmatch(written)
		if cells == nil || section == "" || want[section] == nil {
			continue
		}
		if got[section] == nil {
			got[section] = map[string]line{}
		}
		if _, twice := got[section][cells[1]]; twice {
			t.Errorf("%s: %s stands there twice", section, cells[1])
		}
		got[section][cells[1]] = line{cells[2], cells[3] != ""}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the documents, %s: %s", page, diff)
	}
}
