package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// lines prints the events of in as go test does and judges them. Only a run in which everything passed is kept in save,
// so whoever finds that file reads a whole and green run.
func lines(tree *os.Root, in io.Reader, out io.Writer, save string) (err error) {
	keep := io.Discard
	if save != "" {
		draft, openErr := openDraft(tree, save)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, draft.finish(err == nil)) }()
		keep = draft
	}
	seen := newTranscript(out)
	err = eachEvent(in, func(e event, raw []byte) error {
		if _, err := keep.Write(raw); err != nil {
			return fmt.Errorf("save events: %w", err)
		}
		return seen.add(e)
	})
	return errors.Join(err, seen.close())
}

// draft is a file that gets its name only when it is complete.
type draft struct {
	*bufio.Writer
	tree *os.Root
	file *os.File
	name string
}

// draftSuffix marks what is being written.
const draftSuffix = ".draft"

// openDraft removes what an earlier run left under name: a failed run leaves nothing to be taken for its result.
func openDraft(tree *os.Root, name string) (*draft, error) {
	if err := tree.MkdirAll(path.Dir(name), 0o750); err != nil {
		return nil, fmt.Errorf("save events: %w", err)
	}
	if err := tree.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("save events: %w", err)
	}
	file, err := tree.Create(name + draftSuffix)
	if err != nil {
		return nil, fmt.Errorf("save events: %w", err)
	}
	return &draft{Writer: bufio.NewWriter(file), tree: tree, file: file, name: name}, nil
}

// finish gives the file its name, or removes it.
func (d *draft) finish(complete bool) error {
	err := errors.Join(d.Flush(), d.file.Close())
	if err == nil && complete {
		err = d.tree.Rename(d.name+draftSuffix, d.name)
	} else {
		err = errors.Join(err, d.tree.Remove(d.name+draftSuffix))
	}
	if err != nil {
		return fmt.Errorf("save events: %w", err)
	}
	return nil
}
