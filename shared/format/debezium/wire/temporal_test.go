package wire_test

import (
	"errors"
	"testing"

	"tidemark/shared/change"
	"tidemark/shared/format/debezium/wire"
)

func TestValueOfTime(t *testing.T) {
	t.Parallel()
	date, clock, stamp := kind(change.KindDate), kind(change.KindTime), kind(change.KindTimestamp)
	zoned, interval := kind(change.KindTimestampTZ), kind(change.KindInterval)
	stamp3, clock3 := digits(change.KindTimestamp, 3), digits(change.KindTime, 3)
	mode := func(m wire.TimeMode) wire.Modes { return wire.Modes{Time: m} }
	tests := []struct {
		name  string
		typ   change.Type
		modes wire.Modes
		json  string
		want  string
	}{
		{"Date", date, wire.Modes{}, `19782`, "2024-02-29"},
		{"DateBC", date, wire.Modes{}, `-735160`, "0044-03-15 BC"},
		{"FirstDate", date, wire.Modes{}, `-2440588`, "4714-11-24 BC"},
		{"LastDate", date, wire.Modes{}, `2145042905`, "5874897-12-31"},
		{"DateInfinity", date, wire.Modes{}, `-2147472692`, "infinity"},
		{"DateNegativeInfinity", date, wire.Modes{}, `-2147472691`, "-infinity"},
		{"DateText", date, wire.Modes{}, `"2024-02-29Z"`, "2024-02-29"},
		{"DateTextBC", date, wire.Modes{}, `"-0043-03-15Z"`, "0044-03-15 BC"},
		{"DateTextLast", date, wire.Modes{}, `"+5874897-12-31Z"`, "5874897-12-31"},
		{"DateTextInfinity", date, wire.Modes{}, `"-5877611-06-21Z"`, "infinity"},
		{"DateTextNegativeInfinity", date, wire.Modes{}, `"-5877611-06-22Z"`, "-infinity"},
		{"Time", clock, wire.Modes{}, `86399999999`, "23:59:59.999999"},
		{"Midnight", clock, wire.Modes{}, `0`, "00:00:00"},
		{"EndOfDay", clock, wire.Modes{}, `86400000000`, "24:00:00"},
		{"TimeInMilliseconds", clock3, wire.Modes{}, `86399999`, "23:59:59.999"},
		{"TimeAlwaysInMicroseconds", clock3, mode(wire.TimeAdaptiveMicroseconds), `86399999000`, "23:59:59.999"},
		{"TimeInConnectMode", clock, mode(wire.TimeConnect), `86399999`, "23:59:59.999"},
		{"TimeInNanoseconds", clock, mode(wire.TimeNanoseconds), `86399999999000`, "23:59:59.999999"},
		{"TimeText", clock, wire.Modes{}, `"23:59:59.9Z"`, "23:59:59.9"},
		{"TimeTZ", kind(change.KindTimeTZ), wire.Modes{}, `"07:04:56.789012Z"`, "07:04:56.789012+00"},
		{"TimeTZWithOffset", kind(change.KindTimeTZ), wire.Modes{}, `"12:00:00-12:00"`, "12:00:00-12:00"},
		{"Timestamp", stamp, wire.Modes{}, `1709210096789012`, "2024-02-29 12:34:56.789012"},
		{"TimestampBeforeTheEpoch", stamp, wire.Modes{}, `-1`, "1969-12-31 23:59:59.999999"},
		{"TimestampBC", stamp, wire.Modes{}, `-63517778703210988`, "0044-03-15 12:34:56.789012 BC"},
		{"FirstTimestamp", stamp, wire.Modes{}, `-210866803200000000`, "4714-11-24 00:00:00 BC"},
		{"LastTimestampOnTheWire", stamp, wire.Modes{}, `9223372036854775807`, "294247-01-10 04:00:54.775807"},
		{"TimestampInfinity", stamp, wire.Modes{}, `9223372036825200000`, "infinity"},
		{"TimestampNegativeInfinity", stamp, wire.Modes{}, `-9223372036832400000`, "-infinity"},
		{"TimestampInMilliseconds", stamp3, wire.Modes{}, `-1`, "1969-12-31 23:59:59.999"},
		{"MillisecondInfinity", stamp3, wire.Modes{}, `9223372036825200`, "infinity"},
		{"MillisecondNegativeInfinity", stamp3, wire.Modes{}, `-9223372036832400`, "-infinity"},
		{"MillisecondInfinityOfNewReleases", stamp3, wire.Modes{}, `9223372036825200000`, "infinity"},
		{"MillisecondsTo294276", stamp3, wire.Modes{}, `9224318015999999`, "294276-12-31 23:59:59.999"},
		{"TimestampInMicroseconds", stamp3, mode(wire.TimeMicroseconds), `-1000`, "1969-12-31 23:59:59.999"},
		{"TimestampInNanoseconds", stamp, mode(wire.TimeNanoseconds), `-1000`, "1969-12-31 23:59:59.999999"},
		{"NanosecondInfinity", stamp, mode(wire.TimeNanoseconds), `9223372036854775807`, "infinity"},
		{"NanosecondNegativeInfinity", stamp, mode(wire.TimeNanoseconds), `-9223372036854775808`, "-infinity"},
		{"TimestampText", stamp, wire.Modes{}, `"2024-02-29T12:34:57Z"`, "2024-02-29 12:34:57"},
		{
			"TimestampTextLast", stamp,
			wire.Modes{},
			`"+294276-12-31T23:59:59.999999Z"`,
			"294276-12-31 23:59:59.999999",
		},
		{"TimestampTextInfinity", stamp, wire.Modes{}, `"+294247-01-10T04:00:25.2Z"`, "infinity"},
		{"TimestampTextNegativeInfinity", stamp, wire.Modes{}, `"-290308-12-21T19:59:27.6Z"`, "-infinity"},
		{
			"TimestampTextRoundsNanoseconds", stamp,
			wire.Modes{},
			`"2024-02-29T12:34:56.7890125Z"`,
			"2024-02-29 12:34:56.789013",
		},
		{"TimestampTZ", zoned, wire.Modes{}, `"2024-06-30T22:00:00.000000Z"`, "2024-06-30 22:00:00+00"},
		{"TimestampTZWithOffset", zoned, wire.Modes{}, `"2024-06-30T22:00:00+05:30"`, "2024-06-30 22:00:00+05:30"},
		{"TimestampTZBC", zoned, wire.Modes{}, `"-0043-03-15T12:34:56.789012Z"`, "0044-03-15 12:34:56.789012+00 BC"},
		{
			"TimestampTZLast", zoned,
			wire.Modes{},
			`"+294276-12-31T23:59:59.999999Z"`,
			"294276-12-31 23:59:59.999999+00",
		},
		{
			"TimestampTZLikeTheOthersInfinity", zoned,
			wire.Modes{},
			`"+294247-01-10T04:00:25.2Z"`,
			"294247-01-10 04:00:25.2+00",
		},
		{"TimestampTZInfinity", zoned, wire.Modes{}, `"infinity"`, "infinity"},
		{"TimestampTZNegativeInfinity", zoned, wire.Modes{}, `"-infinity"`, "-infinity"},
		{"Interval", interval, wire.Modes{}, `37091106789000`, "10303:05:06.789"},
		{"NegativeInterval", interval, wire.Modes{}, `-36572706789000`, "-10159:05:06.789"},
		{"LongestInterval", interval, wire.Modes{}, `9223372036854775807`, "2562047788:00:54.775807"},
		{"IntervalText", interval, wire.Modes{}, `"P-1Y-2M3DT-4H-5M-6.789S"`, "P-1Y-2M3DT-4H-5M-6.789S"},
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

func TestValueOfTimeSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		typ  change.Type
		json string
	}{
		"WrappedTimestamp":      {kind(change.KindTimestamp), `-9223372036853775810`},
		"TimestampBeforeAll":    {kind(change.KindTimestamp), `-210866803200000001`},
		"MillisecondsAfterAll":  {digits(change.KindTimestamp, 3), `9224318016000000`},
		"DateBeforeAll":         {kind(change.KindDate), `-2440589`},
		"DateAfterAll":          {kind(change.KindDate), `2145042906`},
		"TimestampTextAfterAll": {kind(change.KindTimestamp), `"+294277-01-01T00:00:00Z"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := read(t, test.typ, wire.Modes{}, "", test.json); !errors.Is(err, wire.ErrLost) {
				t.Errorf("got %q, %v, want ErrLost", got, err)
			}
		})
	}
}

// TestRefine holds records with schema: the schema's names decide against column types that say otherwise.
func TestRefine(t *testing.T) {
	t.Parallel()
	text := kind(change.KindOther)
	named := func(basic, name string) string {
		return `{"type":"` + basic + `","optional":true,"name":"` + name + `"}`
	}
	tests := []struct {
		name   string
		typ    change.Type
		schema string
		json   string
		want   string
	}{
		{
			"Decimal", scaled(4),
			`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}}`,
			`"SZYC0g=="`, "12345678.90",
		},
		{
			"DecimalWithoutTargetScale", kind(change.KindNumeric),
			`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}}`,
			`"SZYC0g=="`, "12345678.90",
		},
		{
			"VariableScaleDecimal", scaled(2), named("struct", "io.debezium.data.VariableScaleDecimal"),
			`{"scale":1,"value":"Dw=="}`, "1.5",
		},
		{"DecimalAsString", scaled(2), `{"type":"string"}`, `"1234"`, "1234"},
		{"DecimalAsDouble", scaled(2), `{"type":"double"}`, `12.5`, "12.5"},
		{"Date", text, named("int32", "io.debezium.time.Date"), `19782`, "2024-02-29"},
		{"ConnectDate", text, named("int32", "org.apache.kafka.connect.data.Date"), `19782`, "2024-02-29"},
		{"IntegerIsNoDate", kind(change.KindDate), `{"type":"int32"}`, `19782`, "19782"},
		{"Time", kind(change.KindTime), named("int32", "io.debezium.time.Time"), `86399999`, "23:59:59.999"},
		{
			"MicroTime", digits(change.KindTime, 0), named("int64", "io.debezium.time.MicroTime"), `86399999999`,
			"23:59:59.999999",
		},
		{"NanoTime", text, named("int64", "io.debezium.time.NanoTime"), `86399999999000`, "23:59:59.999999"},
		{
			"Timestamp", kind(change.KindTimestamp), named("int64", "io.debezium.time.Timestamp"), `-1`,
			"1969-12-31 23:59:59.999",
		},
		{
			"MicroTimestamp", text, named("int64", "io.debezium.time.MicroTimestamp"), `-1`,
			"1969-12-31 23:59:59.999999",
		},
		{
			"NanoTimestamp", text, named("int64", "io.debezium.time.NanoTimestamp"), `-1000`,
			"1969-12-31 23:59:59.999999",
		},
		{
			"ZonedTimestamp", text, named("string", "io.debezium.time.ZonedTimestamp"), `"-0043-03-15T12:00:00Z"`,
			"0044-03-15 12:00:00+00 BC",
		},
		{"ZonedTime", text, named("string", "io.debezium.time.ZonedTime"), `"07:04:56Z"`, "07:04:56+00"},
		{"IsoDate", text, named("string", "io.debezium.time.IsoDate"), `"-0043-03-15Z"`, "0044-03-15 BC"},
		{"MicroDuration", text, named("int64", "io.debezium.time.MicroDuration"), `3600000000`, "01:00:00"},
		{"NanoDuration", text, named("int64", "io.debezium.time.NanoDuration"), `3600000000000`, "01:00:00"},
		{"Interval", text, named("string", "io.debezium.time.Interval"), `"P1M"`, "P1M"},
		{
			"Bits", text, `{"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"16"}}`, `"AQ=="`,
			"0000000000000001",
		},
		{
			"VarBits", kind(change.KindVarBit),
			`{"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"20"}}`, `"FQ=="`, "10101",
		},
		{"JSON", text, named("string", "io.debezium.data.Json"), `"{\"a\":1}"`, `{"a":1}`},
		{
			"HStoreAsJSON", kind(change.KindHStore), named("string", "io.debezium.data.Json"), `"{\"a\":\"1\"}"`,
			`"a"=>"1"`,
		},
		{"Map", kind(change.KindHStore), `{"type":"map"}`, `{"a":"1"}`, `"a"=>"1"`},
		{"Point", text, named("struct", "io.debezium.data.geometry.Point"), `{"x":1,"y":2}`, "(1,2)"},
		{"UUID", kind(change.KindBytea), named("string", "io.debezium.data.Uuid"), `"550e8400"`, "550e8400"},
		{"Bytes", text, `{"type":"bytes"}`, `"AP8="`, `\x00ff`},
		{"Boolean", text, `{"type":"boolean"}`, `true`, "t"},
		{"OneBit", bits(1), `{"type":"boolean"}`, `true`, "1"},
		{
			"Array", text, `{"type":"array","items":` + named("int32", "io.debezium.time.Date") + `}`, `[19782,null]`,
			"{2024-02-29,NULL}",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, test.typ, wire.Modes{}, test.schema, test.json)
			if err != nil {
				t.Fatalf("value: %v", err)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
