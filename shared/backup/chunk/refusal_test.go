package chunk_test

import (
	"errors"
	"testing"

	"tidemark/shared/backup/backuptest"
	"tidemark/shared/backup/chunk"
	"tidemark/shared/fault"
)

func aStream() []byte {
	return backuptest.CopyOf([][]byte{[]byte("one"), nil}, [][]byte{[]byte("two"), {}}, [][]byte{})
}

func TestCutterRefusesAStreamThatIsCutShort(t *testing.T) {
	t.Parallel()
	whole := aStream()
	for n := range whole {
		_, err := cut(whole[:n], noLimit, 5, 3)
		if !errors.Is(err, chunk.ErrCutShort) || !fault.Is(err, fault.Retryable) {
			t.Errorf("%d of %d bytes: got %v, want chunk.ErrCutShort", n, len(whole), err)
		}
	}
}

func TestCutterRefusesAnotherForm(t *testing.T) {
	t.Parallel()
	header := backuptest.CopyHeader
	flags := []byte(header)
	flags[12] = 1 // rows with oids
	for name, stream := range map[string]string{
		"Text":             "1\tone\n2\ttwo\n\\.\n",
		"TextOfAFewBytes":  "1\t",
		"Flags":            string(flags) + backuptest.CopyTrailer,
		"NegativeFields":   header + "\xff\xfe",
		"NegativeLength":   header + "\x00\x01\xff\xff\xff\xfe",
		"ARowAfterTheEnd":  string(aStream()) + "\x00\x00",
		"AByteAfterTheEnd": string(aStream()) + "\x00",
		"TheEndTwice":      string(aStream()) + backuptest.CopyTrailer,
		"AnotherStream":    string(aStream()) + string(aStream()),
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if _, err := cut([]byte(stream), noLimit, 1<<20, size); !fault.Is(err, fault.Bug) {
					t.Errorf("in parts of %d: got %v, want a refusal of class bug", size, err)
				}
			})
		}
	}
}

// A row that was lost on its way must not be missing from a stream that then ends as it should.
func TestCutterStaysFailed(t *testing.T) {
	t.Parallel()
	into := &full{}
	cutter := chunk.New(into, 1)
	stream := aStream()
	for _, part := range [][]byte{stream[:40], stream[40:]} {
		if n, err := cutter.Write(part); err == nil && n != len(part) {
			t.Fatalf("got %d of %d bytes and no error", n, len(part))
		}
	}
	if err := cutter.Close(); !errors.Is(err, errFull) {
		t.Errorf("got %v, want what the sink returned", err)
	}
	if into.calls != 1 {
		t.Errorf("got %d chunks, want none after the failure", into.calls)
	}
}

var errFull = errors.New("the store is full")

// full is a sink that loses its first chunk.
type full struct {
	discard

	calls int
}

func (f *full) Finish(int64) error {
	if f.calls++; f.calls == 1 {
		return errFull
	}
	return nil
}
