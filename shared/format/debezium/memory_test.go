package debezium_test

import (
	"bytes"
	"fmt"
	"testing"

	"tidemark/shared/change"
	"tidemark/shared/format/debezium"
	"tidemark/shared/record"
)

// TestDecodeRemembersNothingWrong decodes whole and damaged records with a decoder that saw all the others and holds
// each against a decoder that saw none.
func TestDecodeRemembersNothingWrong(t *testing.T) {
	t.Parallel()
	for name, options := range captures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tables := shop()
			used := decoder(t, tables, options)
			for _, c := range samples(t, name) {
				value := bytes.Clone(c.Value.Bytes())
				step := max(1, len(value)/places)
				for i := len(value) % step; i < len(value); i += step {
					checkSame(t, used, decoder(t, tables, options), c.Key, c.Value)
					value[i] ^= 1
					checkSame(t, used, decoder(t, tables, options), c.Key, record.Present(value))
					checkSame(t, used, decoder(t, tables, options), record.Present(value), c.Value)
					value[i] ^= 1
					checkSame(t, used, decoder(t, tables, options), c.Key, record.Present(value[:i]))
				}
				for _, tail := range []string{" ", "}", `,"x":1}`, "\n}"} {
					longer := append(bytes.TrimSuffix(bytes.Clone(value), []byte("}")), tail...)
					checkSame(t, used, decoder(t, tables, options), c.Key, record.Present(longer))
				}
			}
		})
	}
}

func checkSame(t *testing.T, used, fresh *debezium.Decoder, key, value record.Data) {
	t.Helper()
	var outcomes [2]string
	for i, d := range []*debezium.Decoder{used, fresh} {
		set := new(change.Set)
		r := record.Record{Key: key, Value: value}
		r.Headers = []record.Header{{Name: "__debezium.oldkey", Value: key}}
		err := d.Decode(t.Context(), &r, set)
		outcomes[i] = fmt.Sprint(err)
		for j := range set.Changes {
			outcomes[i] += "\n" + set.Changes[j].Relation.Name.String() + " " + show(&set.Changes[j])
			if move := set.Changes[j].Move; move != nil {
				outcomes[i] += fmt.Sprint(*move)
			}
		}
	}
	if outcomes[0] != outcomes[1] {
		t.Fatalf("got %s\nwant %s", outcomes[0], outcomes[1])
	}
}
