package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Lost is one value that the wire lost: what the source had, what the target has instead, and why.
type Lost struct {
	Capture, Table, Column, Row string // Row is the text of the table's first column
	Source, Target, Reason      string // as COPY prints them
}

const lostHeader = "| capture | table | column | row | source | target | reason |"

// LostValues reads the table of lost values out of docs/formats.md.
func LostValues() ([]Lost, error) {
	path := filepath.Join(Root(), "docs", "formats.md")
	text, err := os.ReadFile(path) //nolint:gosec // a file of the repository
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(string(text), lostHeader+"\n")
	if !found {
		return nil, fmt.Errorf("%s has no table %s", path, lostHeader)
	}
	var lost []Lost
	for row := range strings.Lines(rest) {
		if !strings.HasPrefix(row, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if strings.HasPrefix(cells[0], "-") {
			continue
		}
		if len(cells) != strings.Count(lostHeader, "|")-1 {
			return nil, fmt.Errorf("%s: %q has %d cells", path, row, len(cells))
		}
		lost = append(lost, Lost{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]})
	}
	return lost, nil
}

// Difference is one cell in which a target differs from the truth without being pinned.
type Difference struct{ Table, Column, Row, Want, Got string }

// String prints the difference for a report.
func (d Difference) String() string {
	return fmt.Sprintf("%s: row %s, column %s: want %s, got %s", d.Table, d.Row, d.Column, short(d.Want), short(d.Got))
}

func short(text string) string {
	const most = 60
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q and %d bytes more", text[:most], len(text)-most)
}

// Compare holds what COPY printed of a table against its truth. It returns the differences that are not pinned and the
// pinned values that it met; a pinned value that arrived whole is a difference too.
func Compare(capture string, table Table, truth, got string, lost []Lost) (different []Difference, met []Lost) {
	want, have := rows(truth), rows(got)
	for i := range max(len(want), len(have)) {
		switch {
		case i >= len(have):
			different = append(different, Difference{table.Name, "*", want[i][0], strings.Join(want[i], "\t"), "no row"})
		case i >= len(want):
			different = append(different, Difference{table.Name, "*", have[i][0], "no row", strings.Join(have[i], "\t")})
		default:
			d, m := compareRow(capture, table, [3][]string{want[0], want[i], have[i]}, lost)
			different, met = append(different, d...), append(met, m...)
		}
	}
	return different, met
}

func rows(copied string) [][]string {
	var out [][]string
	for row := range strings.Lines(copied) {
		out = append(out, strings.Split(strings.TrimSuffix(row, "\n"), "\t"))
	}
	return out
}

// compareRow compares header, wanted row and got row, cell by cell.
func compareRow(capture string, table Table, lines [3][]string, lost []Lost) (different []Difference, met []Lost) {
	header, want, got := lines[0], lines[1], lines[2]
	if len(want) != len(got) {
		return []Difference{{table.Name, "*", want[0], strings.Join(want, "\t"), strings.Join(got, "\t")}}, nil
	}
	for c := range want {
		pin := slices.IndexFunc(lost, func(l Lost) bool {
			return l.Capture == capture && l.Table == table.Name && l.Column == header[c] && l.Row == want[0]
		})
		switch {
		case pin >= 0 && lost[pin].Source == want[c] && lost[pin].Target == got[c]:
			met = append(met, lost[pin])
		case pin >= 0 || want[c] != got[c]:
			different = append(different, Difference{table.Name, header[c], want[0], want[c], got[c]})
		}
	}
	return different, met
}
