// Package ledger owns the SQL and the rows of Tidemark's own tables in the target: what one transaction of apply asks and
// says there, and the acts of an operator.
//
// The tables themselves are made by package migrations. A Ledger is immutable and may be shared; it opens no
// connection. It builds statements and reads their rows, and who owns the transaction runs them.
package ledger

import (
	"fmt"
	"strconv"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres"
)

// The versions of the ledger's schema that this release works with. A release accepts a range, so that functions of two
// releases run beside each other during a deploy.
const (
	MinVersion    = 2
	BackupVersion = 3 // the least that has a place for backups
	ReplayVersion = 4 // the least that a recovery replays into
	HeldVersion   = 5 // the least that can hold a flow
	MaxVersion    = 5
)

// Ledger builds the statements for one schema.
type Ledger struct {
	schema string
	state  apply.State // of a target that is written
	moves  string      // the function that moves checkpoints in that state
}

// New returns the ledger in schema, for a target that is live.
func New(schema string) Ledger {
	return Ledger{schema: postgres.QuoteName(schema), state: apply.StateLive, moves: "advance"}
}

// Replaying returns the ledger for a target that is being restored: live apply is refused there, and this one elsewhere.
func (l Ledger) Replaying() Ledger {
	l.state, l.moves = apply.StateRestoring, "replay"
	return l
}

// Rows are the rows of one statement's result, columns in PostgreSQL's text form, NULL as nil.
type Rows [][][]byte

// Version asks for the version of the ledger's schema.
func (l Ledger) Version() postgres.Statement {
	return postgres.Statement{SQL: "SELECT max(version_id)::text FROM " + l.schema + ".schema_version WHERE is_applied"}
}

// CheckVersion judges the answer to Version.
// Errors: fault.Misconfigured outside of MinVersion to MaxVersion, with the command to run.
func CheckVersion(rows Rows) error { return CheckVersionFrom(rows, MinVersion) }

// CheckVersionFrom judges the answer to Version for what needs more than MinVersion.
// Errors: fault.Misconfigured outside of least to MaxVersion, with the command to run.
func CheckVersionFrom(rows Rows, least int64) error {
	var version int64
	if len(rows) == 1 && rows[0][0] != nil {
		var err error
		if version, err = strconv.ParseInt(string(rows[0][0]), 10, 64); err != nil {
			return fault.New(fault.Bug, "the ledger's version is no number")
		}
	}
	switch {
	case version < least:
		return fault.New(fault.Misconfigured, "the ledger has version %d, this release needs %d to %d",
			version, least, MaxVersion).WithHint("run: tidemark migrate")
	case version > MaxVersion:
		return fault.New(fault.Misconfigured, "the ledger has version %d, this release needs %d to %d",
			version, least, MaxVersion).WithHint("deploy a release that knows version %d", version)
	}
	return nil
}

// Open makes the checkpoint rows that an opening lacks, locks all of them in order, and reads target and positions.
//
// Missing rows are made before anything is locked (A4): two sessions that both lock a row that is not there get nothing
// and both apply. The row starts at offset 0, the start of a log that its flow declares dense, and never at the first
// offset seen.
func (l Ledger) Open(opening apply.Opening) []postgres.Statement {
	flow, topics, numbers := []byte(opening.Flow), topicArray(opening.Partitions), numberArray(opening.Partitions)
	statements := []postgres.Statement{
		{
			SQL: "INSERT INTO " + l.schema + ".checkpoint (flow, topic, partition, next_offset, incarnation)" +
				" SELECT $1::text, p.topic, p.partition, 0, t.incarnation" +
				" FROM unnest($2::text[], $3::integer[]) AS p (topic, partition), " + l.schema + ".target AS t" +
				" WHERE t.state = '" + string(l.state) + "' ORDER BY p.topic COLLATE \"C\", p.partition ON CONFLICT DO NOTHING",
			Params: [][]byte{flow, topics, numbers}, Stable: true,
		},
		{
			SQL: "SELECT c.topic, c.partition::text, c.next_offset::text, c.incarnation::text," +
				" (extract(epoch FROM c.record_time) * 1000000)::bigint::text, c.generation::text" +
				" FROM " + l.schema + ".checkpoint AS c" +
				" JOIN unnest($2::text[], $3::integer[]) AS p (topic, partition) USING (topic, partition)" +
				" WHERE c.flow = $1::text ORDER BY c.topic, c.partition FOR UPDATE OF c",
			Params: [][]byte{flow, topics, numbers}, Stable: true,
		},
		{
			SQL: "SELECT t.target_id, t.incarnation::text, t.state, EXISTS (SELECT FROM " + l.schema +
				".quarantine AS q WHERE q.flow = $1::text AND q.state = 'parked')::text FROM " + l.schema + ".target AS t",
			Params: [][]byte{flow}, Stable: true,
		},
	}
	if len(opening.Identities) == 0 {
		return statements
	}
	return append(statements, postgres.Statement{
		SQL:    "SELECT identity FROM " + l.schema + ".applied_identity WHERE flow = $1::text AND identity = ANY ($2::text[])",
		Params: [][]byte{flow, postgres.TextArray(opening.Identities)},
	})
}

// ReadOpen reads the answers to Open.
func ReadOpen(answers []Rows) (apply.Ledger, error) {
	checkpoints, target := answers[1], answers[2]
	if len(target) != 1 {
		return apply.Ledger{}, fault.New(fault.Misconfigured, "the ledger has %d target rows, want 1", len(target)).
			WithHint("the ledger was changed by hand: restore it from a backup")
	}
	read := apply.Ledger{
		TargetID:    position.TargetID(target[0][0]),
		Incarnation: position.Incarnation(target[0][1]),
		State:       apply.State(target[0][2]),
		Parked:      string(target[0][3]) == "true",
		Checkpoints: make(map[position.Partition]apply.Checkpoint, len(checkpoints)),
	}
	if len(answers) > 3 {
		read.Known = make(map[string]bool, len(answers[3]))
		for _, row := range answers[3] {
			read.Known[string(row[0])] = true
		}
	}
	for _, row := range checkpoints {
		partition, checkpoint, err := readCheckpoint(row)
		if err != nil {
			return apply.Ledger{}, err
		}
		read.Checkpoints[partition] = checkpoint
	}
	return read, nil
}

func readCheckpoint(row [][]byte) (position.Partition, apply.Checkpoint, error) {
	partition, err := position.ParsePartition(string(row[0]) + "/" + string(row[1]))
	if err != nil {
		return partition, apply.Checkpoint{}, fault.New(fault.Bug, "read a checkpoint row: %w", err)
	}
	next, err := position.ParseOffset(string(row[2]))
	if err != nil {
		return partition, apply.Checkpoint{}, fault.New(fault.Bug, "read checkpoint %s: %w", partition, err)
	}
	checkpoint := apply.Checkpoint{Next: next, Incarnation: position.Incarnation(row[3])}
	if checkpoint.Generation, err = strconv.ParseInt(string(row[5]), 10, 64); err != nil {
		return partition, apply.Checkpoint{}, fault.New(fault.Bug, "read checkpoint %s: its generation: %w", partition, err)
	}
	if row[4] != nil {
		micros, err := strconv.ParseInt(string(row[4]), 10, 64)
		if err != nil {
			return partition, apply.Checkpoint{}, fault.New(fault.Bug, "read checkpoint %s: its record time: %w", partition, err)
		}
		checkpoint.RecordTime = time.UnixMicro(micros).UTC()
	}
	return partition, checkpoint, nil
}

// Remember records the identities of work. There is no ON CONFLICT: an identity that another transaction recorded since
// Begin must fail this one (A5), or both would apply it.
func (l Ledger) Remember(work apply.Work) postgres.Statement {
	ids := work.Identities
	partitions, names := make([]position.Partition, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		partitions[i], names[i] = id.Partition, id.Name
	}
	return postgres.Statement{
		SQL: "INSERT INTO " + l.schema + ".applied_identity (flow, identity, topic, partition, \"offset\", record_time)" +
			" SELECT $1::text, i.* FROM unnest($2::text[], $3::text[], $4::integer[], $5::bigint[], $6::timestamptz[]) AS i",
		Params: [][]byte{
			[]byte(work.Flow), postgres.TextArray(names), topicArray(partitions), numberArray(partitions),
			list(len(ids), func(i int) string { return ids[i].Offset.String() }),
			list(len(ids), func(i int) string { return timeElement(ids[i].Time) }),
		},
		Stable: true,
	}
}

// Advance moves the checkpoints of work. The server raises unless each stood where work says and the target still lives
// the incarnation (A3).
func (l Ledger) Advance(work apply.Work) postgres.Statement {
	moves := work.Advances
	partitions := make([]position.Partition, len(moves))
	for i := range moves {
		partitions[i] = moves[i].Partition
	}
	return postgres.Statement{
		SQL: "SELECT " + l.schema + "." + l.moves + "($1::text, $2::text[], $3::integer[], $4::bigint[], $5::bigint[]," +
			" $6::timestamptz[], $7::uuid)",
		Params: [][]byte{
			[]byte(work.Flow), topicArray(partitions), numberArray(partitions),
			list(len(moves), func(i int) string { return moves[i].From.String() }),
			list(len(moves), func(i int) string { return moves[i].Next.String() }),
			list(len(moves), func(i int) string { return timeElement(moves[i].RecordTime) }),
			[]byte(work.Incarnation),
		},
		Stable: true,
	}
}

func timeElement(t time.Time) string {
	if t.IsZero() {
		return "NULL"
	}
	return `"` + t.UTC().Format("2006-01-02 15:04:05.999999") + `+00"`
}

func topicArray(partitions []position.Partition) []byte {
	topics := make([]string, len(partitions))
	for i, p := range partitions {
		topics[i] = p.Topic
	}
	return postgres.TextArray(topics)
}

func numberArray(partitions []position.Partition) []byte {
	return list(len(partitions), func(i int) string { return strconv.FormatInt(int64(partitions[i].Number), 10) })
}

// list is the literal of an array of n elements that need no quotes, or bring them.
func list(n int, element func(i int) string) []byte {
	out := []byte{'{'}
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, element(i)...)
	}
	return append(out, '}')
}

func errAct(act string, err error) error { return fmt.Errorf("%s: %w", act, err) }
