package verify_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/verify"
	"tidemark/shared/verify/census"
)

// store is a bucket in memory that remembers what it was asked.
type store struct {
	objects map[string][]byte
	failed  error // of every call
	digests bool  // it keeps checksums

	mu          sync.Mutex
	asked, read []string
}

func (s *store) find(key string, calls *[]string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*calls = append(*calls, key)
	content, there := s.objects[key]
	switch {
	case s.failed != nil:
		return nil, s.failed
	case !there:
		return nil, fault.New(fault.Corrupt, "it is not there")
	}
	return content, nil
}

func (s *store) Stat(_ context.Context, key string) (info verify.Info, err error) {
	content, err := s.find(key, &s.asked)
	if s.digests {
		info.Digest = manifest.DigestOf(content)
	}
	info.Size = int64(len(content))
	return info, err
}

func (s *store) Get(_ context.Context, key string, limit int64) ([]byte, error) {
	content, err := s.find(key, &s.read)
	if int64(len(content)) > limit {
		return nil, fault.New(fault.Corrupt, "it is larger")
	}
	return content, err
}

// unpacker takes one byte off and believes everything: what is wrong must be found by the check.
type unpacker struct{ failed error }

func (u unpacker) Open(stored []byte, _ manifest.Object) (io.Reader, error) {
	return bytes.NewReader(stored[1:]), u.failed
}

func objectKey(d manifest.Digest) string { return "objects/" + string(d) }

// world is a manifest in two buckets.
type world struct {
	subject verify.Subject
	places  []*store
	options verify.Options
}

// put stores plain bytes in both and gives their object.
func (w *world) put(plain []byte) manifest.Object {
	stored := append([]byte{'z'}, plain...)
	o := manifest.Object{Digest: manifest.DigestOf(stored), Size: int64(len(stored)), Plain: manifest.DigestOf(plain), PlainSize: int64(len(plain))}
	for _, place := range w.places {
		place.objects[objectKey(o.Digest)] = stored
	}
	return o
}

const statementKey = "manifests/1"

// saved has tables of two columns whose chunks hold these rows.
func saved(tables ...[][]row) *world {
	w := &world{places: []*store{{objects: map[string][]byte{}}, {objects: map[string][]byte{}}}, options: verify.Options{
		Level: verify.Hash, NewUnpacker: func() (verify.Unpacker, error) { return unpacker{}, nil },
	}}
	for i, chunks := range tables {
		t := body.Table{Name: body.Name{Schema: "shop", Name: fmt.Sprint("secret", i+1)}, Columns: columns(2)}
		for _, rows := range chunks {
			t.Chunks = append(t.Chunks, body.Chunk{Rows: int64(len(rows)), Object: w.put(stream(rows...))})
			t.Rows += int64(len(rows))
		}
		w.subject.Body.Tables = append(w.subject.Body.Tables, t)
	}
	w.subject.Statement.Body = w.put([]byte("the body"))
	w.subject.Key, w.subject.Envelope, w.subject.ObjectKey = statementKey, []byte("the envelope"), objectKey
	for i, place := range w.places {
		place.objects[statementKey] = w.subject.Envelope
		w.subject.Places = append(w.subject.Places, verify.Place{Name: []string{"primary", "secondary"}[i], Objects: place})
	}
	return w
}

const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// row is a row's fields. Nil is NULL.
type row [][]byte

// stream is rows in COPY's binary form.
func stream(rows ...row) []byte {
	out := []byte(copyHeader)
	for _, r := range rows {
		out = binary.BigEndian.AppendUint16(out, uint16(len(r))) //nolint:gosec // of a test
		for _, field := range r {
			if field == nil {
				out = append(out, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(field))), field...) //nolint:gosec // of a test
		}
	}
	return append(out, 0xff, 0xff)
}

// columns are so many of a type that every database has.
func columns(n int) []body.Column {
	return slices.Repeat([]body.Column{{Name: "c", Type: "bytea", OID: 17}}, n)
}

func mustTally(t *testing.T, rows ...row) census.Digest {
	t.Helper()
	counted := census.NewTally(columns(2))
	if _, err := counted.Write(stream(rows...)); err != nil {
		t.Fatal(err)
	}
	d, err := counted.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func text(values ...string) row {
	var r row
	for _, v := range values {
		r = append(r, []byte(v))
	}
	return r
}

// shop is two tables and an empty one, which shares its chunk with an empty part of another.
func shop() *world {
	return saved([][]row{{text("a", "1"), {nil, []byte("2")}}, {text("b", "3")}, {}}, [][]row{{text("c", "4")}}, [][]row{{}})
}

func (w *world) check(t *testing.T) verify.Outcome {
	t.Helper()
	o, err := verify.Check(t.Context(), w.subject, w.options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	for _, p := range o.Problems {
		if strings.Contains(p.String(), "secret") {
			t.Errorf("a problem names a table: %s", p)
		}
	}
	return o
}

func TestCheck(t *testing.T) {
	t.Parallel()
	t.Run("FindsNothingWhereNothingIsWrong", func(t *testing.T) {
		t.Parallel()
		w := shop()
		o := w.check(t)
		if o.Verdict() != verify.Verified || o.Err() != nil || o.Objects != 5 || o.Copies != 10 || o.Found != 10 || o.Read != 10 || o.Rows != 4 {
			t.Errorf("got %+v", o)
		}
		want := census.Tables{}
		for i, rows := range [][]row{{text("b", "3"), {nil, []byte("2")}, text("a", "1")}, {text("c", "4")}, {}} {
			want[w.subject.Body.Tables[i].Name] = mustTally(t, rows...)
		}
		if !maps.Equal(o.Tables, want) {
			t.Errorf("got %v, want %v", o.Tables, want)
		}
		w.options.Level = verify.Files
		if o := w.check(t); o.Verdict() != verify.Verified || o.Found != 10 || o.Read != 0 || o.Tables != nil {
			t.Errorf("got %+v", o)
		}
	})
	t.Run("FindsEveryFlippedBit", func(t *testing.T) {
		t.Parallel()
		for place := range 2 {
			for key, content := range shop().places[place].objects {
				for bit := range len(content) * 8 {
					w := shop()
					flipped := bytes.Clone(content)
					flipped[bit/8] ^= 1 << (bit % 8)
					w.places[place].objects[key] = flipped
					o := w.check(t)
					if len(o.Problems) != 1 || o.Problems[0].Key != key || o.Problems[0].Place != w.subject.Places[place].Name || !fault.Is(o.Err(), fault.Corrupt) {
						t.Fatalf("bit %d of %s in place %d: got %+v", bit, key, place, o)
					}
				}
			}
		}
	})
	t.Run("NamesAllProblems", func(t *testing.T) {
		t.Parallel()
		for _, level := range []verify.Level{verify.Files, verify.Hash} {
			w := shop()
			w.options.Level, w.places[1].digests = level, true
			one, two, three := w.subject.Body.Tables[0].Chunks[0].Object, w.subject.Body.Tables[0].Chunks[1].Object, w.subject.Body.Tables[1].Chunks[0].Object
			delete(w.places[0].objects, objectKey(one.Digest))
			w.places[0].objects[objectKey(two.Digest)] = []byte("short")
			w.places[1].objects[objectKey(two.Digest)] = make([]byte, two.Size+1)
			w.places[1].objects[objectKey(three.Digest)] = make([]byte, three.Size) // of the right size, and its store knows
			delete(w.places[1].objects, statementKey)
			o := w.check(t)
			if len(o.Problems) != 5 || o.Unread != 0 || o.Found != 6 || o.Verdict() != verify.Failed {
				t.Errorf("%s: got %+v", level, o)
			}
			if p := o.Problems[slices.IndexFunc(o.Problems, func(p verify.Problem) bool { return p.Key == objectKey(one.Digest) })]; p.Table != 1 || p.Chunk != 1 {
				t.Errorf("%s: got %+v", level, p)
			}
		}
	})
}

// What a backup stored under right digests can still be no table.
func TestCheckOfAWrongBackup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		says   string
	}{
		"ATruncatedChunk": {func(w *world) {
			whole := stream(text("a", "1"), row{nil, []byte("2")})
			w.subject.Body.Tables[0].Chunks[0].Object = w.put(whole[:len(whole)-2])
		}, "without the end's mark"},
		"AChunkCutInARow": {func(w *world) {
			w.subject.Body.Tables[0].Chunks[0].Object = w.put(stream(text("a", "1"), text("b", "2"))[:40])
		}, "without the end's mark"},
		"ARowLess": {func(w *world) {
			w.subject.Body.Tables[0].Chunks[0].Object = w.put(stream(text("a", "1")))
		}, "it has 1 rows, want 2"},
		"AColumnLess": {func(w *world) { w.subject.Body.Tables[0].Columns = columns(1) }, "has 2 fields, want 1"},
		"AnotherPlainDigest": {func(w *world) {
			w.subject.Body.Tables[0].Chunks[0].Object.Plain = manifest.DigestOf([]byte("other"))
		}, "plain bytes of digest"},
		"ASumThatIsWrong": {func(w *world) { w.subject.Body.Tables[0].Rows = 7 }, "its chunks have 3 rows, and it 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shop()
			c.change(w)
			o := w.check(t)
			if len(o.Problems) == 0 || !strings.Contains(o.Problems[0].What, c.says) || o.Problems[0].Table != 1 {
				t.Fatalf("got %+v, want %q", o.Problems, c.says)
			}
			if _, told := o.Tables[w.subject.Body.Tables[0].Name]; told && name != "ASumThatIsWrong" {
				t.Error("the table has a digest all the same")
			}
		})
	}
	t.Run("AnEmptiedTableIsWarnedOf", func(t *testing.T) {
		t.Parallel()
		w := shop()
		w.subject.Before = &body.Body{Tables: []body.Table{{Name: w.subject.Body.Tables[2].Name, Rows: 200}, {Name: w.subject.Body.Tables[0].Name, Rows: 9}}}
		if o := w.check(t); len(o.Warnings) != 1 || o.Warnings[0] != (verify.Warning{Table: 3, Had: 200}) || o.Verdict() != verify.Verified {
			t.Errorf("got %+v", o)
		}
	})
}

// A store that does not answer is no proof of anything.
func TestCheckOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	many := make([][]row, 100)
	for i := range many {
		many[i] = []row{text(fmt.Sprint(i), "x")}
	}
	for _, class := range []fault.Class{fault.Retryable, fault.Misconfigured} {
		w := saved(many)
		w.options.Jobs = 1
		w.places[1].failed = fault.New(class, "no")
		o := w.check(t)
		if o.Verdict() != verify.Unfinished || o.Unread != 102 || o.Read != 101 || !fault.Is(o.Err(), class) || len(o.Problems) > 0 {
			t.Errorf("%s: got %+v, %v", class, o, o.Err())
		}
		if calls := len(w.places[1].read) + len(w.places[1].asked); calls != 8 {
			t.Errorf("%s: the store was asked %d times, want to be left alone after 8", class, calls)
		}
		delete(w.places[0].objects, objectKey(w.subject.Statement.Body.Digest))
		if o := w.check(t); o.Verdict() != verify.Failed {
			t.Errorf("%s: damage is %s", class, o.Verdict())
		}
	}
	w := shop()
	w.options.NewUnpacker = func() (verify.Unpacker, error) { return unpacker{fault.New(fault.Misconfigured, "no identity")}, nil }
	if o := w.check(t); o.Verdict() != verify.Unfinished || o.Unread != 5 || o.Read != 10 || len(o.Tables) > 0 {
		t.Errorf("got %+v", o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w = saved(many)
	w.options.OnProgress = func(done, _ int) {
		if done == 3 {
			cancel()
		}
	}
	if _, err := verify.Check(ctx, w.subject, w.options); !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v of one that was interrupted", err)
	}
	for _, o := range []verify.Options{{Level: verify.Data}, {}, {Level: verify.Files, Share: verify.All + 1}, {Level: verify.Files, Share: -1}} {
		if _, err := verify.Check(t.Context(), w.subject, o); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("got %v for %+v", err, o)
		}
	}
}

func TestCheckOfASample(t *testing.T) {
	t.Parallel()
	chunks := make([][]row, 99)
	for i := range chunks {
		chunks[i] = []row{text(fmt.Sprint(i), "x")}
	}
	sampled := func(share verify.Share, seed uint64) (verify.Outcome, []string) {
		w := saved(chunks)
		w.options.Share, w.options.Seed = share, seed
		o := w.check(t)
		for _, place := range w.places {
			slices.Sort(place.read)
			slices.Sort(place.asked)
			if len(place.read)+len(place.asked) != 101 || !slices.Equal(place.read, w.places[0].read) {
				t.Errorf("%d objects were read and %d asked for, want each once", len(place.read), len(place.asked))
			}
			if !slices.Contains(place.read, objectKey(w.subject.Statement.Body.Digest)) {
				t.Error("the body was not read")
			}
		}
		return o, w.places[0].read
	}
	o, read := sampled(50_000, 7)
	if len(read) != 1+5 || o.Read != 2*5 || o.Found != 200 || o.Copies != 200 || o.Rows != 4 || o.Share != 50_000 || o.Seed != 7 || len(o.Tables) > 0 {
		t.Errorf("%d keys were read: %+v", len(read), o)
	}
	if _, again := sampled(50_000, 7); !slices.Equal(again, read) {
		t.Error("the same seed chose other objects")
	}
	if _, other := sampled(50_000, 8); slices.Equal(other, read) {
		t.Error("another seed chose the same objects")
	}
	if _, all := sampled(verify.All, 7); len(all) != 101 {
		t.Errorf("%d keys were read of all", len(all))
	}
}
