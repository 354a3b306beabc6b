package backup

import (
	"context"
	"slices"

	"tidemark/shared/backup/chunk"
	"tidemark/shared/manifest/body"
)

// part is a range of one table that one reader reads at a time.
type part struct {
	table int // its place among the content's tables
	at    int // its place among the table's parts
	Range
	bytes int64 // about
}

const (
	pageSize = 8 << 10
	// A page range that is read at a time: enough that its start costs nothing, small enough that time can be kept.
	partPages = 8 * chunk.Wanted / pageSize
	mostParts = 1 << 16
)

// planTable says in which parts a table is read. A table that was in order before stays in order, so that its chunks stay
// what they are.
func planTable(ctx context.Context, reader Reader, t *Table, before *body.Table) ([]Range, error) {
	switch {
	case len(t.Key) > 0 && before != nil && comparable(t.Table, *before):
		return carryOver(before.Chunks), nil
	case len(t.Key) > 0 && t.Ordered:
		bounds, err := splitTable(ctx, reader, *t)
		if err != nil {
			return nil, err
		}
		return tile(bounds), nil
	}
	t.Key, t.Collations = []string{}, nil // read by its pages: nothing orders its chunks
	return pages(t.Bytes), nil
}

// comparable says whether the bounds of an earlier manifest order this table too: the same key of the same types, under the
// same rules of comparison.
func comparable(now, before body.Table) bool {
	return len(before.Chunks) > 0 && slices.Equal(now.Key, before.Key) && slices.Equal(now.Collations, before.Collations) &&
		slices.Equal(keyTypes(now), keyTypes(before))
}

func keyTypes(t body.Table) []string {
	var types []string
	for _, c := range t.Columns {
		if slices.Contains(t.Key, c.Name) {
			types = append(types, c.Type)
		}
	}
	return types
}

// carryOver gives the ranges of the chunks before. Neighbours that shrank so far that both are half a chunk are read as one.
func carryOver(chunks []body.Chunk) []Range {
	var ranges []Range
	var size int64
	for _, c := range chunks {
		if last := len(ranges) - 1; last >= 0 && size+c.Object.PlainSize <= chunk.Wanted/2 {
			ranges[last].Until = c.Until
			size += c.Object.PlainSize
			continue
		}
		ranges = append(ranges, Range{From: c.From, Until: c.Until})
		size = c.Object.PlainSize
	}
	return ranges
}

func splitTable(ctx context.Context, reader Reader, t Table) ([][]string, error) {
	parts := min(t.Bytes/chunk.Wanted, mostParts)
	if parts < 2 {
		return nil, nil
	}
	return reader.Split(ctx, t, int(parts))
}

// tile makes ranges of the bounds between them.
func tile(bounds [][]string) []Range {
	ranges := make([]Range, 0, len(bounds)+1)
	var from []string
	for _, until := range bounds {
		ranges = append(ranges, Range{From: from, Until: until})
		from = until
	}
	return append(ranges, Range{From: from})
}

// pages makes ranges of a table's pages. The last is open: the table may be larger than was said.
func pages(size int64) []Range {
	var ranges []Range
	first := int64(0)
	for ; (first+partPages)*pageSize < size; first += partPages {
		ranges = append(ranges, Range{FirstPage: first, UntilPage: first + partPages})
	}
	return append(ranges, Range{FirstPage: first})
}
