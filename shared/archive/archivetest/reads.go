package archivetest

import (
	"bytes"
	"math/rand/v2"
	"slices"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

func reads() []exercise {
	return []exercise{
		{"ReadsSpans", readsSpans},
		{"RefusesWhatIsLargerThanItMayBe", refusesWhatIsLargerThanItMayBe},
		{"RefusesSpansThatAreNone", refusesSpansThatAreNone},
		{"KeepsAnEmptyObject", keepsAnEmptyObject},
		{"KeepsAnObjectOf64MiB", keepsALargeObject},
		{"ServesManyReaders", servesManyReaders},
	}
}

func readsSpans(b *bench) {
	b.mustCreate("a", []byte("0123456789"))
	for _, test := range []struct {
		from, length int64
		want         string
	}{
		{0, 0, "0123456789"},
		{0, 1, "0"},
		{0, 10, "0123456789"},
		{3, 4, "3456"},
		{3, 0, "3456789"},
		{9, 1, "9"},
		{9, 0, "9"},
		{3, 7, "3456789"},
		{3, 8, "3456789"}, // clipped at the end
		{0, 1 << 40, "0123456789"},
		{10, 0, ""}, // from the end on there is nothing, which is no error
		{10, 1, ""},
		{11, 0, ""},
		{1 << 40, 5, ""},
	} {
		got, err := b.Read(b.context(), "a", archive.Span{From: test.from, Length: test.length, Limit: 10})
		if err != nil || string(got) != test.want {
			b.Errorf("read %d from %d on: got %q, %v, want %q", test.length, test.from, got, err, test.want)
		}
	}
}

// refusesWhatIsLargerThanItMayBe: the limit bounds what would be returned.
func refusesWhatIsLargerThanItMayBe(b *bench) {
	b.mustCreate("a", []byte("0123456789"))
	for _, test := range []struct {
		span  archive.Span
		fails bool
	}{
		{archive.Span{Limit: 10}, false},
		{archive.Span{Limit: 9}, true},
		{archive.Span{Limit: 1}, true},
		{archive.Span{From: 4, Limit: 6}, false},
		{archive.Span{From: 4, Limit: 5}, true},
		{archive.Span{Length: 3, Limit: 3}, false},
		{archive.Span{Length: 4, Limit: 3}, true},
		{archive.Span{From: 8, Length: 4, Limit: 3}, false}, // 2 bytes are left
		{archive.Span{From: 10, Limit: 1}, false},
	} {
		got, err := b.Read(b.context(), "a", test.span)
		switch {
		case test.fails:
			b.mustRefuse(err, archive.ErrTooLarge)
			if len(got) > 0 {
				b.Errorf("read %+v: got %q beside the error", test.span, got)
			}
		case err != nil:
			b.Errorf("read %+v: %v", test.span, err)
		}
	}
	_, err := b.Read(b.context(), "b", archive.Span{Limit: 1})
	b.mustRefuse(err, archive.ErrNotFound)
}

func refusesSpansThatAreNone(b *bench) {
	b.mustCreate("a", []byte("0123456789"))
	for _, span := range []archive.Span{
		{}, {Length: 1}, {Limit: -1}, {From: -1, Limit: 10}, {From: -1, Length: 1, Limit: 10}, {Length: -1, Limit: 10},
	} {
		if got, err := b.Read(b.context(), "a", span); !fault.Is(err, fault.Bug) || len(got) > 0 {
			b.Errorf("read %+v: got %q, %v of class %s, want class bug", span, got, err, fault.ClassOf(err))
		}
	}
}

func keepsAnEmptyObject(b *bench) {
	b.mustCreate("a/empty", nil)
	b.mustCreate("a/empty.too", []byte{})
	b.mustHold("a/empty", nil)
	b.mustHold("a/empty.too", nil)
	for _, span := range []archive.Span{{Limit: 1}, {Length: 5, Limit: 5}, {From: 1, Limit: 1}} {
		if got, err := b.Read(b.context(), "a/empty", span); err != nil || len(got) > 0 {
			b.Errorf("read %+v: got %q, %v, want nothing", span, got, err)
		}
	}
	b.mustRefuse(b.Create(b.context(), "a/empty", []byte("content")), archive.ErrExists)
	if keys := b.mustList("a/"); !slices.Equal(keys, []string{"a/empty", "a/empty.too"}) {
		b.Errorf("list: got %v, want both", keys)
	}
}

// noise fills n bytes that do not compress and are the same in every run.
func noise(n int) []byte {
	content := make([]byte, n)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(content) // is documented never to fail
	return content
}

func keepsALargeObject(b *bench) {
	content := noise(64 << 20)
	b.mustCreate("objects/00/large", content)
	b.mustHold("objects/00/large", content)
	span := archive.Span{From: 64<<20 - 7, Length: 100, Limit: 100}
	if got, err := b.Read(b.context(), "objects/00/large", span); err != nil || !bytes.Equal(got, content[span.From:]) {
		b.Errorf("read the end: got %x, %v, want %x", got, err, content[span.From:])
	}
	_, err := b.Read(b.context(), "objects/00/large", archive.Span{Limit: 1 << 20})
	b.mustRefuse(err, archive.ErrTooLarge)
}

func servesManyReaders(b *bench) {
	content := noise(256 << 10)
	b.mustCreate("a/b", content)
	many(128, 16, func(i int) {
		switch i % 4 {
		case 0:
			b.mustHold("a/b", content)
		case 1:
			from := int64(i) * 1000
			got, err := b.Read(b.context(), "a/b", archive.Span{From: from, Length: 1000, Limit: 1000})
			if err != nil || !bytes.Equal(got, content[from:from+1000]) {
				b.Errorf("read from %d on: got %s, %v", from, brief(got), err)
			}
		case 2:
			if _, err := b.Stat(b.context(), "a/c"); err == nil {
				b.Error("stat found what is not there")
			}
		default:
			if info, err := b.first(); err != nil {
				b.Errorf("list: %v", err)
			} else {
				b.checkInfo(info, "a/b", content)
			}
		}
	})
}

// first is the first object that is listed.
func (b *bench) first() (archive.Info, error) {
	for info, err := range b.List(b.context(), "") {
		return info, err
	}
	return archive.Info{}, archive.ErrNotFound
}
