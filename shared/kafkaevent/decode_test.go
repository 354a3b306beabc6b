package kafkaevent_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// same compares batches by what records mean: missing, null and empty data differ, and of an error its class and
// text count.
var same = cmp.Options{
	cmp.Comparer(func(a, b record.Data) bool {
		return a.IsMissing() == b.IsMissing() && a.IsNull() == b.IsNull() && bytes.Equal(a.Bytes(), b.Bytes())
	}),
	cmp.Comparer(func(a, b error) bool { return line(a) == line(b) }),
}

func line(err error) string {
	if err == nil {
		return ""
	}
	return fault.Line(err)
}

// event is an MSK event with these lists of records.
func event(lists ...string) []byte {
	return []byte(`{"eventSource":"aws:kafka","eventSourceArn":"arn:aws:kafka:eu-west-1:1:cluster/c/u",` +
		`"bootstrapServers":"b-1:9098,b-2:9098","records":{` + strings.Join(lists, ",") + `}}`)
}

func list(name string, records ...string) string {
	return fmt.Sprintf("%q:[%s]", name, strings.Join(records, ","))
}

// placed is a record of orders/0 at offset with further members, as in `"value":"YQ=="`.
func placed(offset int, members ...string) string {
	place := fmt.Sprintf(`"topic":"orders","partition":0,"offset":%d`, offset)
	return "{" + strings.Join(append([]string{place}, members...), ",") + "}"
}

func text(s string) record.Data { return record.Present([]byte(s)) }

var (
	orders0 = position.Partition{Topic: "orders"}
	orders1 = position.Partition{Topic: "orders", Number: 1}
)

// neighbour is a sound record in another partition, and neighbourRun is what it decodes to: nothing may spoil it.
const neighbour = `"orders-1":[{"topic":"orders","partition":1,"offset":7,"timestamp":5,"key":"aw==","value":"dg=="}]`

var neighbourRun = record.Run{Partition: orders1, Records: []record.Record{
	{Offset: 7, Time: time.UnixMilli(5).UTC(), Key: text("k"), Value: text("v")},
}}

// TestDecode reads one record of orders/0 at offset 5 beside a neighbour.
func TestDecode(t *testing.T) {
	t.Parallel()
	header := func(name, value string) record.Header { return record.Header{Name: name, Value: text(value)} }
	for name, row := range map[string]struct {
		members string
		want    record.Record
	}{
		"OffsetAlone": {"", record.Record{}},
		"KeyAndValue": {
			`,"key":"aw==","value":"dg=="`,
			record.Record{Key: text("k"), Value: text("v")},
		},
		"TombstoneWithNull": {
			`,"key":"aw==","value":null`,
			record.Record{Key: text("k"), Value: record.Null()},
		},
		"TombstoneWithoutValueMember": {`,"key":"aw=="`, record.Record{Key: text("k")}},
		"EmptyValueIsNoTombstone":     {`,"value":""`, record.Record{Value: text("")}},
		"NullKey":                     {`,"key":null`, record.Record{Key: record.Null()}},
		"EmptyKey":                    {`,"key":""`, record.Record{Key: text("")}},
		"BinaryValue":                 {`,"value":"AP+A"`, record.Record{Value: text("\x00\xff\x80")}},
		"EscapedSlashInBase64":        {`,"value":"\/\/\/\/"`, record.Record{Value: text("\xff\xff\xff")}},
		"LineBreaksInBase64":          {`,"value":"YW\r\nJj"`, record.Record{Value: text("abc")}},
		"Timestamp": {
			`,"timestamp":1545084650987`,
			record.Record{Time: time.UnixMilli(1545084650987).UTC()},
		},
		"TimestampZeroIsATime": {`,"timestamp":0`, record.Record{Time: time.UnixMilli(0).UTC()}},
		"NoTimestamp":          {`,"timestamp":-1`, record.Record{}},
		"NullTimestamp":        {`,"timestamp":null`, record.Record{}},
		"NullHeaders":          {`,"headers":null`, record.Record{}},
		"NoHeaders":            {`,"headers":[]`, record.Record{}},
		"HeaderWithoutMember":  {`,"headers":[{}]`, record.Record{}},
		"SignedHeaderBytes": {
			`,"headers":[{"h":[104,-61,-87,-128]}]`,
			record.Record{Headers: []record.Header{header("h", "h\xc3\xa9\x80")}},
		},
		"UnsignedHeaderBytes": {
			`,"headers":[{"h":[200, 255 ,0]}]`,
			record.Record{Headers: []record.Header{header("h", "\xc8\xff\x00")}},
		},
		"EmptyHeader": {
			`,"headers":[{"h":[ ]}]`,
			record.Record{Headers: []record.Header{header("h", "")}},
		},
		"NullHeader": {
			`,"headers":[{"h":null}]`,
			record.Record{Headers: []record.Header{{Name: "h", Value: record.Null()}}},
		},
		"Base64Header": {
			`,"headers":[{"h":"aGk="}]`,
			record.Record{Headers: []record.Header{header("h", "hi")}},
		},
		"RepeatedHeaderNamesKeepOrder": {
			`,"headers":[{"h":[98]},{"g":[]},{"h":[97]}]`,
			record.Record{Headers: []record.Header{header("h", "b"), header("g", ""), header("h", "a")}},
		},
		"TwoHeadersInOneObject": {
			`,"headers":[{"h":[98],"h":[97]}]`,
			record.Record{Headers: []record.Header{header("h", "b"), header("h", "a")}},
		},
		"EscapedHeaderName": {
			`,"headers":[{"\u0068\"":[97]}]`,
			record.Record{Headers: []record.Header{header(`h"`, "a")}},
		},
		"EmptyHeaderName": {
			`,"headers":[{"":[97]}]`,
			record.Record{Headers: []record.Header{header("", "a")}},
		},
		"SchemaMetadataIsIgnored": {
			`,"keySchemaMetadata":{"dataFormat":"JSON"},"valueSchemaMetadata":null,"value":"dg==","Value":3`,
			record.Record{Value: text("v")},
		},
		"EscapedMemberName": {`,"\u0076alue":"dg=="`, record.Record{Value: text("v")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.want.Offset = 5
			want := record.Batch{{Partition: orders0, Records: []record.Record{row.want}}, neighbourRun}
			payload := event(neighbour, list("orders-0", `{"topic":"orders","partition":0,"offset":5`+row.members+`}`))
			before := bytes.Clone(payload)
			got, err := kafkaevent.Decode(payload)
			if err != nil {
				t.Fatalf("Decode: %v", err)
			}
			if !bytes.Equal(payload, before) {
				t.Error("Decode changed its payload")
			}
			clear(payload) // decoded data must not share its memory
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecode_Malformed breaks the content of one record between two sound ones, beside a neighbour in another
// partition.
func TestDecode_Malformed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ members, flaw string }{
		"ValueIsNotBase64":       {`"value":"secret!!"`, "value: not base64"},
		"ValueWithoutPadding":    {`"value":"YQ"`, "value: not base64"},
		"ValueWithStrayBits":     {`"value":"YR=="`, "value: not base64"},
		"ValueIsANumber":         {`"value":12345`, "value: neither a string nor null"},
		"ValueIsAnObject":        {`"value":{"secret":[1]}`, "value: neither a string nor null"},
		"ValueIsNotUTF8":         {"\"value\":\"YQ\xff=\"", "value: not base64"},
		"ValueTwice":             {`"value":"YQ==","value":"Yg=="`, "value is given twice"},
		"KeyIsNotBase64":         {`"key":"?"`, "key: not base64"},
		"KeyIsFalse":             {`"key":false`, "key: neither a string nor null"},
		"KeyTwice":               {`"key":null,"key":null`, "key is given twice"},
		"TimestampIsAString":     {`"timestamp":"5"`, "timestamp: not whole milliseconds"},
		"TimestampIsAFraction":   {`"timestamp":1.5`, "timestamp: not whole milliseconds"},
		"TimestampIsBelowMinus1": {`"timestamp":-2`, "timestamp: not whole milliseconds"},
		"TimestampIsTooLarge":    {`"timestamp":9223372036854775808`, "timestamp: not whole milliseconds"},
		"TimestampTwice":         {`"timestamp":1,"timestamp":2`, "timestamp is given twice"},
		"HeadersAreAnObject":     {`"headers":{"h":[1]}`, "headers: neither an array nor null"},
		"HeadersTwice":           {`"headers":[],"headers":[]`, "headers is given twice"},
		"HeaderIsAnArray":        {`"headers":[[1]]`, "headers[0]: not an object"},
		"HeaderByte256": {
			`"headers":[{"g":[1]},{"h":[256]}]`,
			"headers[1]: not a list of bytes from -128 to 255",
		},
		"HeaderByte300":         {`"headers":[{"h":[300]}]`, "headers[0]: not a list of bytes from -128 to 255"},
		"HeaderByteMinus129":    {`"headers":[{"h":[-129]}]`, "headers[0]: not a list of bytes from -128 to 255"},
		"HeaderByteIsAFraction": {`"headers":[{"h":[1.0]}]`, "headers[0]: not a list of bytes from -128 to 255"},
		"HeaderByteIsAString": {
			`"headers":[{"h":["1","2,3"]}]`,
			"headers[0]: not a list of bytes from -128 to 255",
		},
		"HeaderByteIsAList":   {`"headers":[{"h":[[1,2]]}]`, "headers[0]: not a list of bytes from -128 to 255"},
		"HeaderIsANumber":     {`"headers":[{"h":1}]`, "headers[0]: neither a string nor null"},
		"HeaderIsNotBase64":   {`"headers":[{"h":"secret!!"}]`, "headers[0]: not base64"},
		"HeaderNameIsNotUTF8": {"\"headers\":[{\"h\xff\":[1]}]", "headers[0]: name is not UTF-8"},
		"FirstOfTwoFlaws":     {`"key":1,"value":2`, "key: neither a string nor null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := record.Batch{{Partition: orders0, Records: []record.Record{
				{Offset: 4, Value: text("a")},
				{Offset: 5, Malformed: fault.New(fault.Poison, "read record orders/0@5: %s", row.flaw)},
				{Offset: 6, Value: text("c")},
			}}, neighbourRun}
			got, err := kafkaevent.Decode(event(list("orders-0",
				placed(4, `"value":"YQ=="`), placed(5, row.members), placed(6, `"value":"Yw=="`)), neighbour))
			if err != nil {
				t.Fatalf("Decode: %v", err)
			}
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}

// A record whose value cannot be read keeps its key: records of the same key must be able to wait behind it.
func TestDecode_MalformedKeepsWhatIsReadable(t *testing.T) {
	t.Parallel()
	got, err := kafkaevent.Decode(event(list("orders-0",
		placed(5, `"timestamp":5,"value":"?","key":"aw==","headers":[{"h":[1]}]`))))
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	want := record.Batch{{Partition: orders0, Records: []record.Record{{
		Offset: 5, Time: time.UnixMilli(5).UTC(), Key: text("k"),
		Headers:   []record.Header{{Name: "h", Value: text("\x01")}},
		Malformed: fault.New(fault.Poison, "read record orders/0@5: value: not base64"),
	}}}}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

// TestDecode_Doubt breaks the place of the second of three records. What is before it and beside it is returned,
// the rest of its partition is not, and the error keeps the event from being answered as done.
func TestDecode_Doubt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ record, reason string }{
		"OffsetMissing":  {`{"topic":"orders","partition":0}`, "topic, partition or offset is missing"},
		"OffsetNegative": {placed(-1), "offset is not a whole number from 0"},
		"OffsetNull": {
			`{"topic":"orders","partition":0,"offset":null}`,
			"offset is not a whole number from 0",
		},
		"OffsetWord": {
			`{"topic":"orders","partition":0,"offset":"five"}`,
			"offset is not a whole number from 0",
		},
		"OffsetEmptyString": {
			`{"topic":"orders","partition":0,"offset":""}`,
			"offset is not a whole number from 0",
		},
		"OffsetFraction": {
			`{"topic":"orders","partition":0,"offset":5.0}`,
			"offset is not a whole number from 0",
		},
		"OffsetTooLarge": {
			`{"topic":"orders","partition":0,"offset":9223372036854775807}`,
			"offset is not a whole number from 0",
		},
		"OffsetBeyondInt64": {
			`{"topic":"orders","partition":0,"offset":9223372036854775808}`,
			"offset is not a whole number from 0",
		},
		"OffsetTwice":          {placed(5, `"offset":6`), "offset is given twice"},
		"OffsetRepeatsTheLast": {placed(4), "offset 4 does not ascend: the record before is 4"},
		"OffsetDescends":       {placed(3), "offset 3 does not ascend: the record before is 4"},
		"TopicMissing":         {`{"partition":0,"offset":5}`, "topic, partition or offset is missing"},
		"TopicIsAnother": {
			`{"topic":"others","partition":0,"offset":5}`,
			"it names another topic than its list",
		},
		"TopicIsANumber":   {`{"topic":7,"partition":0,"offset":5}`, "topic is not a string"},
		"TopicTwice":       {placed(5, `"topic":"orders"`), "topic is given twice"},
		"PartitionMissing": {`{"topic":"orders","offset":5}`, "topic, partition or offset is missing"},
		"PartitionIsAnother": {
			`{"topic":"orders","partition":1,"offset":5}`,
			"it names another partition than its list",
		},
		"PartitionNegative": {
			`{"topic":"orders","partition":-1,"offset":5}`,
			"it names another partition than its list",
		},
		"PartitionIsAList": {
			`{"topic":"orders","partition":[0],"offset":5}`,
			"it names another partition than its list",
		},
		"RecordIsNull":    {`null`, "it is not an object"},
		"RecordIsAnArray": {`[{}]`, "it is not an object"},
		"DoubtOutweighsAFlaw": {
			`{"value":1,"topic":"orders","partition":0}`,
			"topic, partition or offset is missing",
		},
		"FlawOutweighsNoOrder": {placed(2, `"value":1`), "offset 2 does not ascend: the record before is 4"},
		"PartitionAsWrongString": {
			`{"topic":"orders","partition":"1","offset":5}`,
			"it names another partition than its list",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := record.Batch{{Partition: orders0, Records: []record.Record{{Offset: 4}}}, neighbourRun}
			got, err := kafkaevent.Decode(event(list("orders-0", placed(4), row.record, placed(6)), neighbour))
			if !fault.Is(err, fault.Corrupt) || fault.HintOf(err) == "" {
				t.Fatalf("got %v of class %s, want corrupt with a hint", err, fault.ClassOf(err))
			}
			if diff := cmp.Diff("decode event: orders/0: record 1 of its list: "+row.reason, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecode_DoubtedList breaks a list as a whole.
func TestDecode_DoubtedList(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ list, want string }{
		"NoHyphen": {
			list("orders", placed(1)),
			`a list of records is named "orders", which is not TOPIC-NUMBER`,
		},
		"NoNumber": {
			list("orders-", placed(1)),
			`a list of records is named "orders-", which is not TOPIC-NUMBER`,
		},
		"NoTopic": {list("-0", placed(1)), `a list of records is named "-0", which is not TOPIC-NUMBER`},
		"LeadingZero": {
			list("orders-00", placed(1)),
			`a list of records is named "orders-00", which is not TOPIC-NUMBER`,
		},
		"NumberTooLarge": {
			list("orders-2147483648", placed(1)),
			`a list of records is named "orders-2147483648", which is not TOPIC-NUMBER`,
		},
		"ImpossibleTopic": {
			list("or/ders-0", placed(1)),
			`a list of records is named "or/ders-0", which is not TOPIC-NUMBER`,
		},
		"Null":   {`"orders-0":null`, "orders/0: its records are not an array"},
		"Object": {`"orders-0":{"0":` + placed(1) + `}`, "orders/0: its records are not an array"},
		"SeveralDoubts": {
			list("x", placed(1)) + "," + list("y"),
			`a list of records is named "x", which is not TOPIC-NUMBER; and 1 more`,
		},
		"LaterListOfADoubtedPartition": {
			list("orders-0", `{}`) + "," + list("orders-0", placed(1)),
			"orders/0: record 0 of its list: topic, partition or offset is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := kafkaevent.Decode(event(row.list, neighbour))
			if !fault.Is(err, fault.Corrupt) {
				t.Fatalf("got %v of class %s, want corrupt", err, fault.ClassOf(err))
			}
			if diff := cmp.Diff("decode event: "+row.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(record.Batch{neighbourRun}, got, same); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}
