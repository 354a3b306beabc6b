package body_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
)

func refused() map[string]func(b *body.Body) {
	elsewhere := at(1).In(time.FixedZone("", 3600))
	return map[string]func(b *body.Body){
		"NoVersion":           func(b *body.Body) { b.Version = 0 },
		"AnotherVersion":      func(b *body.Body) { b.Version++ },
		"NoTarget":            func(b *body.Body) { b.TargetID = "" },
		"NoIncarnation":       func(b *body.Body) { b.Incarnation = "" },
		"NoLineage":           func(b *body.Body) { b.Lineage = 0 },
		"NoSeq":               func(b *body.Body) { b.Seq = 0 },
		"NoRun":               func(b *body.Body) { b.RunID = "" },
		"NoSystem":            func(b *body.Body) { b.Snapshot.SystemIdentifier = "" },
		"NoDatabase":          func(b *body.Body) { b.Snapshot.Database = "" },
		"NoServerVersion":     func(b *body.Body) { b.Snapshot.ServerVersion = 0 },
		"NoEncoding":          func(b *body.Body) { b.Snapshot.Encoding = "" },
		"ACollationOfLines":   func(b *body.Body) { b.Snapshot.Collation = "a\nb" },
		"NoLedgerSchema":      func(b *body.Body) { b.Snapshot.LedgerSchema = "" },
		"NoLedgerVersion":     func(b *body.Body) { b.Snapshot.LedgerVersion = 0 },
		"NoLSN":               func(b *body.Body) { b.Snapshot.LSN = "" },
		"AnLSNInLowerCase":    func(b *body.Body) { b.Snapshot.LSN = "16/b374d848" },
		"NoTime":              func(b *body.Body) { b.Snapshot.Taken = time.Time{} },
		"ATimeElsewhere":      func(b *body.Body) { b.Snapshot.Taken = elsewhere },
		"Nanoseconds":         func(b *body.Body) { b.Snapshot.Taken = at(1).Add(1) },
		"AClusterOfTwoLines":  func(b *body.Body) { b.Snapshot.ClusterID = "a\nb" },
		"NegativeRecipients":  func(b *body.Body) { b.Store.Recipients = -1 },
		"ALockElsewhere":      func(b *body.Body) { b.Store.LockedUntil = elsewhere },
		"EncryptionInLines":   func(b *body.Body) { b.Store.Encryption = "\n" },
		"NoFlow":              func(b *body.Body) { b.Cut[0].Flow = "" },
		"NoTopic":             func(b *body.Body) { b.Cut[0].Topic = "" },
		"ANegativePartition":  func(b *body.Body) { b.Cut[0].Partition = -1 },
		"ANegativeOffset":     func(b *body.Body) { b.Cut[0].NextOffset = -1 },
		"ANegativeGeneration": func(b *body.Body) { b.Cut[0].Generation = -1 },
		"ATopicIDOfLines":     func(b *body.Body) { b.Cut[0].TopicID = "\n" },
		"ANegativeEpoch":      func(b *body.Body) { *b.Cut[0].LeaderEpoch = -1 },
		"ARecordTimeElsewhere": func(b *body.Body) {
			b.Cut[0].RecordTime = &elsewhere
		},
		"ALogThatEndsFirst":    func(b *body.Body) { b.Cut[0].Log.Start, b.Cut[0].Log.End = 5, 4 },
		"ALogBelowZero":        func(b *body.Body) { b.Cut[0].Log.Start = -1 },
		"APartitionTwice":      func(b *body.Body) { b.Cut = append(b.Cut, b.Cut[1]) },
		"PartitionsOutOfOrder": func(b *body.Body) { slices.Reverse(b.Cut) },
		"AGapOfNoFlow":         func(b *body.Body) { b.Gaps[0].Flow = "" },
		"AGapOfNoTopic":        func(b *body.Body) { b.Gaps[0].Topic = "" },
		"AGapOfNothing":        func(b *body.Body) { b.Gaps[0].Until = b.Gaps[0].From },
		"AGapBackwards":        func(b *body.Body) { b.Gaps[0].Until = 1 },
		"AGapBelowZero":        func(b *body.Body) { b.Gaps[0].From = -1 },
		"AGapOfNegativeLife":   func(b *body.Body) { b.Gaps[0].Generation = -1 },
		"AGapOfAnotherKind":    func(b *body.Body) { b.Gaps[0].How = "Origin" },
		"AGapOfNoKind":         func(b *body.Body) { b.Gaps[0].How = "" },
		"AGapOfNoTime":         func(b *body.Body) { b.Gaps[0].At = time.Time{} },
		"AGapTwice":            func(b *body.Body) { b.Gaps = append(b.Gaps, b.Gaps[0]) },
		"NoPhase":              func(b *body.Body) { b.Definitions[0].Phase = "" },
		"AnotherPhase":         func(b *body.Body) { b.Definitions[0].Phase = "data" },
		"PhasesOutOfOrder":     func(b *body.Body) { slices.Reverse(b.Definitions) },
		"NoKind":               func(b *body.Body) { b.Definitions[0].Kind = "" },
		"ADefinitionOfNoName":  func(b *body.Body) { b.Definitions[0].Name = "" },
		"ADefinitionOfNothing": func(b *body.Body) { b.Definitions[0].SQL = "" },
		"AZeroByteInSQL":       func(b *body.Body) { b.Definitions[0].SQL = "a\x00" },
		"AZeroByteInItsSchema": func(b *body.Body) { b.Definitions[0].Schema = "a\x00" },
		"ADefinitionOfHalfATable": func(b *body.Body) {
			b.Definitions[1].Table.Schema = ""
		},
		"ATableOfNoSchema":    func(b *body.Body) { b.Tables[0].Schema = "" },
		"ATableOfNoName":      func(b *body.Body) { b.Tables[0].Name.Name = "" },
		"ATableOfAZeroByte":   func(b *body.Body) { b.Tables[0].Name.Name = "\x00" },
		"ATableOfALongName":   func(b *body.Body) { b.Tables[0].Name.Name = strings.Repeat("é", 256) },
		"ATableTwice":         func(b *body.Body) { b.Tables = append(b.Tables, b.Tables[1]) },
		"AColumnOfNoName":     func(b *body.Body) { b.Tables[0].Columns[0].Name = "" },
		"AColumnTwice":        func(b *body.Body) { b.Tables[0].Columns[1].Name = "id" },
		"AColumnOfNoType":     func(b *body.Body) { b.Tables[0].Columns[0].Type = "" },
		"AColumnOfNoOID":      func(b *body.Body) { b.Tables[0].Columns[0].OID = 0 },
		"AnotherIdentity":     func(b *body.Body) { b.Tables[0].Columns[0].Identity = "ALWAYS" },
		"AKeyOfNoName":        func(b *body.Body) { b.Tables[0].Key[0] = "" },
		"AKeyColumnTwice":     func(b *body.Body) { b.Tables[0].Key[1] = "id" },
		"RowsThatNoChunkHas":  func(b *body.Body) { b.Tables[0].Rows++ },
		"RowsWithoutChunks":   func(b *body.Body) { b.Tables[1].Rows = 1 },
		"NegativeRows":        func(b *body.Body) { c := b.Tables[0].Chunks; c[0].Rows, c[1].Rows = -1, 1<<53+2 },
		"RowsBeyondCounting":  func(b *body.Body) { manyRows(b) },
		"AnObjectOfNoDigest":  func(b *body.Body) { b.Tables[0].Chunks[0].Object.Digest = "" },
		"AnObjectAsTwo":       func(b *body.Body) { b.Tables[0].Chunks[0].Object.Digest = object("two").Digest },
		"AnOpenInnerStart":    func(b *body.Body) { b.Tables[0].Chunks[1].From = nil },
		"AnOpenInnerEnd":      func(b *body.Body) { b.Tables[0].Chunks[0].Until = nil },
		"AClosedFirst":        func(b *body.Body) { b.Tables[0].Chunks[0].From = []string{"0", "0"} },
		"AClosedLast":         func(b *body.Body) { b.Tables[0].Chunks[1].Until = []string{"9", "9"} },
		"AHoleBetweenChunks":  func(b *body.Body) { b.Tables[0].Chunks[1].From = []string{"", "x"} },
		"BoundsOfLessKey":     func(b *body.Body) { bound(b, "a") },
		"BoundsOfMoreKey":     func(b *body.Body) { bound(b, "a", "b", "c") },
		"BoundsOfNoKey":       func(b *body.Body) { bound(b) },
		"AZeroByteInABound":   func(b *body.Body) { bound(b, "a", "\x00") },
		"BoundsWithoutAKey":   func(b *body.Body) { b.Tables[0].Key = nil },
		"EmptyBoundsNoKey":    func(b *body.Body) { b.Tables[0].Key = nil; bound(b) },
		"AChunkOfNoKeys":      func(b *body.Body) { emptyChunk(b) },
		"ASequenceOfNoName":   func(b *body.Body) { b.Sequences[0].Name.Name = "" },
		"ASequenceOfNoSchema": func(b *body.Body) { b.Sequences[0].Schema = "" },
		"ASequenceTwice":      func(b *body.Body) { b.Sequences = append(b.Sequences, b.Sequences[0]) },
		"ASequenceAtRest":     func(b *body.Body) { b.Sequences[0].Increment = 0 },
		"AnOwnerOfNoColumn":   func(b *body.Body) { b.Sequences[0].Column = "" },
		"AColumnOfNoOwner":    func(b *body.Body) { b.Sequences[0].Owner = body.Name{} },
		"AnOwnerOfHalfAName":  func(b *body.Body) { b.Sequences[0].Owner.Schema = "" },
	}
}

// bound moves the boundary between the two chunks.
func bound(b *body.Body, values ...string) {
	if values == nil {
		values = []string{}
	}
	b.Tables[0].Chunks[0].Until, b.Tables[0].Chunks[1].From = values, values
}

// emptyChunk puts a chunk between the two, from their boundary to itself.
func emptyChunk(b *body.Body) {
	chunks := b.Tables[0].Chunks
	between := body.Chunk{From: chunks[1].From, Until: chunks[1].From, Object: object("none")}
	b.Tables[0].Chunks = slices.Insert(chunks, 1, between)
}

// manyRows has chunks whose rows add up to the table's once the sum has run over.
func manyRows(b *body.Body) {
	b.Tables[0].Key, b.Tables[0].Chunks, b.Tables[0].Rows = nil, nil, 0
	for _, content := range []string{"a", "b", "c"} {
		b.Tables[0].Chunks = append(b.Tables[0].Chunks, body.Chunk{Rows: math.MaxInt64, Object: object(content)})
		b.Tables[0].Rows += math.MaxInt64
	}
}

func TestBodyRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range refused() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sample()
			change(&b)
			if encoded, err := body.Encode(b); !fault.Is(err, fault.Bug) || encoded != nil {
				t.Errorf("got %s, %v, want a bug", encoded, err)
			}
			encoded, err := document.Encode(b)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := body.Decode(encoded); err == nil {
				t.Errorf("%s is read as %+v", encoded, got)
			}
		})
	}
}

// TestBodyTakes: what a database or an operator may well have said must not stand in the way of a backup.
func TestBodyTakes(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *body.Body){
		"AnEmptyDatabase": func(b *body.Body) {
			b.Cut, b.Gaps, b.Definitions, b.Tables, b.Sequences, b.Uncaptured, b.Warnings = nil, nil, nil, nil, nil, nil, nil
		},
		"EmptySlices": func(b *body.Body) {
			b.Cut, b.Gaps, b.Tables[0].Collations = body.Cut{}, []body.Gap{}, []string{}
		},
		"NamesOfControlCharacters": func(b *body.Body) { b.Tables[0].Name.Name, b.Snapshot.Database = "\n", "\x01" },
		"LongNamesOfOtherLetters":  func(b *body.Body) { b.Tables[0].Name.Name = strings.Repeat("€", 255) },
		"AGapWithoutAReason":       func(b *body.Body) { b.Gaps[0].Reason, b.Gaps[0].Actor = "", "" },
		"GapsOfTwoGenerations": func(b *body.Body) {
			again := b.Gaps[0]
			again.Generation++
			b.Gaps = append(b.Gaps, again)
		},
		"ACutOutsideOfTheLog": func(b *body.Body) { b.Cut[0].Log = &body.LogBounds{Start: 5, End: 5} },
		"TwoPartsOfOnePhase":  func(b *body.Body) { b.Definitions[1].Phase = body.BeforeData },
		"ADefinitionOnATableOfAnExtension": func(b *body.Body) {
			b.Definitions[1].Table = body.Name{Schema: "cron", Name: "job"}
		},
		"AKeyOfAGeneratedColumn":  func(b *body.Body) { b.Tables[0].Key[0] = "generated" },
		"ATableWithoutColumns":    func(b *body.Body) { b.Tables[0].Columns = nil },
		"ASequenceOfNobody":       func(b *body.Body) { b.Sequences[0].Owner, b.Sequences[0].Column = body.Name{}, "" },
		"TheSameObjectTwice":      func(b *body.Body) { b.Tables[0].Chunks[0].Object = object("two") },
		"ManyChunksWithoutAKey":   func(b *body.Body) { b.Tables[0].Key = nil; unbound(b) },
		"AChunkWithoutRows":       func(b *body.Body) { b.Tables[0].Chunks[1].Rows, b.Tables[0].Rows = 0, 1<<53 },
		"OneChunk":                func(b *body.Body) { oneChunk(b) },
		"TheSmallestLSN":          func(b *body.Body) { b.Snapshot.LSN = "0/0" },
		"NeitherLockNorRecipient": func(b *body.Body) { b.Store = body.Store{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sample()
			change(&b)
			encoded := mustEncode(t, b)
			got, err := body.Decode(encoded)
			if err != nil {
				t.Fatal(err)
			}
			if again := mustEncode(t, got); string(again) != string(encoded) {
				t.Errorf("got %s, want %s", again, encoded)
			}
		})
	}
}

func unbound(b *body.Body) {
	for i := range b.Tables[0].Chunks {
		b.Tables[0].Chunks[i].From, b.Tables[0].Chunks[i].Until = nil, nil
	}
}

func oneChunk(b *body.Body) {
	b.Tables[0].Chunks = []body.Chunk{{Rows: b.Tables[0].Rows, Object: manifest.Object{
		Digest: manifest.DigestOf(nil), Plain: manifest.DigestOf(nil), Size: 1,
	}}}
}
