// Package chunk owns where a stream of rows is cut: COPY's binary form goes in, chunks that are each a whole COPY of their own
// come out.
//
// A cut is made between two rows, when a chunk has its wanted size or when the next row would make it larger than an object
// may be. It reads no value: only how many fields a row has and how long they are. It refuses a stream that ends before its
// end was said, and one of another form. A Cutter belongs to one goroutine.
package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/shared/fault"
)

// Wanted is the size of a chunk, in plain bytes. Nearly twice as much, compressed by nothing, still is an object.
const Wanted = 32 << 20

// header is how a stream begins: signature, no flags, no extension. trailer is how it ends.
const (
	header  = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	trailer = "\xff\xff"
)

// Sink takes the plain bytes of one chunk after the other.
type Sink interface {
	Begin() error
	Write(plain []byte) (int, error)
	// Fits says whether the chunk surely is an object with n more plain bytes.
	Fits(n int) bool
	Finish(rows int64) error
}

// Cutter cuts one stream.
type Cutter struct {
	sink   Sink
	wanted int

	failed error  // why the stream cannot go on
	began  bool   // the stream's header was read
	ended  bool   // its trailer was
	rest   []byte // what came of a row that is not yet whole
	open   bool   // a chunk was begun
	size   int    // of its plain bytes
	rows   int64
}

// New cuts a stream into chunks of about wanted plain bytes.
func New(sink Sink, wanted int) *Cutter { return &Cutter{sink: sink, wanted: wanted} }

// Write takes a part of the stream. The server sends a row at a time, which is then not copied. Once it failed, every call
// fails: after a row that is lost nothing is whole.
//
// Errors: fault.Bug for another form than COPY's; the sink's.
func (c *Cutter) Write(part []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	given, whole := len(part), part
	if len(c.rest) > 0 {
		c.rest = append(c.rest, part...)
		whole = c.rest
	}
	left, err := c.take(whole)
	if err != nil {
		c.failed = err
		return 0, err
	}
	if len(c.rest) == 0 || len(left) < len(whole) { // else it is there already: a long row that comes in many parts
		c.rest = append(c.rest[:0], left...)
	}
	return given, nil
}

// take takes whole rows and gives what is left.
func (c *Cutter) take(part []byte) ([]byte, error) {
	if !c.began {
		came := min(len(part), len(header))
		if string(part[:came]) != header[:came] {
			return nil, fault.New(fault.Bug, "read rows: this is not COPY's binary form")
		}
		if came < len(header) {
			return part, nil
		}
		c.began, part = true, part[len(header):]
	}
	for len(part) > 0 {
		if c.ended {
			return nil, fault.New(fault.Bug, "read rows: more came after the end")
		}
		size, err := rowSize(part)
		if err != nil || size == 0 {
			return part, err
		}
		if string(part[:size]) == trailer {
			c.ended = true
		} else if err := c.row(part[:size]); err != nil {
			return nil, err
		}
		part = part[size:]
	}
	return nil, nil
}

// rowSize is how many bytes the first row has, 0 when it is not whole.
func rowSize(part []byte) (int, error) {
	const count, length = 2, 4
	if len(part) < count {
		return 0, nil
	}
	fields := int(int16(binary.BigEndian.Uint16(part))) //nolint:gosec // it is a signed number
	if fields < -1 {
		return 0, fault.New(fault.Bug, "read rows: a row of %d fields", fields)
	}
	at := count
	for range max(fields, 0) {
		if len(part) < at+length {
			return 0, nil
		}
		size := int(int32(binary.BigEndian.Uint32(part[at:]))) //nolint:gosec // it is a signed number
		if size < -1 {
			return 0, fault.New(fault.Bug, "read rows: a field of %d bytes", size)
		}
		at += length + max(size, 0)
	}
	if len(part) < at {
		return 0, nil
	}
	return at, nil
}

// row puts a row into the open chunk, or into the next.
func (c *Cutter) row(row []byte) error {
	full := c.size >= c.wanted || !c.sink.Fits(len(row)+len(trailer))
	if c.open && c.rows > 0 && full {
		if err := c.finish(); err != nil {
			return err
		}
	}
	if err := c.begin(); err != nil {
		return err
	}
	c.rows, c.size = c.rows+1, c.size+len(row)
	_, err := c.sink.Write(row)
	return err
}

func (c *Cutter) begin() error {
	if c.open {
		return nil
	}
	c.open, c.rows, c.size = true, 0, 0
	if err := c.sink.Begin(); err != nil {
		return err
	}
	_, err := c.sink.Write([]byte(header))
	return err
}

func (c *Cutter) finish() error {
	if _, err := c.sink.Write([]byte(trailer)); err != nil {
		return err
	}
	c.open = false
	return c.sink.Finish(c.rows)
}

// ErrCutShort says that the stream ended before its end was said.
var ErrCutShort = errors.New("the rows were cut short")

// Close ends the stream. One without rows gives one chunk without rows.
//
// Errors: fault.Retryable with ErrCutShort; those of Write.
func (c *Cutter) Close() error {
	if c.failed != nil {
		return c.failed
	}
	if !c.ended {
		return fault.Wrap(fault.Retryable, fmt.Errorf("read rows: %w", ErrCutShort))
	}
	if err := c.begin(); err != nil {
		return err
	}
	return c.finish()
}
