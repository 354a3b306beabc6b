package record_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/position"
	"tidemark/shared/record"
)

// sameData compares data as its readers see it.
var sameData = cmp.Comparer(func(a, b record.Data) bool {
	return a.IsNull() == b.IsNull() && a.IsMissing() == b.IsMissing() && bytes.Equal(a.Bytes(), b.Bytes())
})

// TestData: missing, null and empty are three things.
func TestData(t *testing.T) {
	t.Parallel()
	var zero record.Data
	for _, test := range []struct {
		name          string
		data          record.Data
		null, missing bool
		content       string
	}{
		{"TheZeroValueIsMissing", zero, true, true, ""},
		{"MissingIsNullToo", record.Missing(), true, true, ""},
		{"NullIsNotMissing", record.Null(), true, false, ""},
		{"NilBytesAreAnEmptyValue", record.Present(nil), false, false, ""},
		{"NoBytesAreAnEmptyValue", record.Present([]byte{}), false, false, ""},
		{"BytesAreAValue", record.Present([]byte("a\x00\xff")), false, false, "a\x00\xff"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.data.IsNull() != test.null || test.data.IsMissing() != test.missing {
				t.Errorf("null %t, missing %t, want %t, %t", test.data.IsNull(), test.data.IsMissing(), test.null, test.missing)
			}
			if got := test.data.Bytes(); string(got) != test.content || test.null && got != nil {
				t.Errorf("got %q, want %q, and nil for null", got, test.content)
			}
		})
	}
	t.Run("SharesItsBytes", func(t *testing.T) {
		t.Parallel()
		content := []byte("abc")
		if got := record.Present(content).Bytes(); &got[0] != &content[0] {
			t.Error("the bytes were copied")
		}
	})
}

func TestRecord(t *testing.T) {
	t.Parallel()
	t.Run("IsATombstoneOnlyWithoutAValue", func(t *testing.T) {
		t.Parallel()
		key := record.Present([]byte("k"))
		for _, test := range []struct {
			rec  record.Record
			want bool
		}{
			{record.Record{Key: key, Value: record.Null()}, true},
			{record.Record{Key: key, Value: record.Missing()}, true},
			{record.Record{Key: key}, true},
			{record.Record{Key: key, Value: record.Present(nil)}, false},
			{record.Record{Key: record.Null(), Value: record.Present([]byte("v"))}, false},
		} {
			if got := test.rec.IsTombstone(); got != test.want {
				t.Errorf("value null %t, of %d bytes: got %t, want %t",
					test.rec.Value.IsNull(), len(test.rec.Value.Bytes()), got, test.want)
			}
		}
	})
	t.Run("CountsTheBytesOfKeyValueAndHeaders", func(t *testing.T) {
		t.Parallel()
		rec := record.Record{
			Key: record.Present([]byte("12")), Value: record.Present([]byte("345")),
			Headers: []record.Header{
				{Name: "name", Value: record.Present([]byte("5"))},
				{Name: "null", Value: record.Null()},
				{Name: "name", Value: record.Present(nil)},
				{Name: "", Value: record.Missing()},
			},
		}
		if got, want := rec.Size(), 2+3+(4+1)+4+4; got != want {
			t.Errorf("got %d, want %d", got, want)
		}
		if got := (&record.Record{}).Size(); got != 0 {
			t.Errorf("got %d for nothing", got)
		}
	})
}

func TestHeader(t *testing.T) {
	t.Parallel()
	rec := record.Record{Headers: []record.Header{
		{Name: "a", Value: record.Present([]byte("first"))},
		{Name: "b", Value: record.Present([]byte("only"))},
		{Name: "a", Value: record.Present([]byte("last"))},
		{Name: "c", Value: record.Present([]byte("value"))},
		{Name: "c", Value: record.Null()},
		{Name: "d", Value: record.Present(nil)},
		{Name: "", Value: record.Present([]byte("nameless"))},
	}}
	for _, test := range []struct {
		promise, name string
		want          record.Data
		found         bool
	}{
		{"TheLastOfAName", "a", record.Present([]byte("last")), true},
		{"TheOnlyOfAName", "b", record.Present([]byte("only")), true},
		{"ANullThatHidesAValue", "c", record.Null(), true},
		{"AnEmptyValue", "d", record.Present(nil), true},
		{"TheOneWithoutAName", "", record.Present([]byte("nameless")), true},
		{"NothingWhereThereIsNone", "e", record.Missing(), false},
		{"NothingInOtherCase", "A", record.Missing(), false},
	} {
		t.Run("Finds"+test.promise, func(t *testing.T) {
			t.Parallel()
			got, found := rec.Header(test.name)
			if found != test.found || !cmp.Equal(test.want, got, sameData) {
				t.Errorf("got %q (null %t), found %t, want %q, %t", got.Bytes(), got.IsNull(), found, test.want.Bytes(), test.found)
			}
		})
	}
	t.Run("IsNotInARecordWithoutHeaders", func(t *testing.T) {
		t.Parallel()
		if got, found := (&record.Record{}).Header("a"); found || !got.IsMissing() {
			t.Errorf("got %q, %t", got.Bytes(), found)
		}
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("SpansFromItsFirstToBehindItsLast", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			var run record.Run
			next := position.Offset(rapid.Int64Range(0, 1<<40).Draw(t, "first"))
			from := next
			for _, jump := range rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 20).Draw(t, "holes") {
				run.Records = append(run.Records, record.Record{Offset: next})
				next += position.Offset(jump) + 1
			}
			last := run.Records[len(run.Records)-1].Offset
			got := run.Range()
			if got.From != from || got.Until != last.Next() || got.Validate() != nil || got.Contains(last.Next()) {
				t.Errorf("got %s, want [%s,%s)", got, from, last.Next())
			}
			for i := range run.Records {
				if !got.Contains(run.Records[i].Offset) {
					t.Errorf("%s leaves %s out", got, run.Records[i].Offset)
				}
			}
		})
	})
	t.Run("HasNoSpanWithoutRecords", func(t *testing.T) {
		t.Parallel()
		run := record.Run{Partition: position.Partition{Topic: "orders", Number: 3}}
		if got := run.Range(); !got.IsZero() {
			t.Errorf("got %s", got)
		}
	})
	t.Run("IsNotEmptyWithOneRecordAtZero", func(t *testing.T) {
		t.Parallel()
		if got := (record.Run{Records: []record.Record{{}}}).Range(); got != (position.Range{From: 0, Until: 1}) {
			t.Errorf("got %s", got)
		}
	})
}
