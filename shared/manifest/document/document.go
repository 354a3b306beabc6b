// Package document owns how the documents of an archive are written and read: JSON with its version inside.
//
// Reading is strict: a size limit before anything is parsed; members that are unknown, missing, repeated or of
// another case, null, texts that are not UTF-8 and whatever follows the document are errors; a newer version is named
// as such before anything else is held against it. It refuses to know what a document says. No I/O, no clock, no
// state.
package document

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/fault"
)

// Version is the form of every document that this release writes and reads.
const Version = 1

// Encode writes a document whose bytes depend on nothing but its content: a nil slice is written as an empty one.
//
// Errors: fault.Misconfigured, with the place, for a text that is not UTF-8; else fault.Bug.
func Encode(document any) ([]byte, error) {
	encoded, err := json.Marshal(document, json.Deterministic(true))
	if err == nil {
		return encoded, nil
	}
	// Names and structure come from Go types, which are right; so what breaks the grammar is a text.
	if broken, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return nil, fault.New(fault.Misconfigured, "write %s: the text is not UTF-8", broken.JSONPointer).
			WithHint("a database of encoding SQL_ASCII keeps any bytes: find and convert those there, " +
				"or move to a database of encoding UTF8")
	}
	return nil, fault.Wrap(fault.Bug, err)
}

// Decode reads a document of at most so many bytes into an empty struct and validates it. kind names it in errors.
//
// Errors: fault.Misconfigured for a document of a newer version, else fault.Corrupt.
func Decode(kind string, limit int, encoded []byte, into interface{ Validate() error }) error {
	if len(encoded) > limit {
		return fault.New(fault.Corrupt, "%s of %d bytes, at most %d", kind, len(encoded), limit)
	}
	version, err := versionIn(encoded)
	switch {
	case err != nil:
		return corrupt(kind, err)
	case version > Version && jsontext.Value(encoded).IsValid():
		return fault.New(fault.Misconfigured, "%s of version %d, this release reads %d", kind, version, Version).
			WithHint("read it with the release that wrote it, or a later one")
	case version < 1:
		return corrupt(kind, errors.New("it has no version"))
	}
	for _, step := range []func() error{
		func() error { return json.Unmarshal(encoded, into, json.RejectUnknownMembers(true)) },
		func() error { return complete(encoded, into) },
		into.Validate,
	} {
		if err := step(); err != nil {
			return corrupt(kind, err)
		}
	}
	return nil
}

// versionIn reads the version and not much else: it is the first member of what Encode writes.
func versionIn(encoded []byte) (version int, err error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(encoded))
	if decoder.PeekKind() != '{' {
		return 0, errors.New("it is no JSON object")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return 0, err
	}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return 0, err
		}
		if name.String() == "version" {
			return version, json.UnmarshalDecode(decoder, &version)
		}
		if err := decoder.SkipValue(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func corrupt(kind string, err error) error {
	return fault.New(fault.Corrupt, "read %s: %w", kind, err)
}
