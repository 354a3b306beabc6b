package body_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// TestBodyForm holds the form against files that earlier releases wrote. When it fails, either undo the change or raise
// document.Version, add a file of the new version, and keep reading the old ones.
func TestBodyForm(t *testing.T) {
	t.Parallel()
	kept := os.DirFS("testdata")
	files, err := fs.Glob(kept, "body.v*.json")
	if err != nil || len(files) != document.Version {
		t.Fatalf("got %d files, %v, want one for each version up to %d", len(files), err, document.Version)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			encoded, err := fs.ReadFile(kept, file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := body.Decode(encoded)
			if diff := cmp.Diff(sample(), got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("%v, want, got: %s", err, diff)
			}
		})
	}
	t.Run("IsWrittenAsBefore", func(t *testing.T) {
		t.Parallel()
		want, err := fs.ReadFile(kept, fmt.Sprintf("body.v%d.json", document.Version))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(mustEncode(t, sample()))); diff != "" {
			t.Errorf("want, got: %s", diff)
		}
	})
	t.Run("IsHeldWithEveryMember", func(t *testing.T) {
		t.Parallel()
		held := map[string]bool{}
		fill(held, reflect.ValueOf(sample()))
		for of, list := range described(reflect.TypeFor[body.Body]()) {
			for _, m := range list {
				if !held[of+"."+m.name] {
					t.Errorf("no %s in the file has a %s", of, m.name)
				}
			}
		}
	})
	t.Run("OfACutIsItsDigest", func(t *testing.T) {
		t.Parallel()
		for want, cut := range map[string]body.Cut{
			"[]": nil,
			`[{"flow":"web","topic":"clicks","partition":0,"next_offset":"0","generation":"0"}]`: sample().Cut[1:],
		} {
			if got, err := cut.Digest(); got != manifest.DigestOf([]byte(want)) || err != nil {
				t.Errorf("got %s, %v, want that of %s", got, err, want)
			}
		}
		empty, err := body.Cut{}.Digest()
		if none, _ := body.Cut(nil).Digest(); empty != none || err != nil {
			t.Errorf("got %s and %s, %v, want the same", empty, none, err)
		}
	})
}

// fill marks the members that are not zero anywhere in v.
func fill(held map[string]bool, v reflect.Value) {
	switch kind := v.Kind(); {
	case kind == reflect.Pointer && !v.IsNil():
		fill(held, v.Elem())
	case kind == reflect.Slice:
		for i := range v.Len() {
			fill(held, v.Index(i))
		}
	case kind == reflect.Struct:
		for _, m := range members(v.Type()) {
			name, value := v.Type().Name()+"."+m.name, v.FieldByIndex(m.index)
			held[name] = held[name] || !value.IsZero()
			fill(held, value)
		}
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	t.Run("IsReadAsItWasWritten", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			want := bodies().Draw(t, "body")
			encoded, err := body.Encode(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := body.Decode(encoded)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Fatalf("%v, want, got: %s", err, diff)
			}
			if again, err := body.Encode(got); !bytes.Equal(encoded, again) || err != nil {
				t.Errorf("got %s, %v, want %s", again, err, encoded)
			}
			if bytes.Contains(encoded, []byte(`":null`)) {
				t.Errorf("%s has null", encoded)
			}
		})
	})
	t.Run("WritesNilAndEmptyAlike", func(t *testing.T) {
		t.Parallel()
		none, empty := small(), small()
		none.Cut, none.Gaps, none.Definitions, none.Sequences, none.Uncaptured, none.Warnings = nil, nil, nil, nil, nil, nil
		none.Tables[0].Columns, none.Tables[0].Key, none.Tables[0].Collations = nil, nil, nil
		empty.Cut, empty.Gaps, empty.Definitions = body.Cut{}, []body.Gap{}, []body.Definition{}
		empty.Sequences, empty.Uncaptured, empty.Warnings = []body.Sequence{}, []string{}, []string{}
		empty.Tables[0].Columns, empty.Tables[0].Key, empty.Tables[0].Collations = []body.Column{}, []string{}, []string{}
		if diff := cmp.Diff(string(mustEncode(t, none)), string(mustEncode(t, empty))); diff != "" {
			t.Errorf("nil, empty: %s", diff)
		}
	})
	t.Run("ListsEachObjectOnce", func(t *testing.T) {
		t.Parallel()
		b := sample()
		b.Tables = append(b.Tables, b.Tables[0])
		if diff := cmp.Diff([]manifest.Object{object("one"), object("two")}, b.Objects()); diff != "" {
			t.Errorf("want, got: %s", diff)
		}
	})
	t.Run("IsRefusedUnreadAboveItsSize", func(t *testing.T) {
		t.Parallel()
		// Whoever touches a byte of it ends the process.
		huge, err := syscall.Mmap(-1, 0, body.MaxSize+1, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		_, decoding := body.Decode(huge)
		if err := syscall.Munmap(huge); !fault.Is(decoding, fault.Corrupt) || err != nil {
			t.Errorf("got %v, %v, want corrupt", decoding, err)
		}
	})
	t.Run("OfANewerVersionIsNamedSo", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{`{"version":2}`, `{"tables":null,"shards":[],"version":2}`} {
			if _, err := body.Decode([]byte(text)); !fault.Is(err, fault.Misconfigured) {
				t.Errorf("got %v, want misconfigured", err)
			}
		}
	})
	t.Run("NamesATextThatIsNotUTF8", func(t *testing.T) {
		t.Parallel()
		b := sample()
		b.Definitions[1].SQL = "COMMENT ON TABLE t IS 'caf\xe9'"
		_, err := body.Encode(b)
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fmt.Sprint(err), "/definitions/1/sql") {
			t.Errorf("got %v, want misconfigured at /definitions/1/sql", err)
		}
		b.Cut[0].Flow = "caf\xe9"
		if _, err := b.Cut.Digest(); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("got %v, want misconfigured", err)
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	t.Run("IsSortedByFlowTopicAndNumber", func(t *testing.T) {
		t.Parallel()
		cut := body.Cut{
			{Flow: "b", Topic: "a"},
			{Flow: "a", Topic: "b"},
			{Flow: "a", Topic: "a", Partition: 10},
			{Flow: "a", Topic: "a", Partition: 9},
		}
		if cut.Validate() == nil {
			t.Error("a cut out of order is valid")
		}
		cut.Sort()
		want := body.Cut{
			{Flow: "a", Topic: "a", Partition: 9},
			{Flow: "a", Topic: "a", Partition: 10},
			{Flow: "a", Topic: "b"},
			{Flow: "b", Topic: "a"},
		}
		if diff := cmp.Diff(want, cut); diff != "" || cut.Validate() != nil {
			t.Errorf("%v, want, got: %s", cut.Validate(), diff)
		}
	})
	t.Run("GivesTheOffsetsOfOneFlow", func(t *testing.T) {
		t.Parallel()
		cut := body.Cut{
			{Flow: "a", Topic: "x", NextOffset: 7},
			{Flow: "a", Topic: "x", Partition: 1, NextOffset: 8},
			{Flow: "b", Topic: "x", NextOffset: 9},
		}
		want := position.Cut{{Topic: "x"}: 7, {Topic: "x", Number: 1}: 8}
		if diff := cmp.Diff(want, cut.Offsets("a")); diff != "" {
			t.Errorf("want, got: %s", diff)
		}
	})
}

func TestBodyDamaged(t *testing.T) {
	t.Parallel()
	encoded := mustEncode(t, sample())
	t.Run("CutOffIsRefused", func(t *testing.T) {
		t.Parallel()
		for length := range encoded {
			if _, err := body.Decode(encoded[:length:length]); !fault.Is(err, fault.Corrupt) {
				t.Errorf("of %d bytes: got %v, want corrupt", length, err)
			}
		}
	})
	t.Run("InOneBitIsRefusedOrValid", func(t *testing.T) {
		t.Parallel()
		encoded := mustEncode(t, small())
		for bit := range len(encoded) * 8 {
			damaged := bytes.Clone(encoded)
			damaged[bit/8] ^= 1 << (bit % 8)
			mustBeRefusedOrValid(t, damaged)
		}
	})
	t.Run("IsRefusedWithoutAnyRequiredMember", func(t *testing.T) {
		t.Parallel()
		for of, list := range described(reflect.TypeFor[body.Body]()) {
			for _, m := range list {
				null, lost := without(t, encoded, of, m.name, true), without(t, encoded, of, m.name, false)
				if _, err := body.Decode(null); !fault.Is(err, fault.Corrupt) {
					t.Errorf("null for %s.%s: got %v, want corrupt", of, m.name, err)
				}
				if _, err := body.Decode(lost); !fault.Is(err, fault.Corrupt) && !m.optional {
					t.Errorf("without %s.%s: got %v, want corrupt", of, m.name, err)
				}
			}
		}
	})
}

// mustBeRefusedOrValid holds reading against its promise: an error of a class, or a body that is valid and reads as
// it is written.
func mustBeRefusedOrValid(t *testing.T, encoded []byte) {
	t.Helper()
	b, err := body.Decode(encoded)
	if err != nil {
		if class := fault.ClassOf(err); class != fault.Corrupt && class != fault.Misconfigured {
			t.Errorf("%s: got %v of class %s", encoded, err, class)
		}
		return
	}
	want := mustEncode(t, b)
	again, err := body.Decode(want)
	if err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if got := mustEncode(t, again); !bytes.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Fuzz(mustBeRefusedOrValid)
}

// BenchmarkDecode reads a body of 10,000 chunks.
func BenchmarkDecode(b *testing.B) {
	large := sample()
	table := &large.Tables[0]
	table.Rows, table.Chunks = 10_000, nil
	var bound []string
	for i := range 10_000 {
		c := body.Chunk{From: bound, Rows: 1, Object: object(strconv.Itoa(i))}
		if bound = nil; i < 9_999 {
			bound = []string{strconv.Itoa(i), "region"}
		}
		c.Until = bound
		table.Chunks = append(table.Chunks, c)
	}
	encoded := mustEncode(b, large)
	b.SetBytes(int64(len(encoded)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := body.Decode(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
