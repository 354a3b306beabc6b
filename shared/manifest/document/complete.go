package document

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// complete refuses what the library reads as a zero value, as if it had been said: members that are missing, null,
// -0. A body without its tables must not be the body of an empty database.
//
// It is for what was read into the struct without an error: every member is known, and is what the struct says.
func complete(encoded []byte, into any) error {
	w := &walk{decoder: jsontext.NewDecoder(bytes.NewBuffer(encoded)), shapes: map[reflect.Type]shape{}}
	return w.value(reflect.TypeOf(into))
}

type walk struct {
	decoder *jsontext.Decoder
	shapes  map[reflect.Type]shape
	name    []byte // of the member last read
}

// shape is what JSON says of a struct. Members are counted in bits: no document comes near 64.
type shape struct {
	names    []string
	types    []reflect.Type
	places   map[string]int
	required uint64
}

func (w *walk) value(t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := w.decoder.PeekKind(); {
	case kind == '{' && t.Kind() == reflect.Struct:
		return w.object(t)
	case kind == '[' && t.Kind() == reflect.Slice:
		return w.array(t.Elem())
	}
	raw, err := w.decoder.ReadValue()
	switch {
	case err != nil:
		return err
	case string(raw) == "null":
		return fmt.Errorf("%s is null", w.decoder.StackPointer())
	case t.Kind() != reflect.String && (string(raw) == "-0" || string(raw) == `"-0"`):
		return fmt.Errorf("%s is -0", w.decoder.StackPointer())
	}
	return nil
}

func (w *walk) array(element reflect.Type) error {
	if _, err := w.decoder.ReadToken(); err != nil {
		return err
	}
	for w.decoder.PeekKind() != ']' {
		if err := w.value(element); err != nil {
			return err
		}
	}
	_, err := w.decoder.ReadToken()
	return err
}

func (w *walk) object(t reflect.Type) error {
	form, known := w.shapes[t]
	if !known {
		form = shape{places: map[string]int{}}
		form.add(t)
		w.shapes[t] = form
	}
	if _, err := w.decoder.ReadToken(); err != nil {
		return err
	}
	missing := form.required
	for w.decoder.PeekKind() != '}' {
		quoted, err := w.decoder.ReadValue()
		if err != nil {
			return err
		}
		if w.name, err = jsontext.AppendUnquote(w.name[:0], quoted); err != nil {
			return err
		}
		place := form.places[string(w.name)]
		missing &^= 1 << place
		if err := w.value(form.types[place]); err != nil {
			return err
		}
	}
	for place, name := range form.names {
		if missing&(1<<place) != 0 {
			return fmt.Errorf("%s/%s is missing", w.decoder.StackPointer(), name)
		}
	}
	_, err := w.decoder.ReadToken()
	return err
}

// add takes the members of a struct. Those of an embedded struct without a name of its own stand among the others.
func (s *shape) add(t reflect.Type) {
	for field := range t.Fields() {
		tag := field.Tag.Get("json")
		if field.Anonymous && tag == "" {
			s.add(field.Type)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !strings.Contains(options, "omit") {
			s.required |= 1 << len(s.names)
		}
		s.places[name] = len(s.names)
		s.names, s.types = append(s.names, name), append(s.types, field.Type)
	}
}
