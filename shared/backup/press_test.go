package backup_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/age"

	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/backup/backuptest"
)

// wraps is a recipient that counts the objects that were begun for it, and one more for each packer.
type wraps struct {
	age.Recipient
	atomic.Int64
}

func (w *wraps) Wrap(key []byte) ([]*age.Stanza, error) {
	w.Add(1)
	return w.Recipient.Wrap(key)
}

// What an earlier manifest has is not compressed and encrypted to be thrown away.
func TestRunPacksOnlyWhatNoManifestHas(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	w, to := backuptest.New(t), &wraps{Recipient: key.Recipient()}
	w.Database.Tables["orders"] = &backuptest.Table{Rows: large(6)} // larger than what is held in any case
	w.Database.Tables["log"] = &backuptest.Table{Rows: fill(0, 30), Keyless: true}
	packed := func() int64 {
		o := w.Options(t)
		o.NewPacker = func() (*packing.Packer, error) {
			return packing.NewPacker(packing.Options{Recipients: []age.Recipient{to}})
		}
		to.Store(-1)
		result := mustRunAt(t, o, 1<<20)
		if got := to.Load(); got != int64(result.Progress.Stored) {
			t.Errorf("got %d objects packed, want the %d that were stored", got, result.Progress.Stored)
		}
		return to.Load()
	}
	if first := packed(); first < 7 {
		t.Errorf("got %d objects, want those of all tables", first)
	}
	if again := packed(); again != 0 {
		t.Errorf("got %d objects packed of an unchanged database, want none", again)
	}
	w.Database.Tables["orders"].Rows[3] = value(3, 1)
	if changed := packed(); changed != 1 {
		t.Errorf("got %d objects packed after one row changed, want one", changed)
	}
}

// A table that is read by its pages has the chunks of before up to where rows were added.
func TestRunOfATableInNoOrderStoresWhatIsNew(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"heap", "log"} {
		w := shop(t)
		w.Database.Tables[kind].Rows = fill(0, 1500)
		_, b := saved(t, w)
		before := tableOf(t, b, kind)
		insert(w.Database.Tables[kind].Rows, 1500, 1600)
		_, b = saved(t, w)
		after := tableOf(t, b, kind)
		if kept := sharedChunks(before, after); len(before.Key) > 0 || len(before.Chunks) < 30 || kept < len(before.Chunks)-5 {
			t.Errorf("%s: got %d of %d chunks again, want all but those of the last pages", kind, kept, len(before.Chunks))
		}
	}
}

// A table was small and in order, and grew at random keys.
func TestRunLeavesAnOrderThatHasBecomeDear(t *testing.T) {
	t.Parallel()
	w := shop(t)
	grown := w.Database.Tables["names"]
	if _, b := saved(t, w); len(tableOf(t, b, "names").Key) != 1 {
		t.Fatal("the table was not in order")
	}
	grown.Unordered = true
	if _, b := saved(t, w); len(tableOf(t, b, "names").Key) != 0 {
		t.Error("a large table is read in an order that is dear")
	}
	grown.Unordered, grown.Rows = false, fill(0, 20)
	saved(t, w)
	grown.Unordered = true
	if _, b := saved(t, w); len(tableOf(t, b, "names").Key) != 1 {
		t.Error("a small table lost the order that it had")
	}
}

// Another session may ask for a lock at any time: a reader that comes after it stands behind it.
func TestRunOpensItsReadersBeforeItPlans(t *testing.T) {
	t.Parallel()
	w := shop(t)
	p := w.Process(nil)
	o := p.Options(t)
	o.Jobs = 3
	mustRun(t, o)
	calls := slices.DeleteFunc(p.Calls(), func(c writertest.Call) bool { return c.Place != "database" })
	at := slices.IndexFunc(calls, func(c writertest.Call) bool { return c.Method == "Snapshot" })
	for _, c := range calls[at+1 : at+4] {
		if c.Method != "Reader" {
			t.Errorf("got the call %+v, want three readers right after the snapshot", c)
		}
	}
	if n := countCalls(p.Calls(), "Reader", ""); n != 3 {
		t.Errorf("got %d readers, want 3", n)
	}
}

// A value that no object has room for fails the backup with the name of its table, however far reading was ahead.
func TestRunRefusesAValueThatNoObjectHasRoomFor(t *testing.T) {
	t.Parallel()
	w := backuptest.New(t)
	parts := large(66)
	var whole []byte
	for key := range int64(66) {
		whole = append(whole, parts[key]...)
	}
	w.Database.Tables["orders"] = &backuptest.Table{Rows: backuptest.Rows{1: whole}}
	w.Database.Tables["later"] = &backuptest.Table{Rows: fill(0, 10)}
	_, err := backup.Run(t.Context(), w.Options(t))
	if !errors.Is(err, packing.ErrTooLarge) || !strings.Contains(err.Error(), "read public.orders: ") {
		t.Errorf("got %v, want a refusal that names the table", err)
	}
	wantListed(t, w, 0)
}
