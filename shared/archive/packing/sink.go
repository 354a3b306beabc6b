package packing

import (
	"hash"

	"tidemark/shared/manifest"
)

// smallObject is how much memory a sink takes first. Growing on from there in steps would hold old and new memory at
// once, so an object that outgrows it gets the memory of the largest object, of which the system backs what is touched.
const smallObject = 1 << 20

// sink holds and hashes the stored bytes of one object, and never more than an object may have.
type sink struct {
	content []byte
	spare   [][]byte // memory of objects that are over
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
	if last := len(s.spare) - 1; s.content == nil && last >= 0 {
		s.content, s.spare = s.spare[last], s.spare[:last]
	}
	s.content = s.content[:0]
	s.sum.Reset()
}

// give leaves the content to the caller.
func (s *sink) give() []byte {
	content := s.content
	s.content = nil
	return content
}

func (s *sink) take(content []byte) {
	if cap(content) > 0 {
		s.spare = append(s.spare, content[:0])
	}
}

// counter counts what it forgets.
type counter int64

// Write forgets.
func (c *counter) Write(content []byte) (int, error) {
	*c += counter(len(content))
	return len(content), nil
}
