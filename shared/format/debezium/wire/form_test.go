package wire_test

import (
	"encoding/base64"
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium/connect"
	"tidemark/shared/format/debezium/wire"
	"tidemark/shared/format/jsonnode"
)

// read is the value of json in a column of type t, as a cell prints itself.
func read(tb rapid.TB, t change.Type, modes wire.Modes, schema, json string) (string, error) {
	tb.Helper()
	n, err := jsonnode.Parse([]byte(json))
	if err != nil {
		tb.Fatalf("parse %s: %v", json, err)
	}
	form := wire.NewForm(&t, ptr(modes.WithDefaults()))
	if schema != "" {
		text, err := jsonnode.Parse([]byte(schema))
		if err != nil {
			tb.Fatalf("parse schema: %v", err)
		}
		described, err := connect.ReadSchema(text)
		if err != nil {
			tb.Fatalf("read schema: %v", err)
		}
		form.Refine(&described)
	}
	unavailable, err := wire.NewPlaceholder("__debezium_unavailable_value")
	if err != nil {
		tb.Fatalf("new placeholder: %v", err)
	}
	value, err := form.Value(n, &unavailable, new(change.Set))
	return value.String(), err
}

func ptr[T any](v T) *T { return &v }

func kind(k change.Kind) change.Type { return change.Type{Kind: k, Precision: 6} }

func digits(k change.Kind, n int) change.Type { return change.Type{Kind: k, Precision: n} }

func scaled(n int) change.Type {
	return change.Type{Kind: change.KindNumeric, Scale: n, HasScale: true}
}

func arrayOf(elem change.Type) change.Type { return change.Type{Kind: change.KindArray, Elem: &elem} }

func bits(n int) change.Type { return change.Type{Kind: change.KindBit, Length: n} }

func TestValue(t *testing.T) {
	t.Parallel()
	const placeholder = `"__debezium_unavailable_value"`
	text, integer, float := kind(change.KindOther), kind(change.KindInteger), kind(change.KindFloat)
	plain, hstore := kind(change.KindNumeric), kind(change.KindHStore)
	stringMode, hexMode := wire.Modes{Decimal: wire.DecimalString}, wire.Modes{Binary: wire.BinaryHex}
	tests := []struct {
		name  string
		typ   change.Type
		modes wire.Modes
		json  string
		want  string
	}{
		{"Null", text, wire.Modes{}, `null`, "NULL"},
		{"Text", text, wire.Modes{}, `"a \"b\" \\ \u00e9 \uD83D\uDE00"`, `a "b" \ é 😀`},
		{"EmptyText", text, wire.Modes{}, `""`, ""},
		{"NumberInText", text, wire.Modes{}, `1.0`, "1.0"},
		{
			"TextThatHoldsThePlaceholder", text,
			wire.Modes{},
			`"x__debezium_unavailable_value"`,
			"x__debezium_unavailable_value",
		},
		{"UnavailableText", text, wire.Modes{}, placeholder, "(missing)"},
		{"EscapedUnavailableText", text, wire.Modes{}, `"\u005f_debezium_unavailable_value"`, "(missing)"},
		{"True", kind(change.KindBool), wire.Modes{}, `true`, "t"},
		{"False", kind(change.KindBool), wire.Modes{}, `false`, "f"},
		{"BoolAsText", kind(change.KindBool), wire.Modes{}, `"true"`, "t"},
		{"LargestInteger", integer, wire.Modes{}, `9223372036854775807`, "9223372036854775807"},
		{"NumbersKeepTheirText", float, wire.Modes{}, `-0.0`, "-0.0"},
		{"HugeExponent", plain, wire.Modes{}, `1e400`, "1e400"},
		{"FloatNaN", float, wire.Modes{}, `"NaN"`, "NaN"},
		{"FloatInfinity", float, wire.Modes{}, `"-Infinity"`, "-Infinity"},
		{"Decimal", scaled(2), wire.Modes{}, `"SZYC0g=="`, "12345678.90"},
		{"NegativeDecimal", scaled(2), wire.Modes{}, `"/av0HAE="`, "-99999999.99"},
		{"SmallDecimal", scaled(2), wire.Modes{}, `"AQ=="`, "0.01"},
		{"SmallNegativeDecimal", scaled(4), wire.Modes{}, `"/w=="`, "-0.0001"},
		{"ZeroDecimal", scaled(2), wire.Modes{}, `"AA=="`, "0.00"},
		{"LongDecimal", scaled(0), wire.Modes{}, `"SztMqFqGxHoJiiI//////w=="`, strings.Repeat("9", 38)},
		{"LongNegativeDecimal", scaled(0), wire.Modes{}, `"tMSzV6V5O4X2dd3AAAAAAQ=="`, "-" + strings.Repeat("9", 38)},
		{"VariableScale", plain, wire.Modes{}, `{"scale":1,"value":"Dw=="}`, "1.5"},
		{"VariableScaleWithTinyValue", plain, wire.Modes{}, `{"scale":30,"value":"/w=="}`, "-0." + strings.Repeat("0",
			29) + "1"},
		{"VariableScaleBelowZero", plain, wire.Modes{}, `{"scale":-3,"value":"Dw=="}`, "15000"},
		{"DecimalText", scaled(2), stringMode, `"1234.50"`, "1234.50"},
		{"DecimalTextNaN", plain, stringMode, `"NAN"`, "NaN"},
		{"DecimalTextInfinity", plain, stringMode, `"POSITIVE_INFINITY"`, "Infinity"},
		{"DecimalTextWithCutScale", scaled(-2), stringMode, `"12300.` + strings.Repeat("0", 2046) + `"`, "12300"},
		{"DecimalNumber", scaled(2), wire.Modes{Decimal: wire.DecimalDouble}, `1.5E-7`, "1.5E-7"},
		{"Money", kind(change.KindMoney), wire.Modes{}, `"AeJA"`, "1234.56"},
		{"MoneyMinimum", kind(change.KindMoney), wire.Modes{}, `"gAAAAAAAAAA="`, "-92233720368547758.08"},
		{"MoneyText", kind(change.KindMoney), stringMode, `"1234.56"`, "1234.56"},
		{"Bytes", kind(change.KindBytea), wire.Modes{}, `"AP8Q3q2+7w=="`, `\x00ff10deadbeef`},
		{"NoBytes", kind(change.KindBytea), wire.Modes{}, `""`, `\x`},
		{
			"URLSafeBytes", kind(change.KindBytea),
			wire.Modes{Binary: wire.BinaryBase64URL},
			`"AP8Q3q2-7w=="`,
			`\x00ff10deadbeef`,
		},
		{"HexBytes", kind(change.KindBytea), hexMode, `"00ff10deadbeef"`, `\x00ff10deadbeef`},
		{
			"UnavailableBytes", kind(change.KindBytea),
			wire.Modes{},
			`"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="`,
			"(missing)",
		},
		{"UnavailableHexBytes", kind(change.KindBytea), hexMode, placeholder, "(missing)"},
		{
			"PlaceholderOfBytesInText", text,
			wire.Modes{},
			`"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="`,
			"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",
		},
		{"JSON", kind(change.KindJSON), wire.Modes{}, `"{\"b\": 1,  \"a\": [1.0]}"`, `{"b": 1,  "a": [1.0]}`},
		{"UnavailableJSON", kind(change.KindJSON), wire.Modes{}, placeholder, "(missing)"},
		{"ExpandedJSON", kind(change.KindJSON), wire.Modes{}, `{"a":[1.0]}`, `{"a":[1.0]}`},
		{"HStore", hstore, wire.Modes{}, `"{\"k\":\"v\",\"a \\\"b\\\\\":null}"`, `"k"=>"v", "a \"b\\"=>NULL`},
		{"HStoreMap", hstore, wire.Modes{}, `{"k":"v","k2":null,"n":"NULL"}`, `"k"=>"v", "k2"=>NULL, "n"=>"NULL"`},
		{"EmptyHStore", hstore, wire.Modes{}, `{}`, ""},
		{"UnavailableHStore", hstore, wire.Modes{}, `{` + placeholder + `:` + placeholder + `}`, "(missing)"},
		{
			"UnavailableHStoreText", hstore,
			wire.Modes{},
			`"{\"__debezium_unavailable_value\":\"__debezium_unavailable_value\"}"`, "(missing)",
		},
		{"Bit", bits(1), wire.Modes{}, `true`, "1"},
		{"BitOff", bits(1), wire.Modes{}, `false`, "0"},
		{"Bits", bits(16), wire.Modes{}, `"8Ko="`, "1010101011110000"},
		{"BitsWithLeadingZeros", bits(16), wire.Modes{}, `"AQ=="`, "0000000000000001"},
		{"NoBits", bits(3), wire.Modes{}, `""`, "000"},
		{"VarBits", kind(change.KindVarBit), wire.Modes{}, `"FQ=="`, "10101"},
		{"NoVarBits", kind(change.KindVarBit), wire.Modes{}, `""`, ""},
		{"ZeroVarBits", kind(change.KindVarBit), wire.Modes{}, `"AA=="`, "0"},
		{
			"Point", kind(change.KindPoint),
			wire.Modes{},
			`{"x":1.5,"y":-2.25,"wkb":"AQ==","srid":null}`,
			"(1.5,-2.25)",
		},
		{
			"Array", arrayOf(text),
			wire.Modes{},
			`["a",null,"with \"quote\"","comma,brace{}","back\\slash","","null"," "]`,
			`{a,NULL,"with \"quote\"","comma,brace{}","back\\slash","","null"," "}`,
		},
		{"EmptyArray", arrayOf(text), wire.Modes{}, `[]`, "{}"},
		{"NestedArray", arrayOf(integer), wire.Modes{}, `[[1,2],[3,null]]`, "{{1,2},{3,NULL}}"},
		{"DecimalArray", arrayOf(scaled(2)), wire.Modes{}, `["bg==",null,"/av0HAE="]`, "{1.10,NULL,-99999999.99}"},
		{"BoolArray", arrayOf(kind(change.KindBool)), wire.Modes{}, `[true,null,false]`, "{t,NULL,f}"},
		{"BytesArray", arrayOf(kind(change.KindBytea)), wire.Modes{}, `["AP8="]`, `{"\\x00ff"}`},
		{
			"TimestampArray", arrayOf(kind(change.KindTimestampTZ)),
			wire.Modes{},
			`["2024-02-29T12:34:56.789012Z",null]`,
			`{"2024-02-29 12:34:56.789012+00",NULL}`,
		},
		{"UnavailableArray", arrayOf(text), wire.Modes{}, `[` + placeholder + `]`, "(missing)"},
		{
			"TwoPlaceholdersAreData", arrayOf(text),
			wire.Modes{},
			`[` + placeholder + `,` + placeholder + `]`,
			"{__debezium_unavailable_value,__debezium_unavailable_value}",
		},
		{
			"UnavailableIntegerArray", arrayOf(integer),
			wire.Modes{},
			`[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]`,
			"(missing)",
		},
		{"UnavailableUUIDArray", arrayOf(text), wire.Modes{}, `["` + placeholderUUID + `"]`, "(missing)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, test.typ, test.modes, "", test.json)
			if err != nil {
				t.Fatalf("value: %v", err)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// placeholderUUID is java.util.UUID.nameUUIDFromBytes of the default placeholder: MD5 with the bits of version 3.
const placeholderUUID = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"

func TestValueOfCutScale(t *testing.T) {
	t.Parallel()
	unscaled := new(big.Int).Exp(big.NewInt(10), big.NewInt(2046), nil)
	unscaled.Mul(unscaled, big.NewInt(12300))
	got, err := read(t, scaled(-2), wire.Modes{}, "", `"`+base64.StdEncoding.EncodeToString(unscaled.Bytes())+`"`)
	if err != nil || got != "12300" {
		t.Errorf("got %.40q, %v, want 12300", got, err)
	}
}

func TestValueRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		typ  change.Type
		json string
	}{
		{"ObjectForText", kind(change.KindOther), `{}`},
		{"ZeroByte", kind(change.KindOther), `"a\u0000"`},
		{"BoolForInteger", kind(change.KindInteger), `true`},
		{"WordForInteger", kind(change.KindInteger), `"abc"`},
		{"NumberForBool", kind(change.KindBool), `2`},
		{"TextForDecimal", scaled(2), `"12.50"`},
		{"NoDigits", scaled(2), `""`},
		{"DecimalObjectWithoutScale", kind(change.KindNumeric), `{"value":"AQ=="}`},
		{"DecimalWithHugeScale", kind(change.KindNumeric), `{"scale":2000000000,"value":"AQ=="}`},
		{"NumberForBytes", kind(change.KindBytea), `1`},
		{"BrokenBase64", kind(change.KindBytea), `"A"`},
		{"FractionForDate", kind(change.KindDate), `1.5`},
		{"WordForDate", kind(change.KindDate), `"yesterday"`},
		{"NoSuchDay", kind(change.KindDate), `"2023-02-29"`},
		{"TimeAboveADay", kind(change.KindTime), `86400000001`},
		{"NegativeTime", kind(change.KindTime), `-1`},
		{"NumberForTimeTZ", kind(change.KindTimeTZ), `1`},
		{"TimestampTZWithoutOffset", kind(change.KindTimestampTZ), `"2024-02-29T12:00:00"`},
		{"TimestampWithOffset", kind(change.KindTimestamp), `"2024-02-29T12:00:00+05:00"`},
		{"ObjectForInterval", kind(change.KindInterval), `{}`},
		{"ArrayForHStore", kind(change.KindHStore), `[]`},
		{"TextForHStore", kind(change.KindHStore), `"a=>b"`},
		{"MapOfMaps", kind(change.KindHStore), `{"a":{}}`},
		{"TooManyBits", bits(3), `"CA=="`},
		{"NumberForBits", bits(3), `1`},
		{"PointWithoutY", kind(change.KindPoint), `{"x":1}`},
		{"TextForArray", arrayOf(kind(change.KindOther)), `"{a}"`},
		{"DeepArray", arrayOf(kind(change.KindInteger)), `[[[[[[[1]]]]]]]`},
		{"LostElement", arrayOf(kind(change.KindTimestamp)), `[-9223372036853775810]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := read(t, test.typ, wire.Modes{}, "", test.json); err == nil || errors.Is(err,
				wire.ErrLost) {
				t.Errorf("got %q, %v, want a refusal", got, err)
			}
		})
	}
}

func TestValueNamesAMissingScale(t *testing.T) {
	t.Parallel()
	_, err := read(t, kind(change.KindNumeric), wire.Modes{}, "", `"SZYC0g=="`)
	if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
		t.Errorf("got %v, want misconfigured with a hint", err)
	}
}

func TestValueKeepsEveryDecimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`-?[1-9][0-9]{0,60}`).Draw(t, "digits")
		scale := rapid.IntRange(0, 70).Draw(t, "scale")
		unscaled, _ := new(big.Int).SetString(digits, 10)
		json := `"` + base64.StdEncoding.EncodeToString(twosComplement(unscaled)) + `"`
		got, err := read(t, scaled(scale), wire.Modes{}, "", json)
		if err != nil {
			t.Fatalf("value: %v", err)
		}
		value, ok := new(big.Rat).SetString(got)
		want := new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
		if !ok || value.Cmp(want) != 0 {
			t.Fatalf("got %q, want %s", got, want.FloatString(scale))
		}
		if _, places, _ := strings.Cut(got, "."); len(places) != scale {
			t.Fatalf("got %q, want %d places", got, scale)
		}
	})
}

// twosComplement is what BigInteger.toByteArray gives.
func twosComplement(v *big.Int) []byte {
	size := v.BitLen()/8 + 1
	if v.Sign() >= 0 {
		return v.FillBytes(make([]byte, size))
	}
	wrapped := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	return wrapped.Add(wrapped, v).FillBytes(make([]byte, size))
}

func TestValueKeepsEveryTextInAnArray(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a\\"{},\t NULl]{0,12}`).Draw(t, "text")
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(text)
		got, err := read(t, arrayOf(kind(change.KindOther)), wire.Modes{}, "", `["`+quoted+`"]`)
		if err != nil {
			t.Fatalf("value: %v", err)
		}
		if back := unquoteElement(got); back != text {
			t.Fatalf("got %q of %q, want the text back", back, got)
		}
	})
}

// unquoteElement reads an array literal of one element as PostgreSQL does.
func unquoteElement(literal string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(literal, "{"), "}")
	if !strings.HasPrefix(inner, `"`) {
		if strings.EqualFold(inner, "null") || strings.TrimSpace(inner) != inner || strings.ContainsAny(inner,
			`,{}"\`) {
			return "(not as it was)"
		}
		return inner
	}
	out := ""
	for i := 1; i < len(inner)-1; i++ {
		if inner[i] == '\\' {
			i++
		}
		out += string(inner[i])
	}
	return out
}
