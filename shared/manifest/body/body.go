// Package body owns the large document of a backup: which tables, in which state of the log, in which objects, and
// the DDL that makes them.
//
// It owns the document's form and its own consistency: chunks tile their table and have its rows, no table or
// partition stands there twice, 64-bit integers are strings. It refuses to know how rows are read or restored, and
// where objects are. No I/O, no clock. Values are plain and may be shared once made.
package body

import (
	"fmt"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// MaxSize is the largest body in plain bytes.
const MaxSize = 256 << 20

// Body says what a backup holds. It is an object like any other.
type Body struct {
	Version     int                  `json:"version"`
	TargetID    position.TargetID    `json:"target_id"`
	Incarnation position.Incarnation `json:"incarnation"`
	Lineage     position.Lineage     `json:"lineage,string"`
	Seq         int64                `json:"seq,string"`
	RunID       manifest.RunID       `json:"run_id"`
	Snapshot    Snapshot             `json:"snapshot"`
	Store       Store                `json:"store"`
	Cut         Cut                  `json:"cut"`
	Gaps        []Gap                `json:"gaps"`
	Definitions []Definition         `json:"definitions"` // in the order in which a restore runs them
	Tables      []Table              `json:"tables"`
	Sequences   []Sequence           `json:"sequences"`
	Uncaptured  []string             `json:"uncaptured"` // what the database has and a restore will not, by name
	Warnings    []string             `json:"warnings"`
}

// Snapshot says which state of which database the tables show.
type Snapshot struct {
	SystemIdentifier string    `json:"system_identifier"` // of the database cluster
	Database         string    `json:"database"`
	ServerVersion    int       `json:"server_version"` // as server_version_num
	Encoding         string    `json:"encoding"`
	Collation        string    `json:"collation,omitzero"` // the database's own: provider, locale and version
	LedgerSchema     string    `json:"ledger_schema"`
	LedgerVersion    int64     `json:"ledger_version,string"`
	LSN              string    `json:"lsn"`                 // the log position right after the snapshot, for diagnosis
	Taken            time.Time `json:"taken"`               // by the database's clock, UTC
	ClusterID        string    `json:"cluster_id,omitzero"` // of the Kafka cluster, where it was asked
}

// Store says how the objects were written.
type Store struct {
	CreateOnly  bool      `json:"create_only"`         // the preflight probe saw the store refuse a second write
	Encryption  string    `json:"encryption,omitzero"` // by the store: none, or what it was told
	Recipients  int       `json:"recipients,omitzero"` // of the client-side encryption
	LockedUntil time.Time `json:"locked_until,omitzero"`
}

// Gap is a range of the log whose records the target does not have, and who said that this is right.
type Gap struct {
	Flow       string          `json:"flow"`
	Topic      string          `json:"topic"`
	Partition  int32           `json:"partition"`
	Generation int64           `json:"generation,string"` // of the checkpoint, as in the ledger
	From       position.Offset `json:"from,string"`
	Until      position.Offset `json:"until,string"`
	How        string          `json:"how"` // origin, healed, accepted, excluded
	Actor      string          `json:"actor"`
	Reason     string          `json:"reason"` // empty when nobody gave one
	At         time.Time       `json:"at"`
}

// Definition is one statement of DDL.
type Definition struct {
	Phase  Phase  `json:"phase"`
	Kind   string `json:"kind"`           // schema, extension, enum, table, index, …
	Schema string `json:"schema"`         // empty for what lives in none
	Name   string `json:"name"`           // with arguments for functions
	Table  Name   `json:"table,omitzero"` // the table that it is a part of
	SQL    string `json:"sql"`
}

// Phase says when a restore runs a definition.
type Phase string

// The phases, in their order.
const (
	BeforeData Phase = "before"     // what rows need in order to be loaded
	Keys       Phase = "keys"       // primary keys, unique constraints, indexes, checks
	References Phase = "references" // foreign keys
	AfterData  Phase = "after"      // what would act on rows while they are loaded, and what reads them
)

// Sequence is where a sequence stood. Sequences are no part of a snapshot: the value is at or beyond the tables'.
type Sequence struct {
	Name
	Last      int64  `json:"last,string"`
	Called    bool   `json:"called"` // whether Last was given out
	Increment int64  `json:"increment,string"`
	Owner     Name   `json:"owner,omitzero"` // the table whose column it fills
	Column    string `json:"column,omitzero"`
}

// Encode writes b. Errors: see document.Encode; an invalid body is fault.Bug, one above MaxSize fault.Misconfigured.
func Encode(b Body) ([]byte, error) {
	if err := b.Validate(); err != nil {
		return nil, fault.New(fault.Bug, "write body: %w", err)
	}
	encoded, err := document.Encode(b)
	switch {
	case err != nil:
		return nil, fmt.Errorf("write body: %w", err)
	case len(encoded) > MaxSize:
		return nil, fault.New(fault.Misconfigured, "body of %d bytes, at most %d", len(encoded), MaxSize).
			WithHint("its chunks take the most room: make fewer and larger ones")
	}
	return encoded, nil
}

// Decode reads what Encode wrote. Errors: see document.Decode.
func Decode(encoded []byte) (Body, error) {
	var b Body
	if err := document.Decode("body", MaxSize, encoded, &b); err != nil {
		return Body{}, err
	}
	return b, nil
}

// Objects are the objects that the tables need, each once.
func (b Body) Objects() []manifest.Object {
	seen := map[manifest.Digest]bool{}
	var objects []manifest.Object
	for _, t := range b.Tables {
		for _, c := range t.Chunks {
			if !seen[c.Object.Digest] {
				seen[c.Object.Digest] = true
				objects = append(objects, c.Object)
			}
		}
	}
	return objects
}
