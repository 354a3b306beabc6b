package backup

import (
	"context"
	"slices"

	"tidemark/shared/manifest/body"
)

// part is a range of one table that one reader reads at a time.
type part struct {
	table int // its place among the content's tables
	at    int // its place among the table's parts
	stretch
	bytes int64 // about
}

// stretch is a range that is read at a time, and the size at which a chunk of it is cut.
type stretch struct {
	Range
	cut int64
}

const (
	pageSize  = 8 << 10
	mostParts = 1 << 16
	// In chunks: up to which size a table that was in order stays so, whatever that costs.
	staysOrdered = 2
)

// planTable says in which parts a table is read. A table that was in order before stays in order, so that its chunks stay
// what they are; but not one that has grown out of what its order may cost. By its pages, too, an unchanged table has unchanged
// chunks, and one that rows are added to has them up to where rows were added: at random keys, no range of keys would be spared.
func planTable(ctx context.Context, reader Reader, t *Table, before *body.Table, wanted int64) ([]stretch, error) {
	switch {
	case len(t.Key) > 0 && before != nil && comparable(t.Table, *before) && (t.Ordered || t.Bytes <= staysOrdered*wanted):
		return carryOver(before.Chunks, wanted), nil
	case len(t.Key) > 0 && t.Ordered:
		bounds, err := splitTable(ctx, reader, *t, wanted)
		if err != nil {
			return nil, err
		}
		return tile(bounds, wanted), nil
	}
	t.Key, t.Collations = []string{}, nil // read by its pages: nothing orders its chunks
	return pages(t.Pages, wanted), nil
}

// comparable says whether the bounds of an earlier manifest order this table too: the same key of the same types, under the
// same rules of comparison. Of a generated column no type is known, and bounds of another type would order nothing.
func comparable(now, before body.Table) bool {
	types := keyTypes(now)
	return len(before.Chunks) > 0 && slices.Equal(now.Key, before.Key) && slices.Equal(now.Collations, before.Collations) &&
		!slices.Contains(types, "") && slices.Equal(types, keyTypes(before))
}

// keyTypes are the types of the key's columns, empty where a column is not among those that are read.
func keyTypes(t body.Table) []string {
	types := make([]string, len(t.Key))
	for _, c := range t.Columns {
		if at := slices.Index(t.Key, c.Name); at >= 0 {
			types[at] = c.Type
		}
	}
	return types
}

// carryOver gives the ranges of the chunks before. Neighbours that shrank so far that together they are half a chunk are
// read as one.
func carryOver(chunks []body.Chunk, wanted int64) []stretch {
	var ranges []stretch
	var size int64
	for _, c := range chunks {
		last := len(ranges) - 1
		if last >= 0 && size+c.Object.PlainSize <= wanted/2 {
			size += c.Object.PlainSize
		} else {
			size, last, ranges = c.Object.PlainSize, last+1, append(ranges, stretch{Range: Range{From: c.From}})
		}
		ranges[last].Until, ranges[last].cut = c.Until, cutAt(c.Until, size, wanted)
	}
	return ranges
}

// cutAt is the size at which a chunk of a range is cut that had this size before, 0 when none was. A range is let grow before
// it is cut: each that had the wanted size and has grown by a row would leave a chunk of that row alone. At its end a table
// grows for good, and what is cut off there stays as it is.
func cutAt(until []string, size, wanted int64) int64 {
	if until == nil || size > wanted*3/2 {
		return wanted
	}
	return 2 * wanted
}

func splitTable(ctx context.Context, reader Reader, t Table, wanted int64) ([][]string, error) {
	parts := min(t.Bytes/wanted, mostParts)
	if parts < 2 {
		return nil, nil
	}
	return reader.Split(ctx, t, int(parts))
}

// tile makes ranges of the bounds between them.
func tile(bounds [][]string, wanted int64) []stretch {
	ranges := make([]stretch, 0, len(bounds)+1)
	var from []string
	for _, until := range append(bounds, nil) {
		ranges = append(ranges, stretch{Range{From: from, Until: until}, cutAt(until, 0, wanted)})
		from = until
	}
	return ranges
}

// pages makes ranges of a table's pages. The last is open: the table may be larger than was said. Each is as many pages as
// the one before, so that a range stays what it is while the table grows, and mostly is one chunk.
func pages(all, wanted int64) []stretch {
	var ranges []stretch
	first, each := int64(0), max(wanted/pageSize, 1)
	for ; first+each < all; first += each {
		ranges = append(ranges, stretch{Range{FirstPage: first, UntilPage: first + each}, 2 * wanted})
	}
	return append(ranges, stretch{Range{FirstPage: first}, 2 * wanted})
}
