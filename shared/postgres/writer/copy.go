package writer

import (
	"io"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/postgres/catalog"
)

// CanCopy says whether a group may come in by COPY, twice as fast as any upsert: rows that are most likely new, in a table
// where one that is not shows at once.
func CanCopy(table *catalog.Table, group reduction.Group) bool {
	return group.Bulk && group.Fresh && group.Op == change.Insert && table.Copyable &&
		len(written(table, group.Changes[0].Row)) > 0
}

// Copy is the statement and the data that bring a group in by COPY. It takes what CanCopy takes.
func Copy(table *catalog.Table, group reduction.Group) (statement string, data io.Reader) {
	var s sql
	columns := written(table, group.Changes[0].Row)
	s.write("COPY ", table.Quoted, " (").list(columns, ", ", func(i int) { s.write(table.Columns[i].Quoted) })
	return s.write(") FROM STDIN").String(), &copyReader{changes: group.Changes, columns: columns}
}

// copyReader reads changes as lines of COPY's text format.
type copyReader struct {
	changes []change.Change
	columns []int
	rest    []byte // of the buffer, not read yet
	buffer  []byte
}

// copyChunk is how much is formatted at a time.
const copyChunk = 1 << 16

// Read fills p with whole or broken lines, for io.Reader.
func (r *copyReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if len(r.changes) == 0 {
			return 0, io.EOF
		}
		r.fill()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *copyReader) fill() {
	r.buffer = r.buffer[:0]
	for len(r.changes) > 0 && len(r.buffer) < copyChunk {
		for n, i := range r.columns {
			if n > 0 {
				r.buffer = append(r.buffer, '\t')
			}
			r.buffer = appendCell(r.buffer, r.changes[0].Row[i])
		}
		r.buffer = append(r.buffer, '\n')
		r.changes = r.changes[1:]
	}
	r.rest = r.buffer
}

// appendCell appends a cell as COPY's text format has it.
func appendCell(to []byte, value change.Value) []byte {
	if value.IsNull() || value.IsMissing() {
		return append(to, `\N`...)
	}
	text := value.Bytes()
	start := 0
	for i, c := range text {
		if escaped := copyEscape(c); escaped != 0 {
			to = append(append(to, text[start:i]...), '\\', escaped)
			start = i + 1
		}
	}
	return append(to, text[start:]...)
}

// copyEscape is what stands behind a backslash for a byte that cannot stand for itself, 0 for all others.
func copyEscape(c byte) byte {
	switch c {
	case '\\':
		return '\\'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}
