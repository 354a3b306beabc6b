package body

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"tidemark/shared/manifest"
)

// Name is the name of a table, as the catalog has it, without quotes.
type Name struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
}

// String prints the name for a person.
func (n Name) String() string { return n.Schema + "." + n.Name }

// Table is the rows of one table, without those of its children.
type Table struct {
	Name
	Columns []Column `json:"columns"`
	// Key is the columns that order the chunks, empty when pages do. They are NOT NULL, and need not be among
	// Columns: a generated column may be part of a key.
	Key  []string `json:"key"`
	Rows int64    `json:"rows,string"`
	// Collations are the versions of the key's collations; boundaries of another version order nothing.
	Collations []string `json:"collations,omitempty"`
	Chunks     []Chunk  `json:"chunks"`
}

// Column is a column whose values stand in the chunks, in their order there.
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`              // with its modifier, qualified where its schema is none of the server's
	OID      uint32 `json:"oid"`               // of the type, in the database that was backed up
	Identity string `json:"identity,omitzero"` // always, by default
}

// Chunk is a run of a table's rows: COPY's binary form, from the first key included to the last key excluded. Nil
// bounds are open. Bounds are the key's values as PostgreSQL writes them.
type Chunk struct {
	From   []string        `json:"from,omitzero"`
	Until  []string        `json:"until,omitzero"`
	Rows   int64           `json:"rows,string"`
	Object manifest.Object `json:"object"`
}

// maxName is the longest name of the catalog in characters. PostgreSQL's own limit is 63 bytes, more where it was built
// so, and bytes of another encoding than UTF-8 become more bytes on the way.
const maxName = 255

// validateName refuses what the catalog cannot hold. It holds control characters, all but the zero byte.
func validateName(name string) error {
	if name == "" || utf8.RuneCountInString(name) > maxName || strings.Contains(name, "\x00") {
		return fmt.Errorf("name %.80q: want 1 to %d characters, none of them zero", name, maxName)
	}
	return nil
}

func (n Name) validate() error {
	if err := validateName(n.Schema); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return validateName(n.Name)
}

func (t Table) validate() error {
	if err := t.Name.validate(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range t.Columns {
		if err := c.validate(); err != nil {
			return fmt.Errorf("column %.80q: %w", c.Name, err)
		}
		if seen[c.Name] {
			return fmt.Errorf("column %q stands there twice", c.Name)
		}
		seen[c.Name] = true
	}
	for i, column := range t.Key {
		if err := validateName(column); err != nil {
			return fmt.Errorf("key: %w", err)
		}
		if slices.Contains(t.Key[:i], column) {
			return fmt.Errorf("column %q stands twice in the key", column)
		}
	}
	return t.validateChunks()
}

func (c Column) validate() error {
	if err := validateName(c.Name); err != nil {
		return err
	}
	switch {
	case c.Type == "" || strings.Contains(c.Type, "\x00"):
		return fmt.Errorf("type %.80q", c.Type)
	case c.OID == 0:
		return fmt.Errorf("type %s has no oid", c.Type)
	case !slices.Contains([]string{"", "always", "by default"}, c.Identity):
		return fmt.Errorf("identity %.80q is neither always nor by default", c.Identity)
	}
	return nil
}

// validateChunks checks that the chunks tile the table: each begins where the one before ended, the first and the
// last are open, and together they have its rows.
func (t Table) validateChunks() error {
	var rows int64
	for i, c := range t.Chunks {
		if err := t.validateChunk(i); err != nil {
			return fmt.Errorf("chunk %d of %d: %w", i+1, len(t.Chunks), err)
		}
		if c.Rows > math.MaxInt64-rows {
			return fmt.Errorf("chunk %d of %d: more rows than can be counted", i+1, len(t.Chunks))
		}
		rows += c.Rows
	}
	if rows != t.Rows {
		return fmt.Errorf("its chunks have %d rows, it %d", rows, t.Rows)
	}
	return nil
}

func (t Table) validateChunk(i int) error {
	c, isFirst, isLast := t.Chunks[i], i == 0, i == len(t.Chunks)-1
	if err := c.Object.Validate(); err != nil {
		return err
	}
	for _, value := range slices.Concat(c.From, c.Until) {
		if strings.Contains(value, "\x00") {
			return fmt.Errorf("it has a bound with a zero byte")
		}
	}
	keyed := len(t.Key) > 0
	switch {
	case c.Rows < 0:
		return fmt.Errorf("it has %d rows", c.Rows)
	case !keyed && (c.From != nil || c.Until != nil):
		return fmt.Errorf("it has bounds, and its table no key")
	case keyed && (isFirst != (c.From == nil) || isLast != (c.Until == nil)):
		return fmt.Errorf("it is open where another follows, or closed at an end of the table")
	case c.From != nil && len(c.From) != len(t.Key), c.Until != nil && len(c.Until) != len(t.Key):
		return fmt.Errorf("it has bounds of another key")
	case !isFirst && !slices.Equal(c.From, t.Chunks[i-1].Until):
		return fmt.Errorf("it does not begin where the one before ended")
	case c.From != nil && slices.Equal(c.From, c.Until):
		return fmt.Errorf("it ends where it begins")
	}
	return nil
}
