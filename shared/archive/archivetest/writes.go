package archivetest

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"tidemark/shared/archive"
)

func writes() []exercise {
	return []exercise{
		{"ReadsWhatWasCreated", readsWhatWasCreated},
		{"LetsOneOfManyWritersCreate", letsOneOfManyWritersCreate},
		{"LeavesAnExistingObjectAlone", leavesAnExistingObjectAlone},
		{"SharesNoMemoryWithCallers", sharesNoMemoryWithCallers},
		{"FindsNothingWhereNothingIs", findsNothingWhereNothingIs},
		{"DeletesOneObject", deletesOneObject},
		{"CreatesAfterADelete", createsAfterADelete},
		{"ShowsNoHalfObject", showsNoHalfObject},
	}
}

func readsWhatWasCreated(b *bench) {
	contents := map[string][]byte{
		"a.json": []byte("{}"), "objects/0a/0a1b": bytes.Repeat([]byte("0123456789"), 100_000), "objects/0a/0a1c": {0},
	}
	for key, content := range contents {
		b.mustCreate(key, content)
		b.mustHold(key, content) // at once
	}
	for key, content := range contents {
		b.mustHold(key, content)
	}
	for info, err := range b.List(b.context(), "") {
		if err != nil {
			b.Fatalf("list: %v", err)
		}
		b.checkInfo(info, info.Key, contents[info.Key])
	}
}

func letsOneOfManyWritersCreate(b *bench) {
	const key = "manifests/0000000001/contested.json"
	const writers = 32
	contents := make([][]byte, writers)
	for i := range contents {
		contents[i] = bytes.Repeat([]byte{byte(i)}, 64<<10+i)
	}
	var created, taken atomic.Int64
	var winner atomic.Int64
	ctx := b.context()
	many(writers, writers, func(i int) {
		err := b.Create(ctx, key, contents[i])
		for errors.Is(err, archive.ErrConflict) && ctx.Err() == nil {
			err = b.Create(ctx, key, contents[i])
		}
		if err == nil {
			winner.Store(int64(i))
			created.Add(1)
			return
		}
		taken.Add(1)
		b.mustRefuse(err, archive.ErrExists)
	})
	if created.Load() != 1 || taken.Load() != writers-1 {
		b.Fatalf("%d writers created and %d found the key taken, want 1 and %d", created.Load(), taken.Load(), writers-1)
	}
	b.mustHold(key, contents[winner.Load()])
	if keys := b.mustList(""); !slices.Equal(keys, []string{key}) {
		b.Errorf("list: got %v, want the one key", keys)
	}
}

func leavesAnExistingObjectAlone(b *bench) {
	const key = "owner.json"
	first := []byte("first")
	b.mustCreate(key, first)
	before, err := b.Stat(b.context(), key)
	if err != nil {
		b.Fatalf("stat: %v", err)
	}
	for _, content := range [][]byte{[]byte("second"), []byte("First"), first, {}} {
		b.mustRefuse(b.Create(b.context(), key, content), archive.ErrExists)
		b.mustHold(key, first)
	}
	if after, err := b.Stat(b.context(), key); err != nil || after != before {
		b.Errorf("stat: got %+v, %v, want %+v as before", after, err, before)
	}
}

func sharesNoMemoryWithCallers(b *bench) {
	mine := []byte("content")
	b.mustCreate("a", mine)
	mine[0] = 'X'
	b.mustHold("a", []byte("content"))
	for range 2 {
		got, err := b.Read(b.context(), "a", whole())
		if err != nil || string(got) != "content" {
			b.Fatalf("read: got %q, %v", got, err)
		}
		got[0] = 'X'
	}
}

func findsNothingWhereNothingIs(b *bench) {
	if keys := b.mustList(""); len(keys) > 0 {
		b.Errorf("an empty bucket lists %v", keys)
	}
	b.mustLack("a")
	b.mustCreate("a/b", []byte("content"))
	for _, key := range []string{"b", "a/c", "a/b.json", "a/bc", "c/d/e"} {
		b.mustLack(key)
	}
	// What stands beside an object must not be found through it, nor the other way round, whatever a store calls a folder.
	for _, key := range []string{"a", "a/b/c"} {
		b.mustLack(key)
	}
}

func deletesOneObject(b *bench) {
	b.mustDelete("a/b")
	kept := []byte("kept")
	for _, key := range []string{"a/a", "a/b", "a/b.json", "a/bc"} {
		b.mustCreate(key, kept)
	}
	for range 2 {
		b.mustDelete("a/b")
		b.mustLack("a/b")
	}
	b.mustDelete("a") // names no object, however many there are beneath it
	if keys := b.mustList(""); !slices.Equal(keys, []string{"a/a", "a/b.json", "a/bc"}) {
		b.Errorf("list: got %v, want what was not deleted", keys)
	}
	b.mustHold("a/a", kept)
	b.mustDelete("a/a")
	b.mustDelete("a/b.json")
	b.mustDelete("a/bc")
	if keys := b.mustList(""); len(keys) > 0 {
		b.Errorf("list: got %v, want nothing", keys)
	}
}

func createsAfterADelete(b *bench) {
	for _, content := range [][]byte{[]byte("first"), []byte("second"), []byte("second"), {}, []byte("third")} {
		b.mustCreate("a/b", content)
		b.mustHold("a/b", content)
		b.mustRefuse(b.Create(b.context(), "a/b", []byte("other")), archive.ErrExists)
		b.mustDelete("a/b")
		b.mustLack("a/b")
	}
}

func showsNoHalfObject(b *bench) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 512<<10) // 8 MiB
	done := make(chan error)
	go func() { done <- b.Create(b.context(), "a", content) }()
	for {
		select {
		case err := <-done:
			if err != nil {
				b.Fatalf("create: %v", err)
			}
			b.mustHold("a", content)
			return
		default:
		}
		info, err := b.Stat(b.context(), "a")
		if err == nil && info.Size == int64(len(content)) {
			b.mustHold("a", content)
		} else if !errors.Is(err, archive.ErrNotFound) {
			b.Fatalf("stat: got %+v, %v, want all of it or nothing", info, err)
		}
	}
}

// ExerciseVersioned holds a bucket that keeps versions, behind the contract, to hiding them: a delete leaves a marker.
func ExerciseVersioned(t *testing.T, open func(t *testing.T) archive.Bucket, options ...Option) {
	t.Helper()
	run(t, open, []exercise{
		{"DeletesOneObject", deletesOneObject},
		{"CreatesAfterADelete", createsAfterADelete},
		{"ListsNoMarkers", listsNoMarkers},
		{"LetsOneOfManyWritersCreateOnAMarker", func(b *bench) {
			b.mustCreate("manifests/0000000001/contested.json", []byte("before"))
			b.mustDelete("manifests/0000000001/contested.json")
			letsOneOfManyWritersCreate(b)
		}},
	}, options)
}

func listsNoMarkers(b *bench) {
	for _, key := range []string{"a", "b", "c", "d/e", "f"} {
		b.mustCreate(key, []byte("1"))
		b.mustDelete(key)
	}
	b.mustDelete("never") // may leave a marker of its own
	b.mustCreate("b", []byte("2"))
	b.mustCreate("d/e", []byte("2"))
	for prefix, want := range map[string][]string{"": {"b", "d/e"}, "b": {"b"}, "d": {"d/e"}, "a": nil, "never": nil} {
		if keys := b.mustList(prefix); !slices.Equal(keys, want) {
			b.Errorf("list %q: got %v, want %v", prefix, keys, want)
		}
	}
	b.mustHold("b", []byte("2"))
}
