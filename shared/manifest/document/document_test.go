package document_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/document"
)

// note is a document with a member of each form.
type note struct {
	Version int `json:"version"`
	stamp
	Big   int64     `json:"big,string"`
	Small uint32    `json:"small"`
	Flag  bool      `json:"flag"`
	Texts []string  `json:"texts"`
	Parts []stamp   `json:"parts"`
	Maybe *int32    `json:"maybe,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Inner stamp     `json:"inner"`
}

type stamp struct {
	Author string    `json:"author"`
	At     time.Time `json:"at"`
}

var errRefused = errors.New("the author is nobody")

func (n note) Validate() error {
	if n.Author == "nobody" {
		return errRefused
	}
	return nil
}

const whole = `{"version":1,"author":"ann","at":"2026-01-02T03:04:05.000006Z","big":"9223372036854775807","small":4294967295,` +
	`"flag":true,"texts":["a","\u0001",""],"parts":[{"author":"b","at":"2026-01-02T03:04:05Z"}],"maybe":0,` +
	`"until":"2026-01-02T03:04:05Z","inner":{"author":"","at":"2026-01-02T03:04:05Z"}}`

func read(text string) (note, error) {
	var n note
	err := document.Decode("note", 4096, []byte(text), &n)
	return n, err
}

func TestDecode(t *testing.T) {
	t.Parallel()
	t.Run("ReadsWhatEncodeWrites", func(t *testing.T) {
		t.Parallel()
		n, err := read(whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := document.Encode(n)
		if diff := cmp.Diff(whole, string(got)); diff != "" || err != nil {
			t.Errorf("%v, want, got: %s", err, diff)
		}
	})
	t.Run("TakesBlanksAndAnyOrder", func(t *testing.T) {
		t.Parallel()
		n, err := read("\n { \"inner\" :{\"at\":\"2026-01-02T03:04:05Z\",\"author\":\"\"}," + strings.Replace(whole[1:],
			`,"inner":{"author":"","at":"2026-01-02T03:04:05Z"}`, " ", 1) + "\n")
		if err != nil || n.Big != 9223372036854775807 {
			t.Errorf("got %+v, %v", n, err)
		}
	})
	t.Run("RefusesWhatTheDocumentItselfRefuses", func(t *testing.T) {
		t.Parallel()
		_, err := read(strings.Replace(whole, "ann", "nobody", 1))
		if !fault.Is(err, fault.Corrupt) || !errors.Is(err, errRefused) {
			t.Errorf("got %v, want %v as corrupt", err, errRefused)
		}
	})
	t.Run("JudgesTheSizeFirst", func(t *testing.T) {
		t.Parallel()
		// Whoever touches a byte of it ends the process.
		huge, err := syscall.Mmap(-1, 0, 1<<30, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Munmap(huge); err != nil {
				t.Error(err)
			}
		}()
		var n note
		if err := document.Decode("note", 4096, huge, &n); !fault.Is(err, fault.Corrupt) {
			t.Errorf("got %v, want corrupt", err)
		}
	})
	t.Run("TakesItsLimit", func(t *testing.T) {
		t.Parallel()
		var n note
		if err := document.Decode("note", len(whole), []byte(whole), &n); err != nil {
			t.Error(err)
		}
		if err := document.Decode("note", len(whole)-1, []byte(whole), new(note)); !fault.Is(err, fault.Corrupt) {
			t.Errorf("got %v, want corrupt", err)
		}
	})
}

// members are the parts of whole that begin with a name.
var members = []string{
	`"version":1`, `"author":"ann"`, `"at":"2026-01-02T03:04:05.000006Z"`, `"big":"9223372036854775807"`,
	`"small":4294967295`, `"flag":true`, `"texts":["a","\u0001",""]`, `"parts":[{"author":"b","at":"2026-01-02T03:04:05Z"}]`,
	`"maybe":0`, `"until":"2026-01-02T03:04:05Z"`, `"inner":{"author":"","at":"2026-01-02T03:04:05Z"}`, `"author":"b"`,
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	swap := func(from, to string) string {
		if !strings.Contains(whole, from) {
			t.Fatalf("no %s in the document", from)
		}
		return strings.Replace(whole, from, to, 1)
	}
	texts := map[string]string{
		"Nothing": "", "Blanks": " \n", "AnArray": "[" + whole + "]", "Null": "null", "AText": `"a"`, "Two": whole + whole,
		"WhatFollows": whole + "x", "AZeroByteBehind": whole + "\x00", "AByteOrderMark": "\ufeff" + whole,
		"AComment": swap("{", "/**/{"), "ATrailingComma": whole[:len(whole)-1] + ",}",
		"AnUnknownMember":       swap("{", `{"new":1,`),
		"AnUnknownMemberBelow":  swap(`"inner":{`, `"inner":{"new":1,`),
		"AMemberTwice":          swap("{", `{"author":"ann",`),
		"AMemberTwiceBelow":     swap(`"inner":{`, `"inner":{"author":"",`),
		"AMemberTwiceByEscape":  swap("{", `{"\u0061uthor":"ann",`),
		"AVersionTwice":         swap("{", `{"version":1,`),
		"AnotherCase":           swap(`"author"`, `"Author"`),
		"AnotherCaseOfVersion":  swap(`"version"`, `"VERSION"`),
		"VersionZero":           swap(`"version":1`, `"version":0`),
		"ANegativeVersion":      swap(`"version":1`, `"version":-1`),
		"AVersionOfText":        swap(`"version":1`, `"version":"1"`),
		"AVersionWithExponent":  swap(`"version":1`, `"version":1e0`),
		"AVersionWithPoint":     swap(`"version":1`, `"version":1.0`),
		"AVersionBeyondNumbers": swap(`"version":1`, `"version":99999999999999999999`),
		"ANewVersionTwice":      swap(`"version":1`, `"version":2,"version":2`),
		"ANewVersionCutOff":     swap(`"version":1`, `"version":2`)[:len(whole)-1],
		"ABigNumber":            swap(`"9223372036854775807"`, `9223372036854775807`),
		"ABigNumberTooBig":      swap(`9223372036854775807`, `9223372036854775808`),
		"ABigNumberFarTooBig":   swap(`9223372036854775807`, strings.Repeat("9", 999)),
		"AnExponentInText":      swap(`9223372036854775807`, `1e3`),
		"AFractionInText":       swap(`9223372036854775807`, `1.0`),
		"ALeadingZeroInText":    swap(`9223372036854775807`, `01`),
		"APlusInText":           swap(`9223372036854775807`, `+1`),
		"ABlankInText":          swap(`9223372036854775807`, ` 1`),
		"NoDigits":              swap(`9223372036854775807`, ``),
		"MinusZeroInText":       swap(`9223372036854775807`, `-0`),
		"MinusZero":             swap(`"maybe":0`, `"maybe":-0`),
		"ALeadingZero":          swap(`4294967295`, `01`),
		"AnExponent":            swap(`4294967295`, `1e3`),
		"ANegativeCount":        swap(`4294967295`, `-1`),
		"ACountTooBig":          swap(`4294967295`, `4294967296`),
		"ACountOfText":          swap(`4294967295`, `"4294967295"`),
		"NullAmongTexts":        swap(`["a"`, `[null`),
		"NullAmongParts":        swap(`"parts":[`, `"parts":[null,`),
		"ANumberForAText":       swap(`"ann"`, `1`),
		"ATextForAFlag":         swap(`true`, `"true"`),
		"ATextForAnArray":       swap(`["a","\u0001",""]`, `"a"`),
		"AnObjectForAnArray":    swap(`["a","\u0001",""]`, `{}`),
		"BrokenUTF8":            swap("ann", "a\xffn"),
		"BrokenUTF8InAName":     swap("{", "{\"\xff\":1,"),
		"HalfASurrogate":        swap("ann", `\ud83d`),
		"ARawControlCharacter":  swap("ann", "a\nn"),
		"ATimeWithComma":        swap("05.000006Z", "05,000006Z"),
		"ATimeOfNumbers":        swap(`"2026-01-02T03:04:05.000006Z"`, `1`),
		"ALeapSecond":           swap("05.000006Z", "60Z"),
		"DepthWhereATextIs":     swap(`["a"`, "["+strings.Repeat("[", 1500)+strings.Repeat("]", 1500)),
		"DepthInAnUnknown":      swap("{", `{"x":`+strings.Repeat(`[`, 1500)+strings.Repeat("]", 1500)+","),
		"DepthWithoutEnd":       `{"x":` + strings.Repeat(`{"a":`, 600),
	}
	for _, member := range members {
		name, _, _ := strings.Cut(member, ":")
		if member != `"maybe":0` && !strings.HasPrefix(member, `"until"`) {
			gone := strings.NewReplacer(","+member, "", member+",", "").Replace(whole)
			texts["ADocumentWithout "+member] = gone
		}
		texts["NullFor "+member] = swap(member, name+":null")
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n, err := read(text); !fault.Is(err, fault.Corrupt) {
				t.Errorf("got %+v, %v of %s, want corrupt", n, err, text)
			}
		})
	}
	t.Run("DepthBombs", func(t *testing.T) {
		t.Parallel()
		for _, bomb := range []string{`[`, `{"x":`} {
			text := `{"version":1,"x":` + strings.Repeat(bomb, 5<<20)
			if err := document.Decode("note", len(text), []byte(text), new(note)); !fault.Is(err, fault.Corrupt) {
				t.Errorf("got %v, want corrupt", err)
			}
		}
	})
}

func TestDecodeNamesANewerVersion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"version":2}`, `{"version":2,"unknown":[1,{"version":1}]}`, ` {"unknown":{"version":1},"version":3}`,
		`{"version":9223372036854775807,"author":null}`,
	} {
		if _, err := read(text); !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
			t.Errorf("%s: got %v, want misconfigured with a hint", text, err)
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	t.Run("WritesNoNull", func(t *testing.T) {
		t.Parallel()
		got, err := document.Encode(note{Version: 1, Parts: []stamp{}})
		const zero = `"at":"0001-01-01T00:00:00Z"`
		want := `{"version":1,"author":"",` + zero + `,"big":"0","small":0,"flag":false,"texts":[],"parts":[],"inner":{"author":"",` +
			zero + `}}`
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%v, want, got: %s", err, diff)
		}
	})
	t.Run("KeepsEveryText", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			n := note{Version: 1, Texts: rapid.SliceOf(rapid.String()).Draw(t, "texts"), Big: rapid.Int64().Draw(t, "big")}
			encoded, err := document.Encode(n)
			if err != nil {
				t.Fatal(err)
			}
			var got note
			if err := document.Decode("note", 1<<20, encoded, &got); err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(n.Texts, got.Texts) || n.Big != got.Big {
				t.Errorf("got %q, %d, want %q, %d", got.Texts, got.Big, n.Texts, n.Big)
			}
		})
	})
	t.Run("NamesTheTextThatIsNotUTF8", func(t *testing.T) {
		t.Parallel()
		for _, broken := range []string{"\xff", "caf\xe9", "\xed\xa0\x80", "\xc0\x80", "a\xf0\x9f"} {
			encoded, err := document.Encode(note{Parts: []stamp{{}, {Author: broken}}})
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fmt.Sprint(err), "/parts/1/author") || encoded != nil {
				t.Errorf("%q: got %q, %v, want misconfigured with the place", broken, encoded, err)
			}
			if !strings.Contains(fault.HintOf(err), "SQL_ASCII") {
				t.Errorf("got the hint %q, want one on SQL_ASCII", fault.HintOf(err))
			}
		}
	})
	t.Run("RefusesWhatIsNoDocument", func(t *testing.T) {
		t.Parallel()
		if encoded, err := document.Encode(note{Until: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); !fault.Is(err, fault.Bug) {
			t.Errorf("got %q, %v, want a bug", encoded, err)
		}
	})
}
