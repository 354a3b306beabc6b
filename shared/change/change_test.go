package change_test

import (
	"testing"

	"tidemark/shared/change"
)

func text(s string) change.Value { return change.Text([]byte(s)) }

// TestValue: a value, NULL and missing are three things, and none of them is a text.
func TestValue(t *testing.T) {
	t.Parallel()
	var zero change.Value
	for _, test := range []struct {
		name          string
		value         change.Value
		missing, null bool
		bytes         []byte // nil where there is none
		prints        string
	}{
		{"TheZeroValueIsMissing", zero, true, false, nil, "(missing)"},
		{"MissingIsNotNull", change.Missing(), true, false, nil, "(missing)"},
		{"NullIsNotMissing", change.Null(), false, true, nil, "NULL"},
		{"AnEmptyTextIsAValue", text(""), false, false, []byte{}, ""},
		{"ATextOfNilIsAnEmptyText", change.Text(nil), false, false, []byte{}, ""},
		{"ATextIsAValue", text("a\x00\xff"), false, false, []byte("a\x00\xff"), "a\x00\xff"},
		{"TheTextNULLIsAValue", text("NULL"), false, false, []byte("NULL"), "NULL"},
		{"TheTextMissingIsAValue", text("(missing)"), false, false, []byte("(missing)"), "(missing)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.value.IsMissing() != test.missing || test.value.IsNull() != test.null {
				t.Errorf("missing %t, null %t, want %t, %t", test.value.IsMissing(), test.value.IsNull(), test.missing, test.null)
			}
			got := test.value.Bytes()
			if string(got) != string(test.bytes) || (got == nil) != (test.bytes == nil) {
				t.Errorf("got bytes %#v, want %#v", got, test.bytes)
			}
			if test.value.String() != test.prints {
				t.Errorf("prints %q, want %q", test.value, test.prints)
			}
		})
	}
	t.Run("SharesItsBytes", func(t *testing.T) {
		t.Parallel()
		content := []byte("abc")
		if got := change.Text(content).Bytes(); &got[0] != &content[0] {
			t.Error("the bytes were copied")
		}
	})
}

func TestOp(t *testing.T) {
	t.Parallel()
	for op, want := range map[change.Op]string{
		change.Insert: "insert", change.Update: "update", change.Delete: "delete", change.Truncate: "truncate",
		0: "unknown", 5: "unknown", 255: "unknown",
	} {
		if got := op.String(); got != want {
			t.Errorf("%d: got %s, want %s", op, got, want)
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	relation := change.NewRelation(change.Name{Schema: "public", Table: "t"}, []change.Column{
		{Name: "id", Fixed: true}, {Name: "sum", Generated: true}, {Name: "v"},
	}, []int{0})
	for _, test := range []struct {
		name string
		row  []change.Value
		want bool
	}{
		{"MissesNothingInAFullRow", []change.Value{text("1"), text("2"), text("3")}, false},
		{"DoesNotMissAGeneratedColumn", []change.Value{text("1"), change.Missing(), text("3")}, false},
		{"DoesNotMissWhatIsNull", []change.Value{text("1"), change.Null(), change.Null()}, false},
		{"DoesNotMissWhatIsEmpty", []change.Value{text(""), text(""), change.Text(nil)}, false},
		{"MissesAColumn", []change.Value{text("1"), text("2"), change.Missing()}, true},
		{"MissesAColumnBehindAGeneratedOne", []change.Value{text("1"), change.Missing(), change.Missing()}, true},
		{"MissesAFixedColumn", []change.Value{change.Missing(), text("2"), text("3")}, true},
		{"MissesNothingWithoutARow", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := change.Change{Relation: relation, Op: change.Update, Row: test.row, Key: []change.Value{change.Missing()}}
			if got := c.HasMissing(); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
	t.Run("CountsTheBytesOfAllCells", func(t *testing.T) {
		t.Parallel()
		c := change.Change{
			Relation: relation,
			Row:      []change.Value{text("1"), change.Null(), text("four")},
			Key:      []change.Value{text("22")},
			Old:      []change.Value{text("333"), change.Missing(), text("")},
		}
		if got := c.Size(); got != 1+4+2+3 {
			t.Errorf("got %d, want 10", got)
		}
		if got := (&change.Change{Op: change.Truncate}).Size(); got != 0 {
			t.Errorf("got %d for a change without cells", got)
		}
	})
}
