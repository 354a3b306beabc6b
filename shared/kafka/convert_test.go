package kafka_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/kafka"
	"tidemark/shared/record"
)

func TestConvert(t *testing.T) {
	t.Parallel()
	data := cmp.Comparer(func(a, b record.Data) bool {
		return a.IsMissing() == b.IsMissing() && a.IsNull() == b.IsNull() && string(a.Bytes()) == string(b.Bytes())
	})
	none := time.UnixMilli(-1)
	for name, c := range map[string]struct {
		from kgo.Record
		want record.Record
	}{
		"NullKeyAndValue":  {kgo.Record{Offset: 3, Timestamp: none}, record.Record{Offset: 3, Key: record.Null(), Value: record.Null()}},
		"EmptyKeyAndValue": {kgo.Record{Key: []byte{}, Value: []byte{}, Timestamp: none}, record.Record{Key: record.Present(nil), Value: record.Present(nil)}},
		"TheFirstMillisecond": {
			kgo.Record{Timestamp: time.UnixMilli(0)}, record.Record{Time: time.UnixMilli(0).UTC(), Key: record.Null(), Value: record.Null()},
		},
		"Headers": {
			kgo.Record{Timestamp: none, Headers: []kgo.RecordHeader{{Key: "h"}, {Key: "h", Value: []byte{}}, {Key: "é", Value: []byte{0xff}}}},
			record.Record{Key: record.Null(), Value: record.Null(), Headers: []record.Header{
				{Name: "h", Value: record.Null()}, {Name: "h", Value: record.Present(nil)}, {Name: "é", Value: record.Present([]byte{0xff})},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := kafka.Convert(&c.from)
			if diff := cmp.Diff(c.want, got, data); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("AHeaderWhoseNameIsNoText", func(t *testing.T) {
		t.Parallel()
		got := kafka.Convert(&kgo.Record{Topic: "orders", Partition: 3, Offset: 7, Headers: []kgo.RecordHeader{{Key: "a"}, {Key: "\xff"}}})
		if !fault.Is(got.Malformed, fault.Poison) || got.Malformed.Error() != "read record orders/3@7: headers[1]: name is not UTF-8" ||
			got.Offset != 7 || got.Headers != nil {
			t.Errorf("got %+v, want a malformed record in its place", got)
		}
	})
}
