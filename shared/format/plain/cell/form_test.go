package cell_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/format/plain/cell"
)

func kind(k change.Kind) change.Type { return change.Type{Kind: k, Precision: 6} }

func named(k change.Kind, name string) change.Type { return change.Type{Kind: k, Name: name} }

func arrayOf(elem change.Type) change.Type { return change.Type{Kind: change.KindArray, Elem: &elem} }

// read is the value of json in a column of type t, as a cell prints itself.
func read(tb rapid.TB, t change.Type, modes cell.Modes, json string) (string, error) {
	tb.Helper()
	n, err := jsonnode.Parse([]byte(json))
	if err != nil {
		tb.Fatalf("parse %s: %v", json, err)
	}
	form, set := cell.NewForm(&t, modes.WithDefaults()), new(change.Set)
	before := set.Keep(append(set.Grow(6), "before"...))
	value, err := form.Value(n, set)
	behind := set.Keep(append(set.Grow(6), "behind"...))
	if string(before) != "before" || string(behind) != "behind" || cap(value.Bytes()) > len(json)+1<<14 {
		tb.Fatalf("the texts beside the cell were written over: %s, %s", before, behind)
	}
	return value.String(), err
}

type valueTest struct {
	name  string
	typ   change.Type
	modes cell.Modes
	json  string
	want  string
}

func values() []valueTest {
	text, integer, numeric := kind(change.KindOther), kind(change.KindInteger), kind(change.KindNumeric)
	stamp, stampTZ, bytea := kind(change.KindTimestamp), kind(change.KindTimestampTZ), kind(change.KindBytea)
	jsonb, none := named(change.KindJSON, "jsonb"), cell.Modes{}
	s, ms := cell.Modes{Epoch: cell.EpochSeconds}, cell.Modes{Epoch: cell.EpochMilliseconds}
	us := cell.Modes{Epoch: cell.EpochMicroseconds}
	hex, inText := cell.Modes{Binary: cell.BinaryHex}, cell.Modes{JSON: cell.JSONText}
	return []valueTest{
		{"Null", text, none, `null`, "NULL"},
		{"NullDocument", jsonb, none, `null`, "NULL"},
		{"Text", text, none, `"a \"b\" \\ \u00e9 \uD83D\uDE00"`, `a "b" \ é 😀`},
		{"EmptyText", text, none, `""`, ""},
		{"TextThatSaysNull", text, none, `"null"`, "null"},
		{"NumberInText", text, none, `1.0`, "1.0"},
		{"BooleanInText", text, none, `true`, "true"},
		{
			"UUID", named(change.KindOther, "uuid"), none, `"550e8400-e29b-41d4-a716-446655440000"`,
			"550e8400-e29b-41d4-a716-446655440000",
		},
		{"TextThatSaysNow", text, none, `"now"`, "now"},
		{"True", kind(change.KindBool), none, `true`, "t"},
		{"False", kind(change.KindBool), none, `false`, "f"},
		{"LargestInteger", integer, none, `9223372036854775807`, "9223372036854775807"},
		{"IntegerInAString", integer, none, `"-7"`, "-7"},
		{"WholeFloat", integer, none, `5.0`, "5"},
		{"WholeWithExponent", integer, none, `2.12902e+06`, "2129020"},
		{"WholeWithNegativeExponent", integer, none, `-7000E-3`, "-7"},
		{"WholeInAString", integer, none, `"7E+3"`, "7000"},
		{"WholeInAnEscapedString", integer, none, `"\u0037.0"`, "7"},
		{"ZeroFloat", integer, none, `-0.0e99999999999`, "0"},
		{"NumbersKeepTheirText", numeric, none, `-0.10E+400`, "-0.10E+400"},
		{"DecimalInAString", numeric, none, `"12345678901234567890.10"`, "12345678901234567890.10"},
		{"NaN", numeric, none, `"NaN"`, "NaN"},
		{"Infinity", kind(change.KindFloat), none, `"-Infinity"`, "-Infinity"},
		{"Money", kind(change.KindMoney), none, `1234.56`, "1234.56"},
		{"Bytes", bytea, none, `"AP8Q3q2+7w=="`, `\x00ff10deadbeef`},
		{"BytesWithEscapedSlash", bytea, none, `"\/\/8="`, `\xffff`},
		{"NoBytes", bytea, none, `""`, `\x`},
		{"HexBytes", bytea, hex, `"00fF10"`, `\x00fF10`},
		{"HexBytesAsPostgreSQLPrints", bytea, hex, `"\\x00ff"`, `\x00ff`},
		{"Date", kind(change.KindDate), none, `"2024-02-29"`, "2024-02-29"},
		{"DateInfinity", kind(change.KindDate), none, `"infinity"`, "infinity"},
		{"DateBC", kind(change.KindDate), none, `"0044-03-15 BC"`, "0044-03-15 BC"},
		{"Time", kind(change.KindTime), none, `"24:00:00"`, "24:00:00"},
		{"TimeTZ", kind(change.KindTimeTZ), none, `"04:05:06.789-08"`, "04:05:06.789-08"},
		{"Timestamp", stamp, none, `"2024-06-30T22:00:05.123-08"`, "2024-06-30T22:00:05.123-08"},
		{
			"TimestampOfAZone", stampTZ, none, `"2024-06-30 22:00:05 Europe\/Berlin"`,
			"2024-06-30 22:00:05 Europe/Berlin",
		},
		{"TimestampOfAMonthsName", stamp, none, `"Jan 8, 2024 10:00"`, "Jan 8, 2024 10:00"},
		{"EpochSeconds", stampTZ, s, `1719784805`, "2024-06-30 22:00:05+00"},
		{"EpochSecondsWithFraction", stampTZ, s, `1719784805.123456789`, "2024-06-30 22:00:05.123456+00"},
		{"EpochMilliseconds", stamp, ms, `1719784805123`, "2024-06-30 22:00:05.123"},
		{"EpochMillisecondsWithFraction", stamp, ms, `1719784805123.5`, "2024-06-30 22:00:05.1235"},
		{"EpochMicroseconds", stamp, us, `-1.9`, "1969-12-31 23:59:59.999999"},
		{"EpochBeforeZero", stamp, s, `-0.5`, "1969-12-31 23:59:59.5"},
		{"EpochBC", stampTZ, s, `-100000000000`, "1200-02-15 14:13:20+00 BC"},
		{"EpochZero", stamp, s, `0`, "1970-01-01 00:00:00"},
		{"EpochLast", stamp, us, `9223372036854775807`, "294247-01-10 04:00:54.775807"},
		{"EpochLeavesStrings", stamp, s, `"2024-06-30 22:00"`, "2024-06-30 22:00"},
		{"Interval", kind(change.KindInterval), none, `"P1M"`, "P1M"},
		{"Document", jsonb, none, `{"b": 1,  "a": [1.0, "x\\u0000"]}`, `{"b": 1,  "a": [1.0, "x\\u0000"]}`},
		{"StringDocument", jsonb, none, `"a\u00e9\"{}"`, `"a\u00e9\"{}"`},
		{"NumberDocument", jsonb, none, `1.0`, `1.0`},
		{"BooleanDocument", jsonb, none, `false`, `false`},
		{"ZeroInJSON", named(change.KindJSON, "json"), none, `"\u0000"`, `"\u0000"`},
		{"DocumentInText", jsonb, inText, `"{\"b\": 1,  \"a\":[1.0]}"`, `{"b": 1,  "a":[1.0]}`},
		{"DocumentBesideText", jsonb, inText, `{"a": "b"}`, `{"a": "b"}`},
		{
			"HStore", kind(change.KindHStore), none, `{"a \"b\\":"1","c":null,"d":2.0}`,
			`"a \"b\\"=>"1", "c"=>NULL, "d"=>"2.0"`,
		},
		{"HStoreInText", kind(change.KindHStore), none, `"a=>1"`, `a=>1`},
		{"Bits", kind(change.KindBit), none, `"0101"`, "0101"},
		{"Point", kind(change.KindPoint), none, `"(1,2)"`, "(1,2)"},
		{"Range", named(change.KindOther, "tstzrange"), none, `"[2024-01-01,infinity)"`, "[2024-01-01,infinity)"},
		{
			"Array", arrayOf(text), none, `["a", "b c", "", "NULL", null, "\"\\", 1.0, true]`,
			`{a,"b c","","NULL",NULL,"\"\\",1.0,true}`,
		},
		{"EmptyArray", arrayOf(text), none, `[]`, `{}`},
		{"Dimensions", arrayOf(integer), none, `[[1,2.0],[null,"3"]]`, `{{1,2},{NULL,3}}`},
		{"ArrayOfBytes", arrayOf(bytea), none, `["AA==","\/w=="]`, `{"\\x00","\\xff"}`},
		{"ArrayOfBooleans", arrayOf(kind(change.KindBool)), none, `[true,false]`, `{t,f}`},
		{
			"ArrayOfDocuments", arrayOf(jsonb), none, `[{"a":[1]}, [1,"b"], "c", null]`,
			`{"{\"a\":[1]}","[1,\"b\"]","\"c\"",NULL}`,
		},
		{"ArrayOfTimes", arrayOf(stamp), s, `[0,"2024-01-01 00:00"]`, `{"1970-01-01 00:00:00","2024-01-01 00:00"}`},
		{"ArrayOfUnknown", change.Type{Kind: change.KindArray}, none, `["a"]`, `{a}`},
		{
			"LongArray", arrayOf(text), none, `[` + strings.Repeat(`"\\\\\\",`, 5000) + `1]`,
			`{` + strings.Repeat(`"\\\\\\",`, 5000) + `1}`,
		},
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	for _, test := range values() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, test.typ, test.modes, test.json)
			if err != nil {
				t.Fatalf("value: %v", err)
			}
			if got != test.want {
				t.Errorf("got %.200q, want %.200q", got, test.want)
			}
		})
	}
}

func TestValueRefuses(t *testing.T) {
	t.Parallel()
	text, integer, numeric := kind(change.KindOther), kind(change.KindInteger), kind(change.KindNumeric)
	stamp, bytea, date := kind(change.KindTimestamp), kind(change.KindBytea), kind(change.KindDate)
	jsonb, hex := named(change.KindJSON, "jsonb"), cell.Modes{Binary: cell.BinaryHex}
	s, none, inText := cell.Modes{Epoch: cell.EpochSeconds}, cell.Modes{}, cell.Modes{JSON: cell.JSONText}
	const open, clock = "which number is the month is open", "a word of the clock"
	for _, test := range []valueTest{
		{"AnObjectInText", text, none, `{"secret":1}`, "an object where a string"},
		{"AZeroByte", text, none, `"secret\u0000"`, "a zero byte"},
		{"ABooleanInAString", kind(change.KindBool), none, `"true"`, "a string where true or false"},
		{"ABooleanOfANumber", kind(change.KindBool), none, `1`, "a number where true or false"},
		{"AFraction", integer, none, `1.5`, "not whole"},
		{"ATinyFraction", integer, none, `1e-99999999999999999999`, "not whole"},
		{"AHugeNumber", integer, none, `1e99999999999999999999`, "out of range"},
		{"NaNInAnInteger", integer, none, `"NaN"`, "no digits"},
		{"InfinityInAnInteger", integer, none, `"Infinity"`, "no digits"},
		{"AnEmptyNumber", integer, none, `""`, "a text where a number"},
		{"AHexNumber", integer, none, `"0x10"`, "a text where a number"},
		{"ANumberInWords", numeric, none, `"secret"`, "a text where a number"},
		{"TwoSigns", numeric, none, `"1e+-5"`, "a text where a number"},
		{"ABlank", numeric, none, `" 1"`, "a text where a number"},
		{"Grouping", kind(change.KindMoney), none, `"$1,234.00"`, "a text where a number"},
		{"ABooleanInANumber", numeric, none, `true`, "a boolean where a number"},
		{"BrokenBase64", bytea, none, `"secret!"`, "not bytes in base64"},
		{"AZeroByteInBase64", bytea, none, `"\u0000"`, "a zero byte"},
		{"BrokenHex", bytea, hex, `"secret"`, "not bytes in hex"},
		{"HalfAByte", bytea, hex, `"0"`, "not bytes in hex"},
		{"ANumberOfBytes", bytea, none, `1`, "a number where a string"},
		{"ANumberWithoutUnit", stamp, none, `1719784805`, "a number where a timestamp is expected; epoch: s, ms or us"},
		{"ANumberOfDays", date, s, `19782`, "a number where a string"},
		{"ANumberOfATime", kind(change.KindTime), s, `1`, "a number where a string"},
		{"AnEpochWithExponent", stamp, s, `1.7e9`, "a number with an exponent"},
		{"AnEpochOfManyDigits", stamp, s, `9223372036854775808`, "more than 64 bits"},
		{"AnEpochOutOfRange", stamp, s, `9223372036854775807`, "out of PostgreSQL's range"},
		{"AnEpochTooEarly", stamp, s, `-210866803201`, "out of PostgreSQL's range"},
		{"Now", stamp, none, `"now"`, clock},
		{"Today", date, none, `"TODAY"`, clock},
		{"TomorrowInAnArray", arrayOf(date), none, `["tomorrow"]`, clock},
		{"YesterdayBehindATime", stamp, none, `"10:00 yesterday"`, clock},
		{"NowInARange", named(change.KindOther, "tstzrange"), none, `"[now,infinity)"`, clock},
		{"NowAsATime", kind(change.KindTimeTZ), none, `"now"`, clock},
		{"AnAmericanDate", date, none, `"01/02/2024"`, open},
		{"AGermanDate", stamp, none, `"10:00 1.2.2024"`, open},
		{"AShortYear", date, none, `"24-01-02"`, open},
		{"AnIntervalInANumber", kind(change.KindInterval), s, `5`, "a number where a string"},
		{"AnArrayInAString", arrayOf(text), none, `"{a}"`, "a string where an array"},
		{"AnArrayOfObjects", arrayOf(text), none, `[{"secret":1}]`, "an object where a string"},
		{"SevenDimensions", arrayOf(integer), none, `[[[[[[[1]]]]]]]`, "an array where a number"},
		{"AMapOfMaps", kind(change.KindHStore), none, `{"a":{"secret":1}}`, "an object where a text in a map"},
		{"AZeroByteInAMap", kind(change.KindHStore), none, `{"a":"\u0000"}`, "a zero byte"},
		{"AMapOfANumber", kind(change.KindHStore), none, `1`, "a number where an object of texts"},
		{"AZeroByteInADocument", jsonb, none, `{"a":["secret\\\u0000"]}`, "a zero byte in a document"},
		{"AZeroByteInAName", jsonb, none, `{"\u0000":1}`, "a zero byte in a document"},
		{"AZeroByteInAnArrayOfDocuments", arrayOf(jsonb), none, `[["\u0000"]]`, "a zero byte in a document"},
		{"NoDocumentInText", jsonb, inText, `"secret"`, "a text that is not JSON"},
		{"ADoubledNameInText", jsonb, inText, `"{\"a\":1,\"a\":2}"`, "a text that is not JSON"},
		{"ABooleanInBits", kind(change.KindBit), none, `true`, "a boolean where a string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, test.typ, test.modes, test.json)
			refused(t, err, test.want)
		})
	}
}

func refused(tb testing.TB, err error, words string) {
	tb.Helper()
	if err == nil {
		tb.Fatal("got no error")
	}
	for word := range strings.SplitSeq(words, "; ") {
		if line := fault.Line(err); !strings.Contains(line, word) || strings.Contains(line, "secret") {
			tb.Errorf("got %q, want %q and no payload", line, word)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		typ        change.Type
		want       string // an error begins with a !
	}{
		{"Text", `"a" \`, kind(change.KindOther), `"a" \`},
		{"EmptyText", "", kind(change.KindOther), ""},
		{"Number", "007", kind(change.KindInteger), "007"},
		{"WholeNumber", "7.0", kind(change.KindInteger), "7"},
		{"True", "true", kind(change.KindBool), "t"},
		{"Document", `{"a": 1}`, kind(change.KindJSON), `{"a": 1}`},
		{"Bytes", "AP8=", kind(change.KindBytea), `\x00ff`},
		{"RefusesAnArray", "{secret}", arrayOf(kind(change.KindOther)), "!a text where an array"},
		{"RefusesABoolean", "t", kind(change.KindBool), "!a text where true or false"},
		{"RefusesBytes", "secret\xff", kind(change.KindOther), "!not text in UTF-8"},
		{"RefusesAZeroByte", "secret\x00", kind(change.KindOther), "!a zero byte"},
		{"RefusesTheClock", "now", kind(change.KindDate), "!a word of the clock"},
		{"RefusesWords", "secret", kind(change.KindNumeric), "!a text where a number"},
		{"RefusesNoJSON", "secret", kind(change.KindJSON), "!a text that is not JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			form := cell.NewForm(&test.typ, cell.Modes{}.WithDefaults())
			got, err := form.Text([]byte(test.text), new(change.Set))
			if words, ok := strings.CutPrefix(test.want, "!"); ok {
				refused(t, err, words)
				return
			}
			if err != nil || got.String() != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestWholeNumbers holds the rewriting of floats against exact arithmetic.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		exact, ok := new(big.Rat).SetString(number)
		if !ok {
			t.Fatalf("%s is no number", number)
		}
		got, err := read(t, kind(change.KindInteger), cell.Modes{}, number)
		fits := exact.IsInt() && len(strings.Trim(exact.Num().String(), "-")) <= 20
		if (err == nil) != fits {
			t.Fatalf("%s: got %q, %v", number, got, err)
		}
		if err != nil {
			return
		}
		if found, ok := new(big.Rat).SetString(got); !ok || found.Cmp(exact) != 0 || strings.ContainsAny(got, ".eE") {
			t.Fatalf("%s: got %q", number, got)
		}
	})
}

// TestEpochs holds the arithmetic against the standard library, whose years are fewer.
func TestEpochs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(-62_135_596_800_000_000, 253_402_300_799_999_999).Draw(t, "micros")
		want := time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.999999")
		sign, size := "", micros
		if micros < 0 {
			sign, size = "-", -micros
		}
		for number, unit := range map[string]cell.Epoch{
			fmt.Sprintf("%s%d.%06d", sign, size/1_000_000, size%1_000_000): cell.EpochSeconds,
			fmt.Sprintf("%s%d.%03d", sign, size/1_000, size%1_000):         cell.EpochMilliseconds,
			fmt.Sprintf("%d", micros):                                      cell.EpochMicroseconds,
		} {
			got, err := read(t, kind(change.KindTimestamp), cell.Modes{Epoch: unit}, number)
			if err != nil || got != want {
				t.Fatalf("%s %s: got %q, %v, want %q", number, unit, got, err, want)
			}
		}
	})
}
