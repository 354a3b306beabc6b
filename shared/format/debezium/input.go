package debezium

import (
	"bytes"

	"tidemark/shared/format/jsonnode"
)

// input reads the values or the keys of records. Those of a table begin with the same schema, which is far longer than
// a row, so a text that begins as the one before is read from its payload on.
type input struct {
	jsonnode.Document
	front  []byte // the text before the payload; empty when there is nothing to compare with
	schema *schema
}

// maxFront bounds what an input keeps.
const maxFront = 1 << 20

// document takes the schema off a value or key, if there is one.
func (d *Decoder) document(in *input, text []byte) (payload jsonnode.Object, found *schema, err error) {
	if len(in.front) > 0 && bytes.HasPrefix(text, in.front) {
		if payload, ok := in.ParseLast(text, len(in.front)); ok {
			return payload, in.schema, nil
		}
	}
	root, err := in.Parse(text)
	if err != nil {
		return payload, nil, err
	}
	wrapped := open(root)
	if wrapped.schema.IsNull() {
		return wrapped.payload, nil, nil
	}
	if found, err = d.schemaOf(wrapped.schema); err != nil {
		return payload, nil, err
	}
	if 0 < wrapped.front && wrapped.front <= maxFront {
		in.front, in.schema = append(in.front[:0], text[:wrapped.front]...), found
	}
	return wrapped.payload, found, nil
}

// wrapping is what JsonConverter makes of a value: an object of schema and payload and nothing else.
type wrapping struct {
	schema  jsonnode.Node // nil without
	payload jsonnode.Object
	front   int // how much text is before the payload, when nothing else is behind it
}

// open takes a wrapping apart. What is none is payload.
func open(root jsonnode.Object) wrapping {
	opened, count := wrapping{}, 0
	for w := root.Members(); w.Next(); count++ {
		switch string(w.Quoted()) {
		case `"schema"`:
			opened.schema, opened.front = w.Node(), 0
		case `"payload"`:
			opened.payload, opened.front = w.Object(), w.Offset()
		default:
			return wrapping{payload: root}
		}
	}
	if count < 2 {
		return wrapping{payload: root}
	}
	return opened
}
