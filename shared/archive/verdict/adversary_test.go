package verdict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/verdict"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
)

func put(t *testing.T, bucket archive.Bucket, key, content string) {
	t.Helper()
	if err := bucket.Create(t.Context(), key, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

// Somebody who may write and has no key takes numbers: the next one, the last one, the last but one. What operators say counts
// all the same, each time.
func TestMarksGoOnWhateverNumberGarbageTakes(t *testing.T) {
	t.Parallel()
	for name, numbers := range map[string][]int64{
		"TheNext": {1}, "TheNextOnes": {1, 2, 3}, "TheLast": {9_999_999_999}, "TheLastButOne": {9_999_999_998},
		"Several": {2, 4, 9_999_999_998, 9_999_999_999},
	} {
		for _, buckets := range [][]string{{"primary"}, {"secondary"}, {"primary", "secondary"}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w, c := world(t)
				for _, bucket := range buckets {
					for _, number := range numbers {
						place := map[string]archive.Bucket{"primary": w.Primary, "secondary": w.Secondary}[bucket]
						put(t, place, layout.Keep(c.ID.Run, number), "garbage")
					}
				}
				o, before := options(w, w.Archive(t)), int64(0)
				for _, kept := range []bool{true, false, true, false, false} {
					say := verdict.LetGo
					if kept {
						say = verdict.Keep
					}
					spoken, err := say(t.Context(), o, c.ID.Run, "audit")
					if err != nil || spoken.Number <= before {
						t.Fatalf("got %+v, %v, want a number above %d", spoken, err, before)
					}
					before = spoken.Number
					everywhere(t, w, c.ID.Run, kept, false)
				}
			})
		}
	}
}

// Garbage under the run of a good manifest, with another number and in one bucket alone, must not be what is spoken of.
func TestGarbageOfTheRunsNameDoesNotDivertWhatIsSaid(t *testing.T) {
	t.Parallel()
	w, c := world(t)
	for _, id := range []layout.ID{{Lineage: 1, Seq: 99, Run: c.ID.Run}, {Lineage: 7, Seq: 1, Run: c.ID.Run}} {
		put(t, w.Secondary, layout.Manifest(id), "garbage")
	}
	o, want := options(w, w.Archive(t)), []string{"primary", "secondary"}
	kept, err := verdict.Keep(t.Context(), o, c.ID.Run, "audit")
	if err != nil || !cmp.Equal(kept.Places, want) || kept.Entry.ID != c.ID {
		t.Errorf("keep: got %v to %q, %v, want %v to both", kept.Entry.ID, kept.Places, err, c.ID)
	}
	withdrawn, err := verdict.Withdraw(t.Context(), o, c.ID.Run, "wrong rows")
	if err != nil || !cmp.Equal(withdrawn.Places, want) || withdrawn.Entry.ID != c.ID {
		t.Errorf("withdraw: got %v to %q, %v, want %v to both", withdrawn.Entry.ID, withdrawn.Places, err, c.ID)
	}
	everywhere(t, w, c.ID.Run, true, true)
}

// The manifest stands in one bucket and garbage of its name in the other, from which it may yet be listed.
func TestWhatIsSaidGoesToEveryPlaceThatListsTheRun(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c, err := w.Write(t.Context(), w.Options(t, w.Archive(t, w.Primary)), writertest.Backup{Chunks: []string{"a"}})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	put(t, w.Secondary, layout.Manifest(layout.ID{Lineage: 1, Seq: 99, Run: c.ID.Run}), "garbage")
	spoken, err := verdict.Keep(t.Context(), options(w, w.Archive(t)), c.ID.Run, "audit")
	if err != nil || !cmp.Equal(spoken.Places, []string{"primary", "secondary"}) || spoken.Entry.ID != c.ID {
		t.Errorf("got %+v, %v", spoken, err)
	}
}
