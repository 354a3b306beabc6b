// Package load owns what the benchmark applies: a table of seven columns and a stream of Debezium records for it, the
// same for the same seed.
//
// It knows what the table must hold behind any record, so that a measured run can be checked, and gives those rows as
// COPY's text, so that the bare COPY beside it loads the same. It does no I/O. A Source belongs to one goroutine.
package load

import (
	"iter"
	"math/rand/v2"
)

// Workload says what a stream consists of.
type Workload string

// The workloads.
const (
	// Inserts is new rows with ascending keys.
	Inserts Workload = "insert"
	// Mixed draws keys at random: an absent one is inserted, a present one is updated or deleted, each half of the time. A
	// delete is two records, as the connector sends it: the change and its tombstone.
	Mixed Workload = "mixed"
)

// KeysFor is the space of keys of a mixed stream of that many records: two keys for three records.
func KeysFor(records int) int { return max(1, records*2/3) }

// DDL makes the table.
const DDL = "CREATE TABLE t " +
	"(id bigint PRIMARY KEY, n int, amount float8, name text, status text, note text, at timestamptz)"

// Table is the table's name in its schema, and Topic the topic that carries it.
const (
	Schema = "public"
	Table  = "t"
	Topic  = "bench." + Schema + "." + Table
)

// Record is one record of the stream. A tombstone has no value.
type Record struct{ Key, Value []byte }

// Counts says what a stream consisted of so far.
type Counts struct{ Inserts, Updates, Deletes, Tombstones int }

// Records is the number of records.
func (c Counts) Records() int { return c.Inserts + c.Updates + c.Deletes + c.Tombstones }

// Changes is the number of records that change a row.
func (c Counts) Changes() int { return c.Records() - c.Tombstones }

// Source makes one stream.
type Source struct {
	seed   uint64
	random *rand.Rand // nil for inserts
	rows   []int32    // of a mixed stream: n by id, 0 while there is no row
	doomed int64      // the id whose tombstone comes next; 0 for none
	counts Counts
}

// New begins a stream. keys counts only for Mixed.
func New(workload Workload, seed uint64, keys int) *Source {
	s := &Source{seed: seed}
	if workload == Mixed {
		s.random = rand.New(rand.NewPCG(seed, uint64(keys))) //nolint:gosec // must repeat, and keys is small
		s.rows = make([]int32, keys+1)
	}
	return s
}

// Counts is what came so far.
func (s *Source) Counts() Counts { return s.counts }

// Next builds the next record in room, behind what room holds; it lies elsewhere only if it does not fit.
func (s *Source) Next(room []byte) Record {
	if s.random == nil {
		s.counts.Inserts++
		return s.record(room, opCreate, s.newRow(int64(s.counts.Inserts)))
	}
	if id := s.doomed; id != 0 {
		s.doomed = 0
		s.counts.Tombstones++
		return Record{Key: appendKey(room, id)[len(room):]}
	}
	row := Row{ID: 1 + s.random.Int64N(int64(len(s.rows)-1)), N: 1 + s.random.Int32N(maxN)}
	present := s.rows[row.ID] != 0
	switch {
	case !present:
		s.counts.Inserts++
		s.rows[row.ID] = row.N
		return s.record(room, opCreate, row)
	case s.random.IntN(2) == 0:
		s.counts.Updates++
		s.rows[row.ID] = row.N
		return s.record(room, opUpdate, row)
	}
	s.counts.Deletes++
	s.rows[row.ID] = 0
	s.doomed = row.ID
	return s.record(room, opDelete, row)
}

func (s *Source) record(room []byte, op string, row Row) Record {
	key := appendKey(room, row.ID)
	value := appendEnvelope(key, op, row, int64(s.counts.Records()))
	return Record{Key: value[len(room):len(key):len(key)], Value: value[len(key):]}
}

// Rows are the rows that the table holds behind the stream so far, by ascending id.
func (s *Source) Rows() iter.Seq[Row] {
	if s.random == nil {
		return NewRows(s.seed, s.counts.Inserts)
	}
	return func(yield func(Row) bool) {
		for id, n := range s.rows {
			if n != 0 && !yield(Row{ID: int64(id), N: n}) {
				return
			}
		}
	}
}

// NewRows are the first count rows of a stream of inserts.
func NewRows(seed uint64, count int) iter.Seq[Row] {
	s := Source{seed: seed}
	return func(yield func(Row) bool) {
		for id := range int64(count) {
			if !yield(s.newRow(id + 1)) {
				return
			}
		}
	}
}

const maxN = 1_000_000

func (s *Source) newRow(id int64) Row {
	n := 1 + scramble(s.seed+uint64(id))%maxN //nolint:gosec // ids are above 0
	return Row{ID: id, N: int32(n)}
}

// scramble spreads a number over 64 bits: the last steps of SplitMix64.
func scramble(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
