package census_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/verify/census"
)

const header = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// row is a row's fields. Nil is NULL.
type row [][]byte

// stream is rows in COPY's binary form, written as its documentation says.
func stream(rows ...row) []byte {
	out := []byte(header)
	for _, r := range rows {
		out = binary.BigEndian.AppendUint16(out, uint16(count(r))) //nolint:gosec // of a test
		for _, field := range r {
			if field == nil {
				out = append(out, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			out = append(binary.BigEndian.AppendUint32(out, count(field)), field...)
		}
	}
	return append(out, 0xff, 0xff)
}

// columns are so many of a type that every database has.
func columns(n int) []body.Column {
	return slices.Repeat([]body.Column{{Name: "c", Type: "bytea", OID: 17}}, n)
}

// tally gives the digest of a stream that comes in parts of such sizes, over and over.
func tally(of []body.Column, content []byte, sizes ...int) (census.Digest, error) {
	t := census.NewTally(of)
	for i := 0; len(content) > 0; i++ {
		n := len(content)
		if len(sizes) > 0 {
			n = min(n, sizes[i%len(sizes)])
		}
		if _, err := t.Write(content[:n]); err != nil {
			return census.Digest{}, err
		}
		content = content[n:]
	}
	return t.Digest()
}

func mustTally(tb testing.TB, of []body.Column, rows ...row) census.Digest {
	tb.Helper()
	d, err := tally(of, stream(rows...))
	if err != nil {
		tb.Fatal(fault.Line(err))
	}
	return d
}

func rowsOf(n int) *rapid.Generator[[]row] {
	field := rapid.Custom(func(t *rapid.T) []byte {
		switch {
		case rapid.IntRange(0, 4).Draw(t, "null") == 0:
			return nil
		case rapid.Bool().Draw(t, "array"):
			return array(rapid.Uint32Range(16000, 17000).Draw(t, "of"), rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 5), 1, 4).Draw(t, "elements")...)
		}
		return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value")...)
	})
	return rapid.SliceOfN(rapid.Map(rapid.SliceOfN(field, n, n), func(fields [][]byte) row { return fields }), 0, 8)
}

func TestTally(t *testing.T) {
	t.Parallel()
	t.Run("IsTheSameHoweverTheStreamIsCut", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 4).Draw(t, "columns")
			of := columns(n)
			for i := range of {
				of[i].OID = rapid.SampledFrom([]uint32{17, 20000}).Draw(t, "type")
			}
			rows := rowsOf(n).Draw(t, "rows")
			whole, err := tally(of, stream(rows...))
			if err != nil || whole.Rows != int64(len(rows)) {
				t.Fatalf("got %v, %v of %d rows", whole, err, len(rows))
			}
			cut, err := tally(of, stream(rows...), rapid.SliceOfN(rapid.IntRange(1, 40), 1, 5).Draw(t, "sizes")...)
			if err != nil || cut != whole {
				t.Errorf("cut %v, %v, whole %v", cut, err, whole)
			}
		})
	})
	t.Run("ForgetsTheOrderOfRowsAndNothingElse", func(t *testing.T) {
		t.Parallel()
		a, b, c := row{[]byte("a"), nil}, row{[]byte("b"), []byte("x")}, row{[]byte("c"), []byte("x")}
		want := mustTally(t, columns(2), a, b, c)
		if got := mustTally(t, columns(2), c, a, b); got != want {
			t.Errorf("got %v in another order, want %v", got, want)
		}
		if got := mustTally(t, columns(2), c).Plus(mustTally(t, columns(2), a, b)); got != want {
			t.Errorf("got %v in two parts, want %v", got, want)
		}
		for name, other := range map[string][]row{
			"ARowTwice":            {a, b, c, c},
			"ARowTwiceForAnother":  {a, b, b},
			"ARowLess":             {a, b},
			"NullForEmpty":         {{[]byte("a"), []byte{}}, b, c},
			"FieldsChangedRound":   {{nil, []byte("a")}, b, c},
			"AByteInAnotherColumn": {a, {[]byte("bx"), []byte("")}, c},
			"ValuesChangedBetween": {a, {[]byte("c"), []byte("x")}, {[]byte("b"), []byte("y")}},
		} {
			if got := mustTally(t, columns(2), other...); got == want {
				t.Errorf("%s: got the same digest %v", name, got)
			}
		}
		if pair := mustTally(t, columns(2), a, a); pair.Sum == (census.Digest{}).Sum {
			t.Error("two equal rows are none")
		}
	})
	t.Run("RefusesWhatIsNotWhole", func(t *testing.T) {
		t.Parallel()
		whole := stream(row{[]byte("first"), nil}, row{nil, []byte("second")})
		for length := range whole {
			for _, sizes := range [][]int{nil, {1}, {7}} {
				if got, err := tally(columns(2), whole[:length], sizes...); !fault.Is(err, fault.Corrupt) {
					t.Errorf("of %d bytes: got %v, %v, want corrupt", length, got, err)
				}
			}
		}
	})
	t.Run("RefusesAnotherForm", func(t *testing.T) {
		t.Parallel()
		flags := stream()
		flags[14] = 1
		extended := stream()
		extended[18] = 4
		for name, content := range map[string][]byte{
			"Text": []byte("1\tone\n2\ttwo\n3\tthree\n"), "Flags": flags, "AnExtension": extended, "MoreAfterTheEnd": append(stream(), 0),
			"AnotherEnd": append(stream(), 0xff, 0xff), "FewerFields": stream(row{nil}), "MoreFields": stream(row{nil, nil, nil}),
			"ANegativeCount": []byte(header + "\xff\xfe"), "ANegativeLength": []byte(header + "\x00\x02\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff"),
		} {
			for _, sizes := range [][]int{nil, {1}} {
				if got, err := tally(columns(2), content, sizes...); !fault.Is(err, fault.Corrupt) {
					t.Errorf("%s: got %v, %v, want corrupt", name, got, err)
				}
			}
		}
	})
	t.Run("StaysFailed", func(t *testing.T) {
		t.Parallel()
		tallied := census.NewTally(columns(1))
		_, _ = tallied.Write([]byte("no"))
		if n, err := tallied.Write(stream()); n != 0 || !fault.Is(err, fault.Corrupt) {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

// endless gives a row whose one value has so many bytes.
func endless(size int64) io.Reader {
	front := binary.BigEndian.AppendUint32([]byte(header+"\x00\x01"), uint32(size)) //nolint:gosec // of a test
	return io.MultiReader(bytes.NewReader(front), io.LimitReader(zeroes{}, size), bytes.NewReader([]byte{0xff, 0xff}))
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A value of 200 MB passes through; of what a user's type holds at most MaxMasked is kept. Allocations are of the whole process,
// so this test stands alone.
func TestTallyHoldsNoValue(t *testing.T) {
	for of, most := range map[uint32]uint64{17: 1 << 20, 20000: 1 << 20} {
		counted := columns(1)
		counted[0].OID = of
		tallied := census.NewTally(counted)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := io.CopyBuffer(struct{ io.Writer }{tallied}, endless(200_000_000), make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if d, err := tallied.Digest(); err != nil || d.Rows != 1 {
			t.Errorf("got %v, %v", d, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("type %d: %d bytes were allocated, want at most %d", of, took, most)
		}
	}
}

func FuzzTally(f *testing.F) {
	f.Add(stream(row{[]byte("a"), nil}), 2, uint32(17))
	f.Add(stream(row{array(16500, []byte("x")), row4(16500, []byte("y"))}), 2, uint32(16500))
	f.Fuzz(func(t *testing.T, content []byte, n int, of uint32) {
		shape := columns(max(0, min(n, 100)))
		for i := range shape {
			shape[i].OID = of
		}
		kept := bytes.Clone(content)
		whole, err := tally(shape, content)
		cut, errCut := tally(shape, content, 1, 3, 20)
		if !bytes.Equal(kept, content) {
			t.Error("the caller's bytes were changed")
		}
		if (err == nil) != (errCut == nil) || err == nil && whole != cut {
			t.Errorf("whole %v, %v; cut %v, %v", whole, err, cut, errCut)
		}
		if err != nil && !errors.As(err, new(*fault.Error)) {
			t.Errorf("%v has no class", err)
		}
	})
}

func BenchmarkTally(b *testing.B) {
	rows := make([]row, 10_000)
	for i := range rows {
		rows[i] = row{binary.BigEndian.AppendUint64(nil, uint64(i)), bytes.Repeat([]byte{byte(i)}, 180)}
	}
	content := stream(rows...)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, err := tally(columns(2), content, 256<<10); err != nil {
			b.Fatal(err)
		}
	}
}
