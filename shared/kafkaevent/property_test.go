package kafkaevent_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

func drawData(t *rapid.T, label string, states int) record.Data {
	switch rapid.IntRange(0, states-1).Draw(t, label+" state") {
	case 0:
		return record.Present(rapid.SliceOf(rapid.Byte()).Draw(t, label))
	case 1:
		return record.Null()
	}
	return record.Missing()
}

func drawRecord(t *rapid.T, offset position.Offset) record.Record {
	r := record.Record{Offset: offset, Key: drawData(t, "key", 3), Value: drawData(t, "value", 3)}
	if rapid.Bool().Draw(t, "timed") {
		r.Time = time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "time")).UTC()
	}
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		name := rapid.String().Draw(t, "name")
		r.Headers = append(r.Headers, record.Header{Name: name, Value: drawData(t, "header", 2)})
	}
	return r
}

func drawBatch(t *rapid.T) record.Batch {
	partitions := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) position.Partition {
		return position.Partition{
			Topic:  rapid.StringMatching(`[a-zA-Z0-9_-]{1,6}(\.[0-9-]{1,3})?`).Draw(t, "topic"),
			Number: rapid.Int32Range(0, 1<<31-1).Draw(t, "number"),
		}
	}), 0, 4, rapid.ID[position.Partition]).Draw(t, "partitions")
	slices.SortFunc(partitions, position.Partition.Compare)
	batch := record.Batch{}
	for _, p := range partitions {
		offset := position.Offset(rapid.Int64Range(0, 1<<62).Draw(t, "first"))
		r := record.Run{Partition: p}
		for range rapid.IntRange(1, 4).Draw(t, "records") {
			r.Records = append(r.Records, drawRecord(t, offset))
			offset += position.Offset(rapid.Int64Range(1, 1000).Draw(t, "step"))
		}
		batch = append(batch, r)
	}
	return batch
}

func TestDecode_UndoesEncode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawBatch(t)
		source := kafkaevent.Source{
			Kind: rapid.SampledFrom([]string{kafkaevent.MSK, kafkaevent.SelfManaged}).Draw(t, "kind"),
			ARN:  rapid.String().Draw(t, "arn"), BootstrapServers: rapid.String().Draw(t, "servers"),
		}
		payload, err := kafkaevent.Encode(source, want)
		if err != nil {
			t.Fatalf("Encode: %v", err)
		}
		got, err := kafkaevent.Decode(payload)
		if err != nil {
			t.Fatalf("Decode: %v", err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("batch (-want +got):\n%s", diff)
		}
	})
}

// Whatever was applied of each partition: a record is either below next or in the reply, never both and never
// neither.
func TestReply_NamesExactlyTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		batch, next := drawBatch(t), position.Cut{}
		var want []kafkaevent.Failure
		for _, r := range batch {
			applied := rapid.IntRange(0, len(r.Records)).Draw(t, "applied")
			if applied > 0 {
				next[r.Partition] = r.Records[applied-1].Offset.Next()
			}
			for _, rest := range r.Records[applied:] {
				want = append(want, kafkaevent.Failure{Partition: r.Partition, Offset: rest.Offset})
			}
		}
		got, err := kafkaevent.ParseReply(kafkaevent.Reply(batch, next))
		if err != nil || len(got) != len(want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
		if diff := cmp.Diff(want, got); len(want) > 0 && diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
}

// small is an event of three records in two partitions with every kind of member, and what it decodes to.
func small(tb testing.TB) ([]byte, record.Batch) {
	tb.Helper()
	batch := record.Batch{
		{Partition: orders0, Records: []record.Record{
			{Offset: 4, Time: time.UnixMilli(1545084650).UTC(), Key: text("k"), Value: text("a value of some length")},
			{
				Offset: 5, Key: record.Null(), Value: text(""),
				Headers: []record.Header{{Name: "h", Value: text("\x80é")}},
			},
		}},
		neighbourRun,
	}
	source := kafkaevent.Source{Kind: kafkaevent.MSK, ARN: "arn", BootstrapServers: "b:1"}
	payload, err := kafkaevent.Encode(source, batch)
	if err != nil {
		tb.Fatalf("Encode: %v", err)
	}
	return payload, batch
}

// A record may fill the event; small ones before and behind it share allocations and must not share memory.
func TestDecode_KeepsDataApart(t *testing.T) {
	t.Parallel()
	var records []record.Record
	for i, size := range []int{3, 4_400_000, 3, 0, 60_000, 20_000, 3} {
		value := bytes.Repeat([]byte{byte('a' + i)}, size)
		one := record.Record{Offset: position.Offset(i), Key: text("key"), Value: record.Present(value)}
		one.Headers = []record.Header{{Name: "h", Value: text("header")}}
		records = append(records, one)
	}
	want := record.Batch{{Partition: orders0, Records: records}}
	payload, err := kafkaevent.Encode(kafkaevent.Source{Kind: kafkaevent.MSK}, want)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	got, err := kafkaevent.Decode(payload)
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	for _, r := range got[0].Records {
		_ = append(r.Key.Bytes(), "overrun"...)
		_ = append(r.Value.Bytes(), "overrun"...)
		_ = append(r.Headers[0].Value.Bytes(), "overrun"...)
	}
	if !cmp.Equal(want, got, same) {
		t.Error("data of one record reaches into another's")
	}
}

func TestDecode_RefusesEveryPrefix(t *testing.T) {
	t.Parallel()
	payload, _ := small(t)
	for n := range payload {
		if batch, err := kafkaevent.Decode(payload[:n]); batch != nil || !refused(err) {
			t.Errorf("the first %d bytes: got %s and %v, want no batch and an error", n, shape(batch), err)
		}
	}
}

func refused(err error) bool {
	return fault.Is(err, fault.Misconfigured) || fault.Is(err, fault.Corrupt)
}

// A flipped bit may spoil a record, a list or the event, but no record vanishes without an error.
func TestDecode_LosesNothingToAFlippedBit(t *testing.T) {
	t.Parallel()
	payload, batch := small(t)
	for bit := range 8 * len(payload) {
		damaged := flip(payload, bit)
		got, err := kafkaevent.Decode(damaged)
		if err == nil && count(got) != count(batch) || err != nil && !refused(err) {
			t.Errorf("bit %d of byte %d, %q: got %s and %v", bit%8, bit/8, damaged, shape(got), err)
		}
	}
}

// A bit flipped inside one value leaves the other partition as it was, unless it breaks the JSON for everybody.
func TestDecode_KeepsNeighboursFromAFlippedBit(t *testing.T) {
	t.Parallel()
	payload, batch := small(t)
	value := []byte(`YSB2YWx1ZSBvZiBzb21lIGxlbmd0aA==`)
	at := bytes.Index(payload, value)
	if at < 0 {
		t.Fatalf("the event does not hold %s: %s", value, payload)
	}
	spoiled := 0
	for bit := 8 * at; bit < 8*(at+len(value)); bit++ {
		got, err := kafkaevent.Decode(flip(payload, bit))
		if err != nil {
			if got != nil || !refused(err) {
				t.Errorf("bit %d: got %s and %v", bit, shape(got), err)
			}
			continue
		}
		if got[0].Records[0].Malformed != nil {
			spoiled++
		}
		if cmp.Equal(got[0].Records[0], batch[0].Records[0], same) {
			t.Errorf("bit %d: the damage went unseen", bit)
		}
		got[0].Records[0] = batch[0].Records[0]
		if diff := cmp.Diff(batch, got, same); diff != "" {
			t.Errorf("bit %d: neighbours (-want +got):\n%s", bit, diff)
		}
	}
	if spoiled == 0 {
		t.Error("no flip made the record malformed")
	}
}

func flip(payload []byte, bit int) []byte {
	damaged := bytes.Clone(payload)
	damaged[bit/8] ^= 1 << (bit % 8)
	return damaged
}

func count(batch record.Batch) int {
	n := 0
	for _, r := range batch {
		n += len(r.Records)
	}
	return n
}

func FuzzDecode(f *testing.F) {
	payload, _ := small(f)
	f.Add(payload)
	f.Add(payload[:len(payload)/2])
	for _, seed := range []string{
		``, `{}`, `null`, `{"eventSource":"aws:sqs"}`, `{"eventSource":"aws:kafka","records":{"a-0":[null]}}`,
		string(event(neighbour, neighbour)), string(event(`"orders":[]`, `"orders-0":{}`)),
		string(event(list("orders-0", placed(5, `"value":"?"`), placed(5)))),
		string(event(list("orders-0", placed(5, `"headers":[{"h":[300,-129,"x,y",[1]]},{"\ud800":null},7]`)))),
		string(event(list("orders-0", placed(5, `"offset":1,"key":1,"key":2,"timestamp":1e3`)))),
		string(event(list("a-b-1", `{"topic":"a-b","partition":"1","offset":"9","value":"\/w=="}`))),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		batch, err := kafkaevent.Decode(payload)
		if err != nil && !refused(err) {
			t.Fatalf("error of class %s: %v", fault.ClassOf(err), err)
		}
		again, err2 := kafkaevent.Decode(payload)
		if diff := cmp.Diff(batch, again, same); diff != "" || line(err) != line(err2) {
			t.Fatalf("a second call differs: %v, then %v\n%s", err, err2, diff)
		}
		checkInvariants(t, batch)
		if malformed(batch) {
			return
		}
		encoded, err := kafkaevent.Encode(kafkaevent.Source{Kind: kafkaevent.MSK}, batch)
		if err != nil {
			t.Fatalf("Encode: %v", err)
		}
		if again, err = kafkaevent.Decode(encoded); err != nil || len(batch) > 0 && !cmp.Equal(batch, again, same) {
			t.Fatalf("the way there and back: %v\n%s", err, cmp.Diff(batch, again, same))
		}
	})
}

func checkInvariants(t *testing.T, batch record.Batch) {
	t.Helper()
	for i, r := range batch {
		if err := r.Partition.Validate(); err != nil || len(r.Records) == 0 {
			t.Fatalf("run %s of %d records: %v", r.Partition, len(r.Records), err)
		}
		if i > 0 && batch[i-1].Partition.Compare(r.Partition) >= 0 {
			t.Fatalf("%s comes before %s", batch[i-1].Partition, r.Partition)
		}
		last := position.Offset(-1)
		for _, one := range r.Records {
			if !last.Before(one.Offset) {
				t.Fatalf("%s: %s after %s", r.Partition, one.Offset, last)
			}
			if one.Malformed != nil && !fault.Is(one.Malformed, fault.Poison) {
				t.Fatalf("%s@%s: class %s", r.Partition, one.Offset, fault.ClassOf(one.Malformed))
			}
			last = one.Offset
		}
	}
}

func malformed(batch record.Batch) bool {
	return slices.ContainsFunc(batch, func(r record.Run) bool {
		return slices.ContainsFunc(r.Records, func(one record.Record) bool { return one.Malformed != nil })
	})
}

// BenchmarkDecode reads an event of about 6 MB, the most that the service sends.
func BenchmarkDecode(b *testing.B) {
	const partitions, each = 10, 1000
	value := bytes.Repeat([]byte("0123456789abcdef"), 20)
	batch := make(record.Batch, partitions)
	for p := range batch {
		batch[p].Partition = position.Partition{Topic: "orders", Number: int32(p)}
		for o := range each {
			batch[p].Records = append(batch[p].Records, record.Record{
				Offset: position.Offset(o), Time: time.UnixMilli(1545084650987),
				Key: text(fmt.Sprintf("key-%d", o)), Value: record.Present(value),
				Headers: []record.Header{{Name: "id", Value: text("0123456789")}},
			})
		}
	}
	payload, err := kafkaevent.Encode(kafkaevent.Source{Kind: kafkaevent.MSK}, batch)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := kafkaevent.Decode(payload); err != nil {
			b.Fatal(err)
		}
	}
}
