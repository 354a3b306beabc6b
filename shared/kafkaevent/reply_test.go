package kafkaevent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

func run(p position.Partition, offsets ...position.Offset) record.Run {
	r := record.Run{Partition: p}
	for _, o := range offsets {
		r.Records = append(r.Records, record.Record{Offset: o})
	}
	return r
}

func TestReply(t *testing.T) {
	t.Parallel()
	hyphens := position.Partition{Topic: "a-b.c", Number: 12}
	batch := record.Batch{run(hyphens, 0, 1), run(orders0, 5, 6, 9), run(orders1, 3)}
	const (
		h0 = `{"itemIdentifier":{"partition":"a-b.c-12","offset":0}}`
		h1 = `{"itemIdentifier":{"partition":"a-b.c-12","offset":1}}`
		o5 = `{"itemIdentifier":{"partition":"orders-0","offset":5}}`
		o6 = `{"itemIdentifier":{"partition":"orders-0","offset":6}}`
		o9 = `{"itemIdentifier":{"partition":"orders-0","offset":9}}`
		p3 = `{"itemIdentifier":{"partition":"orders-1","offset":3}}`
	)
	for name, row := range map[string]struct {
		batch     record.Batch
		next      position.Cut
		failures  string
		all, none bool
	}{
		"EverythingApplied": {batch, position.Cut{hyphens: 2, orders0: 10, orders1: 4}, "", true, false},
		"AppliedFarBeyond":  {batch, position.Cut{hyphens: 20, orders0: 100, orders1: 40}, "", true, false},
		"NothingApplied": {
			batch,
			position.Cut{hyphens: 0, orders0: 5, orders1: 3},
			h0 + "," + h1 + "," + o5 + "," + o6 + "," + o9 + "," + p3,
			false,
			true,
		},
		"NextBelowTheFirst": {
			batch,
			position.Cut{hyphens: 0, orders0: 1, orders1: 0},
			h0 + "," + h1 + "," + o5 + "," + o6 + "," + o9 + "," + p3,
			false,
			true,
		},
		"NoPartitionKnown": {
			batch,
			nil,
			h0 + "," + h1 + "," + o5 + "," + o6 + "," + o9 + "," + p3,
			false,
			true,
		},
		"FirstOfOnePartition": {
			batch,
			position.Cut{hyphens: 2, orders0: 6, orders1: 4},
			o6 + "," + o9,
			false,
			false,
		},
		"NextInsideAHole": {batch, position.Cut{hyphens: 2, orders0: 7, orders1: 4}, o9, false, false},
		"MiddleOfTwoPartitions": {
			batch,
			position.Cut{hyphens: 1, orders0: 6, orders1: 4},
			h1 + "," + o6 + "," + o9,
			false,
			false,
		},
		"OffsetZeroIsListed": {record.Batch{run(hyphens, 0)}, position.Cut{hyphens: 0}, h0, false, true},
		"AbsentIsUnapplied":  {batch, position.Cut{orders0: 10}, h0 + "," + h1 + "," + p3, false, false},
		"OtherPartitionsIgnored": {
			record.Batch{run(orders1, 3)},
			position.Cut{orders0: 1, orders1: 4},
			"",
			true,
			false,
		},
		"EmptyBatch":        {nil, nil, "", true, false},
		"RunWithoutRecords": {record.Batch{run(orders0)}, nil, "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := kafkaevent.Reply(row.batch, row.next)
			if diff := cmp.Diff(`{"batchItemFailures":[`+row.failures+`]}`, string(got)); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if got := kafkaevent.AllApplied(row.batch, row.next); got != row.all {
				t.Errorf("AllApplied: got %t, want %t", got, row.all)
			}
			if got := kafkaevent.NoneApplied(row.batch, row.next); got != row.none {
				t.Errorf("NoneApplied: got %t, want %t", got, row.none)
			}
			parsed, err := kafkaevent.ParseReply(got)
			if err != nil {
				t.Fatalf("ParseReply: %v", err)
			}
			if want := kafkaevent.Unapplied(row.batch, row.next); len(want)+len(parsed) > 0 {
				if diff := cmp.Diff(want, parsed); diff != "" {
					t.Errorf("failures (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestParseReply(t *testing.T) {
	t.Parallel()
	item := func(identifier string) string { return `{"batchItemFailures":[{"itemIdentifier":` + identifier + `}]}` }
	for name, row := range map[string]struct {
		body string
		want []kafkaevent.Failure
		bad  bool
	}{
		"Nothing":     {body: ""},
		"Space":       {body: " \n"},
		"Null":        {body: "null"},
		"EmptyObject": {body: "{}"},
		"EmptyList":   {body: `{"batchItemFailures":[]}`},
		"NullList":    {body: `{"batchItemFailures":null}`},
		"One": {
			body: item(`{"partition":"a-b-3","offset":0}`),
			want: []kafkaevent.Failure{{Partition: position.Partition{Topic: "a-b", Number: 3}}},
		},
		"MembersInOtherOrder": {
			body: item(`{"offset":7,"partition":"orders-1"}`),
			want: []kafkaevent.Failure{{Partition: orders1, Offset: 7}},
		},
		"OldName":            {body: item(`{"topic-partition":"orders-1","offset":7}`), bad: true},
		"FlatString":         {body: item(`"orders-1-7"`), bad: true},
		"NoOffset":           {body: item(`{"partition":"orders-1"}`), bad: true},
		"NullOffset":         {body: item(`{"partition":"orders-1","offset":null}`), bad: true},
		"OffsetAsString":     {body: item(`{"partition":"orders-1","offset":"7"}`), bad: true},
		"OffsetFraction":     {body: item(`{"partition":"orders-1","offset":7.0}`), bad: true},
		"OffsetNegative":     {body: item(`{"partition":"orders-1","offset":-1}`), bad: true},
		"NoPartition":        {body: item(`{"offset":7}`), bad: true},
		"NullPartition":      {body: item(`{"partition":null,"offset":7}`), bad: true},
		"PartitionAsNumber":  {body: item(`{"partition":1,"offset":7}`), bad: true},
		"PartitionWithSlash": {body: item(`{"partition":"orders/1","offset":7}`), bad: true},
		"MoreMembers":        {body: item(`{"partition":"orders-1","offset":7,"topic":"orders"}`), bad: true},
		"OffsetTwice":        {body: item(`{"partition":"orders-1","offset":7,"offset":8}`), bad: true},
		"NullItem":           {body: item(`null`), bad: true},
		"NullFailure":        {body: `{"batchItemFailures":[null]}`, bad: true},
		"ListIsAnObject":     {body: `{"batchItemFailures":{}}`, bad: true},
		"NameInOtherCase":    {body: `{"BatchItemFailures":[]}`, bad: true},
		"AnotherAnswer":      {body: `{"statusCode":200}`, bad: true},
		"FunctionError":      {body: `{"errorMessage":"x","errorType":"y"}`, bad: true},
		"Array":              {body: `[]`, bad: true},
		"Word":               {body: `"ok"`, bad: true},
		"BrokenOff":          {body: `{"batchItemFailures":[`, bad: true},
		"TwoAnswers":         {body: `{}{}`, bad: true},
		"SecondFailureIsWrong": {
			body: `{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-1","offset":7}},{}]}`,
			bad:  true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := kafkaevent.ParseReply([]byte(row.body))
			if row.bad != fault.Is(err, fault.Misconfigured) || !row.bad && err != nil {
				t.Fatalf("got error %v of class %s, want an error: %t", err, fault.ClassOf(err), row.bad)
			}
			if len(got)+len(row.want) > 0 {
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Errorf("failures (-want +got):\n%s", diff)
				}
			}
		})
	}
}
