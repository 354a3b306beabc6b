package manifest_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// statement has every member.
func statement() manifest.Statement {
	return manifest.Statement{
		Version:     document.Version,
		TargetID:    "shop.eu-1",
		Incarnation: "0190c5ae-7e1f-7abc-8def-0123456789ab",
		Lineage:     3,
		Seq:         math.MaxInt64,
		RunID:       "0190c5ae-7e1f-7abc-8def-0123456789ac",
		Created:     time.Date(2026, 7, 1, 10, 0, 0, 123_456_000, time.UTC),
		Body: manifest.Object{
			Digest: manifest.DigestOf([]byte("stored")), Size: manifest.MaxObject,
			Plain: manifest.DigestOf([]byte("plain")), PlainSize: 1 << 53, Encrypted: true,
		},
		CutDigest: manifest.DigestOf([]byte("cut")),
		Previous:  manifest.Previous{Lineage: 2, Seq: 1<<53 + 1, Digest: manifest.DigestOf([]byte("previous"))},
		Tool:      `tidemark "v1.0.0"`,
	}
}

// TestStatementForm holds the form against files that earlier releases wrote. When it fails, either undo the change or
// raise document.Version, add a file of the new version, and keep reading the old ones.
func TestStatementForm(t *testing.T) {
	t.Parallel()
	kept := os.DirFS("testdata")
	files, err := fs.Glob(kept, "statement.v*.json")
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
			got, err := manifest.DecodeStatement(encoded)
			if diff := cmp.Diff(statement(), got); diff != "" || err != nil {
				t.Errorf("%v, want, got: %s", err, diff)
			}
		})
	}
	t.Run("IsWrittenAsBefore", func(t *testing.T) {
		t.Parallel()
		want, err := fs.ReadFile(kept, fmt.Sprintf("statement.v%d.json", document.Version))
		if err != nil {
			t.Fatal(err)
		}
		got, err := manifest.EncodeStatement(statement())
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
			t.Errorf("%v, want, got: %s", err, diff)
		}
	})
	t.Run("IsHeldWithEveryMember", func(t *testing.T) {
		t.Parallel()
		mustBeFull(t, "statement", reflect.ValueOf(statement()))
	})
}

// mustBeFull fails for members that the file would not show because they are zero.
func mustBeFull(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	if v.IsZero() {
		t.Errorf("%s is zero", name)
	}
	if _, isTime := v.Interface().(time.Time); v.Kind() != reflect.Struct || isTime {
		return
	}
	for field, value := range v.Fields() {
		mustBeFull(t, name+"."+field.Name, value)
	}
}

func statements() *rapid.Generator[manifest.Statement] {
	digest := rapid.Map(rapid.SliceOf(rapid.Byte()), manifest.DigestOf)
	uuid := rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	return rapid.Custom(func(t *rapid.T) manifest.Statement {
		s := manifest.Statement{
			Version:     document.Version,
			TargetID:    position.TargetID(rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,62}`).Draw(t, "target")),
			Incarnation: position.Incarnation(uuid.Draw(t, "incarnation")),
			Lineage:     position.Lineage(rapid.Int64Min(1).Draw(t, "lineage")),
			Seq:         rapid.Int64Min(1).Draw(t, "seq"),
			RunID:       manifest.RunID(uuid.Draw(t, "run")),
			Created:     document.Moment(time.UnixMicro(rapid.Int64().Draw(t, "created"))),
			Body: manifest.Object{
				Digest: digest.Draw(t, "body"), Size: rapid.Int64Range(1, manifest.MaxObject).Draw(t, "size"),
				Plain: digest.Draw(t, "plain"), PlainSize: rapid.Int64Min(0).Draw(t, "plain size"),
				Encrypted: rapid.Bool().Draw(t, "encrypted"),
			},
			CutDigest: digest.Draw(t, "cut"),
			Tool:      rapid.StringMatching(`[!-~ üß😀"\\/<>&]{1,50}`).Draw(t, "tool"),
		}
		if s.Seq > 1 && rapid.Bool().Draw(t, "has a previous one") {
			s.Previous = manifest.Previous{
				Lineage: position.Lineage(rapid.Int64Range(1, int64(s.Lineage)).Draw(t, "previous lineage")),
				Seq:     rapid.Int64Range(1, s.Seq-1).Draw(t, "previous seq"),
				Digest:  digest.Draw(t, "previous"),
			}
		}
		return s
	})
}

func TestStatement(t *testing.T) {
	t.Parallel()
	t.Run("IsReadAsItWasWritten", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			want := statements().Draw(t, "statement")
			encoded, err := manifest.EncodeStatement(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := manifest.DecodeStatement(encoded)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v, want, got: %s", err, diff)
			}
			again, err := manifest.EncodeStatement(got)
			if !bytes.Equal(encoded, again) || err != nil {
				t.Errorf("got %s, %v, want %s", again, err, encoded)
			}
		})
	})
	t.Run("FitsWhatAKeyServiceSigns", func(t *testing.T) {
		t.Parallel()
		s := statement()
		s.TargetID = position.TargetID(strings.Repeat("a", 63))
		s.Lineage, s.Previous.Lineage, s.Previous.Seq = math.MaxInt64, math.MaxInt64, math.MaxInt64-1
		s.Body.PlainSize = math.MaxInt64
		s.Tool = strings.Repeat(`"`, 200)
		if encoded, err := manifest.EncodeStatement(s); err != nil || len(encoded) > 2000 {
			t.Errorf("got %d bytes, %v", len(encoded), err)
		}
		header := fmt.Sprintf("DSSEv1 %d %s %d ", len(manifest.StatementType), manifest.StatementType, manifest.MaxStatement)
		if size := len(header) + manifest.MaxStatement; size > 4096 {
			t.Errorf("%d bytes would be signed, at most 4096", size)
		}
	})
	t.Run("IsRefusedAboveItsSize", func(t *testing.T) {
		t.Parallel()
		encoded, err := manifest.EncodeStatement(statement())
		if err != nil {
			t.Fatal(err)
		}
		padded := append(encoded, bytes.Repeat([]byte(" "), manifest.MaxStatement-len(encoded))...)
		if _, err := manifest.DecodeStatement(padded); err != nil {
			t.Error(err)
		}
		if _, err := manifest.DecodeStatement(append(padded, ' ')); !fault.Is(err, fault.Corrupt) {
			t.Errorf("got %v, want corrupt", err)
		}
	})
	t.Run("OfANewerVersionIsNamedSo", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{`{"version":2}`, `{"type":"other","version":2,"lineage":3}`} {
			if _, err := manifest.DecodeStatement([]byte(text)); !fault.Is(err, fault.Misconfigured) {
				t.Errorf("got %v, want misconfigured", err)
			}
		}
	})
	t.Run("NamesATextThatIsNotUTF8", func(t *testing.T) {
		t.Parallel()
		s := statement()
		s.Tool = "tidemark \xff"
		if _, err := manifest.EncodeStatement(s); !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "/tool") {
			t.Errorf("got %v, want misconfigured at /tool", err)
		}
	})
}

func TestStatementDamaged(t *testing.T) {
	t.Parallel()
	encoded, err := manifest.EncodeStatement(statement())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("CutOffIsRefused", func(t *testing.T) {
		t.Parallel()
		for length := range encoded {
			if _, err := manifest.DecodeStatement(encoded[:length:length]); !fault.Is(err, fault.Corrupt) {
				t.Errorf("of %d bytes: got %v, want corrupt", length, err)
			}
		}
	})
	t.Run("InOneBitIsRefusedOrValid", func(t *testing.T) {
		t.Parallel()
		for bit := range len(encoded) * 8 {
			damaged := bytes.Clone(encoded)
			damaged[bit/8] ^= 1 << (bit % 8)
			mustBeRefusedOrValid(t, damaged)
		}
	})
}

// mustBeRefusedOrValid holds reading against its promise: an error of a class, or a statement that is valid and reads
// as it is written.
func mustBeRefusedOrValid(t *testing.T, encoded []byte) {
	t.Helper()
	s, err := manifest.DecodeStatement(encoded)
	if err != nil {
		if class := fault.ClassOf(err); class != fault.Corrupt && class != fault.Misconfigured || s != (manifest.Statement{}) {
			t.Errorf("%s: got %+v, %v of class %s", encoded, s, err, class)
		}
		return
	}
	again, err := manifest.EncodeStatement(s)
	if err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
	if got, err := manifest.DecodeStatement(again); got != s || err != nil {
		t.Errorf("%s: got %+v, %v, want %+v", again, got, err, s)
	}
}

func FuzzDecodeStatement(f *testing.F) {
	f.Fuzz(mustBeRefusedOrValid)
}

func TestStatementRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *manifest.Statement){
		"NoVersion":            func(s *manifest.Statement) { s.Version = 0 },
		"AnotherVersion":       func(s *manifest.Statement) { s.Version = document.Version + 1 },
		"NoTarget":             func(s *manifest.Statement) { s.TargetID = "" },
		"NoIncarnation":        func(s *manifest.Statement) { s.Incarnation = "" },
		"NoLineage":            func(s *manifest.Statement) { s.Lineage = 0 },
		"ANegativeLineage":     func(s *manifest.Statement) { s.Lineage = -1 },
		"NoSeq":                func(s *manifest.Statement) { s.Seq = 0 },
		"ANegativeSeq":         func(s *manifest.Statement) { s.Seq, s.Previous = -1, manifest.Previous{} },
		"NoRun":                func(s *manifest.Statement) { s.RunID = "" },
		"NoTime":               func(s *manifest.Statement) { s.Created = time.Time{} },
		"ATimeElsewhere":       func(s *manifest.Statement) { s.Created = s.Created.In(time.FixedZone("", 3600)) },
		"Nanoseconds":          func(s *manifest.Statement) { s.Created = s.Created.Add(1) },
		"AFarYear":             func(s *manifest.Statement) { s.Created = s.Created.AddDate(9000, 0, 0) },
		"NoBody":               func(s *manifest.Statement) { s.Body = manifest.Object{} },
		"NoCut":                func(s *manifest.Statement) { s.CutDigest = "" },
		"NoTool":               func(s *manifest.Statement) { s.Tool = "" },
		"ALongTool":            func(s *manifest.Statement) { s.Tool = strings.Repeat("a", 201) },
		"AToolOfTwoLines":      func(s *manifest.Statement) { s.Tool = "a\nb" },
		"ItselfAsPrevious":     func(s *manifest.Statement) { s.Previous.Lineage, s.Previous.Seq = s.Lineage, s.Seq },
		"ALaterPrevious":       func(s *manifest.Statement) { s.Previous.Lineage, s.Seq = s.Lineage, 5 },
		"APreviousOfLaterLife": func(s *manifest.Statement) { s.Previous.Lineage = s.Lineage + 1 },
		"APreviousOfNoLife":    func(s *manifest.Statement) { s.Previous.Lineage = 0 },
		"APreviousOfNoSeq":     func(s *manifest.Statement) { s.Previous.Seq = 0 },
		"APreviousOfNoDigest":  func(s *manifest.Statement) { s.Previous.Digest = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := statement()
			change(&s)
			if encoded, err := manifest.EncodeStatement(s); !fault.Is(err, fault.Bug) || encoded != nil {
				t.Errorf("got %s, %v, want a bug", encoded, err)
			}
			encoded, err := document.Encode(s)
			if err == nil {
				mustBeRefused(t, encoded)
			}
		})
	}
}

func mustBeRefused(t *testing.T, encoded []byte) {
	t.Helper()
	if s, err := manifest.DecodeStatement(encoded); err == nil {
		t.Errorf("%s is read as %+v", encoded, s)
	}
}
