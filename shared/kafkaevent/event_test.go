package kafkaevent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// shape prints the positions of a batch, as in "orders/0@4,5 orders/1@7".
func shape(batch record.Batch) string {
	var runs []string
	for _, run := range batch {
		var offsets []string
		for _, r := range run.Records {
			offsets = append(offsets, r.Offset.String())
		}
		runs = append(runs, run.Partition.String()+"@"+strings.Join(offsets, ","))
	}
	return strings.Join(runs, " ")
}

// TestDecode_Events reads whole events that are sound.
func TestDecode_Events(t *testing.T) {
	t.Parallel()
	at := func(topic string, number, offset int) string {
		return fmt.Sprintf(`{"topic":%q,"partition":%d,"offset":%d}`, topic, number, offset)
	}
	for name, row := range map[string]struct{ payload, want string }{
		"MSK":         {`{"eventSource":"aws:kafka","records":{` + neighbour + `}}`, "orders/1@7"},
		"SelfManaged": {`{"eventSource":"SelfManagedKafka","records":{` + neighbour + `}}`, "orders/1@7"},
		"SelfManagedAsInSamples": {
			`{"eventSource":"aws:SelfManagedKafka","records":{` + neighbour + `}}`,
			"orders/1@7",
		},
		"SourceAfterRecords": {`{"records":{` + neighbour + `},"eventSource":"aws:kafka"}`, "orders/1@7"},
		"SpaceAround":        {" \n" + string(event(neighbour)) + "\n ", "orders/1@7"},
		"UnknownMembers": {
			`{"a":[{"records":1}],"eventSource":"aws:kafka","records":{` + neighbour + `}}`,
			"orders/1@7",
		},
		"NoLists":           {string(event()), ""},
		"EmptyList":         {string(event(`"orders-0":[]`, neighbour)), "orders/1@7"},
		"PartitionAsString": {string(event(`"t-3":[{"topic":"t","partition":"3","offset":1}]`)), "t/3@1"},
		"OffsetAsString":    {string(event(`"t-3":[{"topic":"t","partition":3,"offset":"12"}]`)), "t/3@12"},
		"OffsetZeroAndLargest": {
			string(event(list("t-0", at("t", 0, 0), at("t", 0, 9223372036854775806)))),
			"t/0@0,9223372036854775806",
		},
		"OffsetsJump":      {string(event(list("t-0", at("t", 0, 3), at("t", 0, 9)))), "t/0@3,9"},
		"TopicWithHyphens": {string(event(list("a-1-b-2", at("a-1-b", 2, 5)))), "a-1-b/2@5"},
		"TopicEndsWithANumber": {
			string(event(list("a-1-2", at("a-1", 2, 5)), list("a-1", at("a", 1, 6)))),
			"a/1@6 a-1/2@5",
		},
		"TopicEndsWithAHyphen": {string(event(list("a--2", at("a-", 2, 5)))), "a-/2@5"},
		"PartitionsSortByNumber": {
			string(event(list("t-10", at("t", 10, 1)), list("t-9", at("t", 9, 1)), list("s-11", at("s", 11, 1)))),
			"s/11@1 t/9@1 t/10@1",
		},
		"PartitionTwice": {
			string(event(list("t-0", at("t", 0, 1), at("t", 0, 2)), neighbour, list("t-0", at("t", 0, 3)))),
			"orders/1@7 t/0@1,2,3",
		},
		"RecordsTwice": {
			`{"eventSource":"aws:kafka","records":{` + neighbour + `},"records":{` + list("t-0", at("t", 0, 1)) + `}}`,
			"orders/1@7 t/0@1",
		},
		"SourceTwiceAndBothKafka": {`{"eventSource":"aws:kafka","eventSource":"SelfManagedKafka","records":{}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := kafkaevent.Decode([]byte(row.payload))
			if err != nil {
				t.Fatalf("Decode: %v", err)
			}
			if diff := cmp.Diff(row.want, shape(got)); diff != "" {
				t.Errorf("positions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecode_Refuses reads payloads of which nothing can be taken.
func TestDecode_Refuses(t *testing.T) {
	t.Parallel()
	const open = `{"eventSource":"aws:kafka","records":{`
	for name, row := range map[string]struct {
		payload string
		class   fault.Class
		text    string
	}{
		"Nothing":     {"", fault.Misconfigured, "its JSON breaks at byte 0"},
		"Words":       {"not JSON", fault.Misconfigured, "its JSON breaks at byte 1"},
		"Null":        {"null", fault.Misconfigured, "its eventSource is missing or not a string"},
		"Array":       {"[]", fault.Misconfigured, "its eventSource is missing or not a string"},
		"EmptyObject": {"{}", fault.Misconfigured, "its eventSource is missing or not a string"},
		"Scheduled": {
			`{"source":"aws.events","detail":{}}`,
			fault.Misconfigured,
			"its eventSource is missing or not a string",
		},
		"SQS": {
			`{"Records":[{"eventSource":"aws:sqs","body":"x"}]}`,
			fault.Misconfigured,
			"its eventSource is missing or not a string",
		},
		"OtherSource": {
			`{"eventSource":"aws:mq","records":{}}`,
			fault.Misconfigured,
			`its eventSource is "aws:mq"`,
		},
		"EmptySource": {`{"eventSource":"","records":{}}`, fault.Misconfigured, `its eventSource is ""`},
		"SourceInCapitals": {
			`{"eventSource":"AWS:KAFKA","records":{}}`,
			fault.Misconfigured,
			`its eventSource is "AWS:KAFKA"`,
		},
		"SourceIsANumber": {
			`{"eventSource":1,"records":{}}`,
			fault.Misconfigured,
			"its eventSource is missing or not a string",
		},
		"SourceTwice": {
			`{"eventSource":"aws:kafka","eventSource":"aws:mq","records":{}}`,
			fault.Misconfigured,
			`its eventSource is "aws:mq"`,
		},
		"NoRecords": {`{"eventSource":"aws:kafka"}`, fault.Misconfigured, "it has no object of records"},
		"RecordsAreNull": {
			`{"eventSource":"aws:kafka","records":null}`,
			fault.Misconfigured,
			"it has no object of records",
		},
		"RecordsAreAnArray": {
			`{"eventSource":"aws:kafka","records":[]}`,
			fault.Misconfigured,
			"it has no object of records",
		},
		"EndsInsideARecord": {open + neighbour[:40], fault.Corrupt, "its JSON ends early at byte 78"},
		"EndsBeforeTheLast": {open + neighbour + "}", fault.Corrupt, "its JSON ends early at byte 137"},
		"BreaksInsideARecord": {
			open + neighbour[:20] + "!" + neighbour[21:] + "}}",
			fault.Corrupt,
			"its JSON breaks at byte 58",
		},
		"SecondEvent":        {open + "}}" + open + "}}", fault.Corrupt, "its JSON breaks at byte 41"},
		"MoreBehindTheEvent": {open + "}}]", fault.Corrupt, "its JSON breaks at byte 40"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			batch, err := kafkaevent.Decode([]byte(row.payload))
			if batch != nil || fault.ClassOf(err) != row.class || fault.HintOf(err) == "" {
				t.Fatalf("got %v and %v of class %s, want only an error of class %s with a hint",
					batch, err, fault.ClassOf(err), row.class)
			}
			if !strings.HasSuffix(err.Error(), row.text) {
				t.Errorf("got error %q, want it to end with %q", err, row.text)
			}
		})
	}
}

func TestEncode_Form(t *testing.T) {
	t.Parallel()
	source := kafkaevent.Source{Kind: kafkaevent.MSK, ARN: "arn:x", BootstrapServers: "b-1:9098"}
	batch := record.Batch{
		{Partition: position.Partition{Topic: "empty"}},
		{Partition: orders0, Records: []record.Record{{
			Time: neighbourRun.Records[0].Time, Key: text("k"), Value: record.Null(),
			Headers: []record.Header{
				{Name: `a"b`, Value: text("h\xc3\xa9\x7f\x80")},
				{Name: "n", Value: record.Null()},
				{Name: "e", Value: text("")},
			},
		}, {Offset: 2, Value: text("")}}},
	}
	const want = `{"eventSource":"aws:kafka","eventSourceArn":"arn:x","bootstrapServers":"b-1:9098",` +
		`"records":{"orders-0":[{"topic":"orders","partition":0,"offset":0,"timestamp":5,` +
		`"timestampType":"CREATE_TIME","key":"aw==","value":null,"headers":[` +
		`{"a\"b":[104,-61,-87,127,-128]},{"n":null},{"e":[]}]},` +
		`{"topic":"orders","partition":0,"offset":2,"timestamp":-1,"timestampType":"NO_TIMESTAMP_TYPE",` +
		`"value":"","headers":[]}]}}`
	got, err := kafkaevent.Encode(source, batch)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestEncode_SelfManagedHasNoARN(t *testing.T) {
	t.Parallel()
	got, err := kafkaevent.Encode(kafkaevent.Source{Kind: kafkaevent.SelfManaged, BootstrapServers: "b:9092"}, nil)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	const want = `{"eventSource":"SelfManagedKafka","bootstrapServers":"b:9092","records":{}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestEncode_Refuses(t *testing.T) {
	t.Parallel()
	one := func(r record.Record) record.Batch {
		return record.Batch{{Partition: orders0, Records: []record.Record{r}}}
	}
	for name, row := range map[string]struct {
		kind  string
		batch record.Batch
	}{
		"UnknownKind":    {"aws:sqs", nil},
		"NegativeOffset": {kafkaevent.MSK, one(record.Record{Offset: -1})},
		"Malformed":      {kafkaevent.MSK, one(record.Record{Malformed: fault.New(fault.Poison, "x")})},
		"TimeBefore1970": {kafkaevent.MSK, one(record.Record{Time: neighbourRun.Records[0].Time.AddDate(-1, 0, 0)})},
		"HeaderNotUTF8":  {kafkaevent.MSK, one(record.Record{Headers: []record.Header{{Name: "\xff"}}})},
		"ImpossibleTopic": {
			kafkaevent.MSK,
			record.Batch{{Partition: position.Partition{Topic: "a b"}, Records: make([]record.Record, 1)}},
		},
		"PartitionTwice": {kafkaevent.MSK, record.Batch{neighbourRun, neighbourRun}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := kafkaevent.Encode(kafkaevent.Source{Kind: row.kind}, row.batch); !fault.Is(err, fault.Bug) {
				t.Errorf("got %v of class %s, want bug", err, fault.ClassOf(err))
			}
		})
	}
}
