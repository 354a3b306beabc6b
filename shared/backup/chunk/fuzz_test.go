package chunk_test

import (
	"bytes"
	"testing"

	"tidemark/shared/backup/backuptest"
	"tidemark/shared/fault"
)

// FuzzCutter gives a cutter whatever comes. What it takes is a COPY, in any parts, and what it refuses it refuses by class.
func FuzzCutter(f *testing.F) {
	header := backuptest.CopyHeader
	for _, stream := range [][]byte{
		aStream(), backuptest.CopyOf(), backuptest.CopyOf([][]byte{bytes.Repeat([]byte("x"), 300<<10)}),
		{},
		[]byte(header),
		[]byte(header + "\xff\xfe"), []byte(header + "\x7f\xff"), []byte(header + "\x00\x01\x7f\xff\xff\xff"),
		[]byte(header + "\x00\x01\xff\xff\xff\xfe"), append(aStream(), 0),
	} {
		f.Add(stream, 3, 20)
		f.Add(stream, 1<<16, 1)
	}
	f.Fuzz(func(t *testing.T, stream []byte, size, wanted int) {
		pieces, err := cut(stream, noLimit, wanted, size)
		rows, unread := backuptest.ReadCopy(stream)
		if (err == nil) != (unread == nil) {
			t.Fatalf("got %v, want as the reader says: %v", err, unread)
		}
		if err != nil {
			if class := fault.ClassOf(err); class != fault.Bug && class != fault.Retryable {
				t.Fatalf("got class %s of %v", class, err)
			}
			return
		}
		checkPieces(t, pieces, rows, max(wanted, 1), noLimit)
	})
}
