package report

import (
	"bytes"
	"fmt"
	"io"

	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/mirror"
)

// Copying is what a copying from one bucket to another did.
type Copying struct {
	From, To string
	mirror.Mended
	Warnings []string
}

// copyJSON is the report's form for programs. Its names stay.
type copyJSON struct {
	From      string       `json:"from"`
	To        string       `json:"to"`
	Copied    []string     `json:"copied"`
	Already   []string     `json:"already"`
	Withdrawn []string     `json:"withdrawn"`
	Failed    []failedJSON `json:"failed"`
	Warnings  []string     `json:"warnings"`
}

type failedJSON struct {
	Manifest string `json:"manifest"`
	Reason   string `json:"reason"`
}

// Print prints it for a screen.
func (c Copying) Print(out io.Writer) error {
	var b bytes.Buffer
	for _, id := range c.Copied {
		fmt.Fprintf(&b, "copied %s\n", id)
	}
	for _, failed := range c.Failed {
		fmt.Fprintf(&b, "not copied %s: %s\n", failed.ID, OneLine(failed.Reason.Error()))
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", OneLine(warning))
	}
	fmt.Fprintf(&b, "%s to %s: %d copied, %d there already, %d withdrawn and left out, %d failed\n", c.From, c.To, len(c.Copied),
		len(c.Already), len(c.Withdrawn), len(c.Failed))
	_, err := out.Write(b.Bytes())
	return err
}

// PrintJSON prints it for programs.
func (c Copying) PrintJSON(out io.Writer) error {
	form := copyJSON{
		From: c.From, To: c.To, Copied: texts(c.Copied), Already: texts(c.Already), Withdrawn: texts(c.Withdrawn), Failed: []failedJSON{},
		Warnings: append([]string{}, c.Warnings...),
	}
	for _, failed := range c.Failed {
		form.Failed = append(form.Failed, failedJSON{failed.ID.String(), OneLine(failed.Reason.Error())})
	}
	return WriteJSON(out, form)
}

func texts(ids []layout.ID) []string {
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		list = append(list, id.String())
	}
	return list
}
