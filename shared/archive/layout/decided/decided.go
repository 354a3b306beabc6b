// Package decided owns where operators' decisions about the log stand in an archive: their keys, by the life in which each was
// taken and its number.
//
// Reading a key is the exact inverse of making it. It refuses keys that no release made. No I/O, no state.
package decided

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark/shared/position"
)

// Folder holds them.
const Folder = "decisions/"

// Key is the key of the nth decision, taken in that life.
func Key(lineage position.Lineage, n int64) string {
	return fmt.Sprintf("%s%010d/%010d.json", Folder, lineage, n)
}

// Parse reads a key.
func Parse(key string) (lineage position.Lineage, n int64, ok bool) {
	folder, name, _ := strings.Cut(strings.TrimPrefix(key, Folder), "/")
	life, err := strconv.ParseInt(folder, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	if n, err = strconv.ParseInt(strings.TrimSuffix(name, ".json"), 10, 64); err != nil {
		return 0, 0, false
	}
	lineage = position.Lineage(life)
	return lineage, n, n > 0 && lineage.Validate() == nil && key == Key(lineage, n)
}
