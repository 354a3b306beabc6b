package packing

import (
	"hash"
	"io"

	"tidemark/shared/manifest"
)

// smallObject is how much memory a sink takes first. Growing on from there in steps would hold old and new memory at
// once, so an object that outgrows it gets the memory of the largest object, of which the system backs what is touched.
const smallObject = 1 << 20

// sink holds and hashes the stored bytes of one object, and never more than an object may have.
type sink struct {
	content []byte
	sum     hash.Hash
}

// Write takes all of stored or, when it would be too much, nothing.
func (s *sink) Write(stored []byte) (int, error) {
	size := len(s.content) + len(stored)
	if size > maxStored {
		return 0, ErrTooLarge
	}
	if size > cap(s.content) {
		capacity := smallObject
		if size > smallObject {
			capacity = manifest.MaxObject
		}
		s.content = append(make([]byte, 0, capacity), s.content...)
	}
	s.content = append(s.content, stored...)
	s.sum.Write(stored)
	return len(stored), nil
}

func (s *sink) reset() {
	s.content = s.content[:0]
	s.sum.Reset()
}

// counter counts what it passes on.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(content []byte) (int, error) {
	n, err := c.to.Write(content)
	c.n += int64(n)
	return n, err
}
