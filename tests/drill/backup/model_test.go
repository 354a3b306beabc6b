//go:build drill

package backup_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"tidemark/shared/apply"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
	"tidemark/shared/record"
	"tidemark/tests/internal/drilling"
)

const (
	modelHistories = 6
	modelBackups   = 5   // of each history
	modelRecords   = 400 // of each partition
	mostModel      = 4   // records of one partition in a delivery
	deliveries     = 25  // beside each backup, and at most so many before it
	modelSeed      = 20261130
	modelLeast     = 5 // percent of the records, of each kind
)

const modelTables = `CREATE TABLE item (id bigint PRIMARY KEY, note text);
	CREATE TABLE log (id bigint, note text);
	CREATE TABLE pair (id bigint, code text, note text, PRIMARY KEY (code, id));`

// modelTable is a table of the model. Its partitions have no key in common.
type modelTable struct {
	name    string
	columns []string
	key     []string // none: rows are told apart by all that they hold
}

func modelOf() []modelTable {
	return []modelTable{
		{"item", []string{"id", "note"}, []string{"id"}},
		{"log", []string{"id", "note"}, nil},
		{"pair", []string{"id", "code", "note"}, []string{"code", "id"}},
	}
}

// modelAct is what a record means: a row that goes, and one that comes.
type modelAct struct{ removed, added []string }

// modelStream is the records of one partition, with their meaning.
type modelStream struct {
	table   modelTable
	number  int32
	records []record.Record
	acts    []modelAct
	rows    map[string][]string // as they stand at its end, by key, or by a number where there is none
	random  *rand.Rand
	kinds   map[string]int
}

func (s *modelStream) partition() position.Partition {
	return position.Partition{Topic: topicOf(s.table.name), Number: s.number}
}

// step appends a record that a source could send next.
func (s *modelStream) step() {
	there := slices.Sorted(maps.Keys(s.rows))
	switch n := s.random.IntN(10); {
	case n < 5 || len(there) == 0:
		row := s.newRow()
		at := s.keyOf(row)
		if old, taken := s.rows[at]; taken {
			s.change("update", "u", at, old, row)
			return
		}
		s.change("insert", "c", at, nil, row)
	case n < 8:
		at := there[s.random.IntN(len(there))]
		row := slices.Clone(s.rows[at])
		row[len(row)-1] = s.word()
		s.change("update", "u", at, s.rows[at], row)
	default:
		at := there[s.random.IntN(len(there))]
		s.change("delete", "d", at, s.rows[at], nil)
	}
}

// newRow is a row whose key is out of a small space, of this partition alone.
func (s *modelStream) newRow() []string {
	id := strconv.Itoa(2*s.random.IntN(60) + int(s.number))
	if s.table.name == "pair" {
		return []string{id, "c" + strconv.Itoa(s.random.IntN(3)), s.word()}
	}
	return []string{id, s.word()}
}

// word is a text of any length, now and then one that needs more room than a page has for it.
func (s *modelStream) word() string {
	if s.random.IntN(40) == 0 {
		return strings.Repeat("w"+strconv.Itoa(s.random.IntN(1000)), 700)
	}
	return "w" + strconv.Itoa(s.random.IntN(1000))
}

func (s *modelStream) keyOf(row []string) string {
	if s.table.key == nil {
		return "row " + strconv.Itoa(len(s.records))
	}
	return strings.Join(row[:len(row)-1], "|")
}

func (s *modelStream) change(kind, op, at string, removed, added []string) {
	s.kinds[s.table.name+" "+kind]++
	var key, before, after map[string]any
	if added != nil {
		after, s.rows[at] = object(s.table.columns, added), added
	} else {
		delete(s.rows, at)
	}
	if removed != nil && s.table.key == nil {
		before = object(s.table.columns, removed)
	}
	row := added
	if row == nil {
		row = removed
	}
	if s.table.key != nil {
		key = map[string]any{}
		for i, column := range s.table.columns[:len(s.table.columns)-1] {
			maps.Copy(key, object([]string{column}, row[i:i+1]))
		}
	}
	s.records = append(s.records, event(s.table.name, op, position.Offset(len(s.records)), key, before, after))
	s.acts = append(s.acts, modelAct{removed, added})
}

// state is the rows of a table at a cut, as text, in order.
func state(streams []*modelStream, table string, cut position.Cut) []string {
	counts := map[string]int{}
	for _, s := range streams {
		if s.table.name != table {
			continue
		}
		for _, a := range s.acts[:cut[s.partition()]] {
			if a.removed != nil {
				counts[strings.Join(a.removed, "|")]--
			}
			if a.added != nil {
				counts[strings.Join(a.added, "|")]++
			}
		}
	}
	rows := []string{}
	for row, n := range counts {
		rows = append(rows, slices.Repeat([]string{row}, n)...)
	}
	slices.Sort(rows)
	return rows
}

// TestModelAtTheCut applies generated histories and takes backups at moments of them, while deliveries go on. What a backup
// holds of each table is what the records below its cut make of it.
func TestModelAtTheCut(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d", modelSeed)
	v, scratch, kinds, moving := newVault(t, modelTables, 1), postgrestest.Empty(t), map[string]int{}, 0
	scratch.Exec(t, "CREATE TABLE item (id bigint, note text); CREATE TABLE log (id bigint, note text);"+
		"CREATE TABLE pair (id bigint, code text, note text)")
	for n := range uint64(modelHistories) {
		v.db.Exec(t, "TRUNCATE item, log, pair; DELETE FROM tidemark.checkpoint")
		h := generate(n, kinds)
		h.applier = drilling.NewApplier(t, v.db, flowName, topicOf("item"), topicOf("log"), topicOf("pair"))
		for b := range modelBackups {
			if err := h.deliver(t.Context(), 1+h.random.IntN(deliveries)); err != nil {
				t.Fatal(fault.Line(err))
			}
			if h.backUp(t, v, scratch, 1+b%2) {
				moving++
			}
			if t.Failed() {
				t.Fatalf("at backup %d of history %d", b, n)
			}
		}
	}
	t.Logf("%d of %d cuts lie amid deliveries", moving, modelHistories*modelBackups)
	if moving < modelHistories*modelBackups/4 {
		t.Errorf("%d of %d cuts lie amid deliveries: the drill has shown little", moving, modelHistories*modelBackups)
	}
	wantEachKind(t, kinds)
}

func wantEachKind(t *testing.T, kinds map[string]int) {
	t.Helper()
	all := 0
	for _, n := range kinds {
		all += n
	}
	for _, table := range modelOf() {
		for _, kind := range []string{"insert", "update", "delete"} {
			share := 100 * kinds[table.name+" "+kind] / all
			t.Logf("%-12s %2d %% of %d records", table.name+" "+kind, share, all)
			if share < modelLeast {
				t.Errorf("%s %s is %d %% of all records, want at least %d", table.name, kind, share, modelLeast)
			}
		}
	}
}

// modelHistory is streams on their way into a target.
type modelHistory struct {
	streams []*modelStream
	applier *apply.Applier
	random  *rand.Rand
	next    position.Cut
}

func generate(n uint64, kinds map[string]int) *modelHistory {
	random := rand.New(rand.NewPCG(modelSeed, n)) //nolint:gosec // a test's history, not a secret
	h := &modelHistory{random: random, next: position.Cut{}}
	for _, table := range modelOf() {
		for number := range int32(2) {
			s := &modelStream{table: table, number: number, rows: map[string][]string{}, random: random, kinds: kinds}
			for range modelRecords {
				s.step()
			}
			h.streams = append(h.streams, s)
		}
	}
	return h
}

// deliver makes so many deliveries of the next few records of some partitions.
func (h *modelHistory) deliver(ctx context.Context, times int) error {
	for range times {
		var batch record.Batch
		for _, s := range h.streams {
			p := s.partition()
			from := h.next[p]
			until := min(from+position.Offset(h.random.IntN(mostModel+1)), modelRecords)
			if from < until {
				batch = append(batch, record.Run{Partition: p, Records: s.records[from:until]})
				h.next[p] = until
			}
		}
		if _, err := h.applier.Apply(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// backUp takes a backup, beside whose snapshot deliveries go on, and says whether its cut lies amid them.
func (h *modelHistory) backUp(t *testing.T, v *vault, scratch *postgrestest.Database, jobs int) (amid bool) {
	t.Helper()
	o, begin := v.inProcess(t, jobs, snapshot.Options{}), maps.Clone(h.next)
	asked := &askedSource{Source: o.Source, asked: make(chan struct{})}
	o.Source = asked
	var group errgroup.Group
	group.Go(func() error {
		<-asked.asked
		return h.deliver(t.Context(), deliveries)
	})
	made, failed := backup.Run(t.Context(), o)
	asked.once.Do(func() { close(asked.asked) })
	if err := errors.Join(failed, group.Wait()); err != nil {
		t.Fatal(fault.Line(err))
	}
	a := v.archive(t)
	choice := newest(t, a)
	if choice.Manifest.ID != made.ID {
		t.Fatalf("got manifest %s, want %s", choice.Manifest.ID, made.ID)
	}
	cut := position.Cut{}
	for _, p := range choice.Body.Cut {
		at := position.Partition{Topic: p.Topic, Number: p.Partition}
		if cut[at] = p.NextOffset; cut[at] < begin[at] || cut[at] > h.next[at] {
			t.Errorf("the cut of %s is %s, and the backup ran while it went from %s to %s", at, cut[at], begin[at], h.next[at])
		}
	}
	for _, table := range modelOf() {
		scratch.Exec(t, "TRUNCATE "+table.name)
		load(t, a, scratch, tableOf(t, choice.Body, "public", table.name))
		got := strings.Fields(scratch.Copy(t, "SELECT concat_ws('|', "+strings.Join(table.columns, ", ")+") FROM "+table.name))
		slices.Sort(got)
		if diff := cmp.Diff(state(h.streams, table.name, cut), got); diff != "" {
			t.Errorf("table %s at %s (-model +backup):\n%s", table.name, cut, diff)
		}
	}
	return !maps.Equal(cut, begin) && !maps.Equal(cut, h.next)
}

// askedSource says when it is asked for a snapshot.
type askedSource struct {
	backup.Source

	once  sync.Once
	asked chan struct{}
}

// Snapshot shows one state. See backup.Source.
func (s *askedSource) Snapshot(ctx context.Context) (backup.Snapshot, error) {
	s.once.Do(func() { close(s.asked) })
	return s.Source.Snapshot(ctx)
}
