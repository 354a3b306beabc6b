package listing

import (
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// Difference is what changed from one manifest to another, both of which were read.
type Difference struct{ From, To Manifest }

// tableChange is a table of either manifest. Rows that are not there are none.
type tableChange struct {
	name            body.Name
	before, after   bool // whether it is there
	rows, rowsAfter int64
	fresh           int64 // stored bytes of chunks that the first manifest does not have
}

func (d Difference) tables() (changed []tableChange, same int) {
	had, old := d.known(), map[body.Name]body.Table{}
	for _, t := range d.From.Body.Tables {
		old[t.Name] = t
	}
	for _, t := range d.To.Body.Tables {
		before, was := old[t.Name]
		delete(old, t.Name)
		change := tableChange{name: t.Name, before: was, after: true, rows: before.Rows, rowsAfter: t.Rows}
		for _, c := range t.Chunks {
			if !had[c.Object.Digest] {
				change.fresh += c.Object.Size
			}
		}
		if was && change.rows == change.rowsAfter && change.fresh == 0 {
			same++
			continue
		}
		changed = append(changed, change)
	}
	for _, t := range d.From.Body.Tables {
		if _, gone := old[t.Name]; gone {
			changed = append(changed, tableChange{name: t.Name, before: true, rows: t.Rows})
		}
	}
	return changed, same
}

func (d Difference) known() map[manifest.Digest]bool {
	had := map[manifest.Digest]bool{}
	for _, object := range d.From.Objects {
		had[object.Digest] = true
	}
	return had
}

// objectChange is objects of either manifest, by number and stored bytes.
type objectChange struct{ fresh, shared, gone, freshBytes, sharedBytes, goneBytes int64 }

func (d Difference) objects() (c objectChange) {
	had := d.known()
	for _, object := range d.To.Objects {
		if had[object.Digest] {
			delete(had, object.Digest)
			c.shared, c.sharedBytes = c.shared+1, c.sharedBytes+object.Size
		} else {
			c.fresh, c.freshBytes = c.fresh+1, c.freshBytes+object.Size
		}
	}
	for _, object := range d.From.Objects {
		if had[object.Digest] {
			c.gone, c.goneBytes = c.gone+1, c.goneBytes+object.Size
		}
	}
	return c
}
