package notice_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/notice/verification"
)

// TestDocumentsAreDescribed holds the tables of docs/archive-format.md against the structs, both ways.
func TestDocumentsAreDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/archive-format.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range []any{
		notice.Owner{},
		notice.Life{},
		notice.Recovered{},
		notice.SharedCut{},
		notice.Decision{},
		notice.Run{},
		notice.End{},
		notice.Sweep{},
		notice.SweepEnd{},
		notice.Revocation{},
		notice.Keep{},
		verification.Report{},
		verification.Looked{},
		verification.Attachment{},
		verification.Rehearsal{},
		verification.Detail{},
		verification.Problem{},
		verification.TableDigest{},
	} {
		kind := reflect.TypeOf(document)
		_, section, found := strings.Cut(string(page), "\n### "+kind.Name()+"\n")
		if !found {
			t.Errorf("the page has no section %s", kind.Name())
			continue
		}
		section, _, _ = strings.Cut(section, "\n#")
		if got, want := described(section), members(kind); !slices.Equal(got, want) {
			t.Errorf("%s: the page has %q, the struct %q", kind.Name(), got, want)
		}
	}
}

// described are the members that a section's table names, optional ones with a question mark.
func described(section string) (names []string) {
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := strings.Trim(strings.TrimSpace(cells[1]), "`")
		if strings.Contains(cells[2], "optional") {
			name += "?"
		}
		names = append(names, name)
	}
	return names
}

func members(kind reflect.Type) (names []string) {
	for i := range kind.NumField() {
		name, options, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		if strings.Contains(options, "omitzero") {
			name += "?"
		}
		names = append(names, name)
	}
	return names
}
