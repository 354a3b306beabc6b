package backuptest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// The frame of COPY's binary form.
const (
	CopyHeader  = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	CopyTrailer = "\xff\xff"
)

// AppendRow writes a row in COPY's binary form. A nil field is NULL.
func AppendRow(to []byte, fields ...[]byte) []byte {
	to = binary.BigEndian.AppendUint16(to, uint16(len(fields))) //nolint:gosec // a test's row
	for _, field := range fields {
		if field == nil {
			to = append(to, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		to = binary.BigEndian.AppendUint32(to, uint32(len(field))) //nolint:gosec // a test's value
		to = append(to, field...)
	}
	return to
}

// CopyOf writes rows as a whole COPY.
func CopyOf(rows ...[][]byte) []byte {
	stream := []byte(CopyHeader)
	for _, row := range rows {
		stream = AppendRow(stream, row...)
	}
	return append(stream, CopyTrailer...)
}

var errNoCopy = errors.New("no whole COPY in binary form")

// ReadCopy reads what must be one whole COPY, with nothing before or after.
func ReadCopy(stream []byte) (rows [][][]byte, err error) {
	left, ok := strings.CutPrefix(string(stream), CopyHeader)
	if !ok {
		return nil, fmt.Errorf("header %.19q: %w", left, errNoCopy)
	}
	for left != CopyTrailer {
		if len(left) < 2 {
			return rows, fmt.Errorf("%d bytes after %d rows: %w", len(left), len(rows), errNoCopy)
		}
		fields := make([][]byte, binary.BigEndian.Uint16([]byte(left)))
		left = left[2:]
		for i := range fields {
			if fields[i], left, err = readField(left); err != nil {
				return rows, fmt.Errorf("field %d of row %d: %w", i, len(rows), err)
			}
		}
		rows = append(rows, fields)
	}
	return rows, nil
}

func readField(left string) (field []byte, rest string, err error) {
	if len(left) < 4 {
		return nil, "", errNoCopy
	}
	size, left := binary.BigEndian.Uint32([]byte(left[:4])), left[4:]
	switch {
	case size == 0xffffffff:
		return nil, left, nil
	case uint64(size) > uint64(len(left)):
		return nil, "", errNoCopy
	}
	return append([]byte{}, left[:size]...), left[size:], nil
}
