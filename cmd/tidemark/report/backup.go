package report

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"tidemark/shared/archive/layout"
	"tidemark/shared/backup"
)

// Backup is what a backup made.
type Backup struct {
	backup.Result

	Places int // buckets that should have it
	Took   time.Duration
}

// Print prints it for a screen.
func (b Backup) Print(out io.Writer) error {
	var page bytes.Buffer
	fmt.Fprintf(&page, "manifest %s is listed in %d of %s\n", b.ID, b.Copies, Count(b.Places, "bucket"))
	fmt.Fprintf(&page, "%s, %s, in %s\n", Count(b.Tables, "table"), Count(b.Rows, "row"), b.Took.Round(time.Millisecond))
	fmt.Fprintf(&page, "%s stored, %s; %d were there already\n", objects(b.Progress.Stored), Size(b.Progress.StoredBytes), b.Progress.Reused)
	for _, warning := range b.Warnings {
		fmt.Fprintf(&page, "warning: %s\n", OneLine(warning))
	}
	_, err := out.Write(page.Bytes())
	return err
}

// PrintJSON prints it for programs.
func (b Backup) PrintJSON(out io.Writer) error {
	return WriteJSON(out, struct {
		Manifest    string   `json:"manifest"`
		Run         string   `json:"run"`
		Key         string   `json:"key"`
		Copies      int      `json:"copies"`
		Buckets     int      `json:"buckets"`
		Tables      int      `json:"tables"`
		Rows        int64    `json:"rows"`
		Stored      int      `json:"objects_stored"`
		Reused      int      `json:"objects_reused"`
		StoredBytes int64    `json:"stored_bytes"`
		Seconds     float64  `json:"seconds"`
		Warnings    []string `json:"warnings"`
	}{
		fmt.Sprintf("%s/%d", b.ID.Lineage, b.ID.Seq), b.ID.Run.String(), layout.Manifest(b.ID), b.Copies, b.Places, b.Tables, b.Rows,
		b.Progress.Stored, b.Progress.Reused, b.Progress.StoredBytes, b.Took.Seconds(), append([]string{}, b.Warnings...),
	})
}
