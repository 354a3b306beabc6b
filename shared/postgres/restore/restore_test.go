package restore_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
)

// raisedSequences are those of rich.sql whose table has more than they gave out, and the audit's.
func raisedSequences() []string {
	return []string{"shop.serial_one_other_seq", "tidemark.audit_id_seq"}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{1000, 7} {
		t.Run(map[int]string{1000: "RebuildsARichDatabase", 7: "RebuildsItFromManyChunks"}[rows], func(t *testing.T) {
			t.Parallel()
			original := rich(t)
			want := read(t, original)
			base, _ := baseOf(t, original, rows)
			copied, d := target(t, restore.Options{})
			claimed(t, d)
			var done, of atomic.Int64
			base.OnProgress = func(have, all int64) { done.Store(have); of.Store(all) }
			got := restored(t, d, base)
			if len(got.Warnings) > 0 || got.Rows == 0 || got.Bytes != of.Load() || done.Load() != of.Load() {
				t.Errorf("got %+v, progress %d of %d", got, done.Load(), of.Load())
			}
			if life := life(t, copied); life != restoringLife {
				t.Errorf("life %q, want %q", life, restoringLife)
			}
			sameRows(t, original, copied)
			if left := copied.Copy(t, "SELECT DISTINCT incarnation FROM tidemark.checkpoint"); strings.TrimSpace(left) != newLife {
				t.Errorf("checkpoints of life %q", left)
			}
			settled(t, d)
			sameSchema(t, want, copied, raisedSequences()...)
			if again, err := d.Restore(t.Context(), base); err == nil {
				t.Errorf("restored a settled database again: %+v", again)
			}
		})
	}
}

// TestAgain: a second call changes nothing.
func TestAgain(t *testing.T) {
	t.Parallel()
	original := rich(t)
	base, objects := baseOf(t, original, 10)
	copied, d := target(t, restore.Options{})
	claimed(t, d)
	restored(t, d, base)
	before, fetched := read(t, copied), objects.fetched
	got := restored(t, d, base)
	if diff := cmp.Diff(recovery.Restored{}, got); diff != "" || objects.fetched != fetched {
		t.Errorf("the second call fetched %d objects and did (-want +got):\n%s", objects.fetched-fetched, diff)
	}
	sameSchema(t, before, copied)
	sameRows(t, original, copied)
}
