package body_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

func at(second int) time.Time { return time.Date(2026, 7, 1, 10, 0, second, 123_456_000, time.UTC) }

func object(content string) manifest.Object {
	return manifest.Object{
		Digest: manifest.DigestOf([]byte("stored " + content)), Size: 20 << 20,
		Plain: manifest.DigestOf([]byte(content)), PlainSize: 1<<53 + 1, Encrypted: true,
	}
}

// sample has every member, and texts of every kind.
func sample() body.Body {
	epoch, applied := int32(7), at(1)
	return body.Body{
		Version:     document.Version,
		TargetID:    "shop.eu-1",
		Incarnation: "0190c5ae-7e1f-7abc-8def-0123456789ab",
		Lineage:     3,
		Seq:         math.MaxInt64,
		RunID:       "0190c5ae-7e1f-7abc-8def-0123456789ac",
		Snapshot: body.Snapshot{
			SystemIdentifier: "7412345678901234567", Database: "shöp", ServerVersion: 170004, Encoding: "UTF8",
			Collation: "icu de-DE 153.120", LedgerSchema: "tidemark", LedgerVersion: 3, LSN: "16/B374D848", Taken: at(0),
			ClusterID: "MkU3OEVBNTcwNTJENDM2Qk",
		},
		Store: body.Store{CreateOnly: true, Encryption: "aws:kms", Recipients: 2, LockedUntil: at(30)},
		Cut: body.Cut{
			{
				Flow: "shop", Topic: "orders", Partition: 1, NextOffset: math.MaxInt64, Generation: 2,
				TopicID: "0190c5ae-7e1f-7abc-8def-0123456789ad", LeaderEpoch: &epoch, RecordTime: &applied,
				Log: &body.LogBounds{Start: 5, End: math.MaxInt64},
			},
			{Flow: "web", Topic: "clicks", NextOffset: 0},
		},
		Gaps: []body.Gap{{
			Flow: "shop", Topic: "orders", Partition: 1, Generation: 2, From: 5, Until: 1<<53 + 1, How: "accepted",
			Actor: "ann", Reason: "retention\nate it", At: at(2),
		}},
		Definitions: []body.Definition{
			{Phase: body.BeforeData, Kind: "table", Schema: "public", Name: "orders", SQL: "CREATE TABLE orders (id text)"},
			{
				Phase: body.Keys, Kind: "index", Schema: "public", Name: "orders_pkey",
				Table: body.Name{Schema: "public", Name: "orders"},
				SQL:   "-- \"<&>\" \\ \u0001 \u2028 \ufffd é e\u0301 \U0001f600\r\n\tCREATE UNIQUE INDEX …",
			},
		},
		Tables: []body.Table{
			{
				Name: body.Name{Schema: "public", Name: "orders"},
				Columns: []body.Column{
					{Name: "id", Type: "bigint", OID: 20, Identity: "by default"},
					{Name: "A\n\"b\"", Type: "numeric(10,2)", OID: 1700},
				},
				Key: []string{"id", "region"}, Rows: 1<<53 + 1, Collations: []string{"153.120"},
				Chunks: []body.Chunk{
					{Until: []string{"", "😀"}, Rows: 1 << 53, Object: object("one")},
					{From: []string{"", "😀"}, Rows: 1, Object: object("two")},
				},
			},
			{Name: body.Name{Schema: "tidemark", Name: "audit"}},
		},
		Sequences: []body.Sequence{{
			Name: body.Name{Schema: "public", Name: "orders_id_seq"}, Last: math.MinInt64, Called: true, Increment: -1,
			Owner: body.Name{Schema: "public", Name: "orders"}, Column: "id",
		}},
		Uncaptured: []string{"large objects"},
		Warnings:   []string{"public.clicks has no rows any more"},
	}
}

func mustEncode(tb testing.TB, b body.Body) []byte {
	tb.Helper()
	encoded, err := body.Encode(b)
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

// small is a body of one thing of each kind.
func small() body.Body {
	b := sample()
	b.Cut, b.Definitions, b.Tables = b.Cut[1:], b.Definitions[:1], b.Tables[:1]
	b.Tables[0].Columns, b.Tables[0].Chunks = b.Tables[0].Columns[:1], nil
	b.Tables[0].Chunks = []body.Chunk{{Rows: b.Tables[0].Rows, Object: object("one")}}
	return b
}

// bodies draws valid bodies.
func bodies() *rapid.Generator[body.Body] {
	return rapid.Custom(func(t *rapid.T) body.Body {
		b := sample()
		b.Cut, b.Gaps, b.Definitions, b.Tables, b.Sequences = drawCut(t), nil, drawDefinitions(t), drawTables(t), nil
		b.Uncaptured = rapid.SliceOfN(rapid.String(), -1, 3).Draw(t, "uncaptured")
		for i := range rapid.IntRange(0, 3).Draw(t, "sequences") {
			b.Sequences = append(b.Sequences, body.Sequence{
				Name: body.Name{Schema: text(t), Name: text(t) + strconv.Itoa(i)}, Last: rapid.Int64().Draw(t, "last"),
				Called: rapid.Bool().Draw(t, "called"), Increment: rapid.Int64Min(1).Draw(t, "increment"),
			})
		}
		for i, how := range []string{"origin", "healed", "accepted", "excluded"} {
			b.Gaps = append(b.Gaps, body.Gap{
				Flow: "shop", Topic: "orders", Generation: int64(i), How: how, Actor: text(t),
				Until:  position.Offset(rapid.Int64Min(1).Draw(t, "until")),
				Reason: rapid.String().Draw(t, "reason"),
				At:     document.Moment(time.UnixMicro(rapid.Int64().Draw(t, "at"))),
			})
		}
		return b
	})
}

func text(t *rapid.T) string {
	return "x" + strings.ReplaceAll(rapid.StringN(0, 100, -1).Draw(t, "text"), "\x00", "")
}

func drawCut(t *rapid.T) body.Cut {
	var cut body.Cut
	for i := range rapid.IntRange(0, 4).Draw(t, "partitions") {
		p := body.Partition{
			Flow: "shop", Topic: "orders", Partition: int32(i), NextOffset: position.Offset(rapid.Int64Min(0).Draw(t, "next")),
			Generation: rapid.Int64Min(0).Draw(t, "generation"),
		}
		if rapid.Bool().Draw(t, "asked") {
			epoch := rapid.Int32Min(0).Draw(t, "epoch")
			applied := document.Moment(time.UnixMilli(rapid.Int64().Draw(t, "applied")))
			p.LeaderEpoch, p.RecordTime = &epoch, &applied
			p.Log = &body.LogBounds{End: position.Offset(rapid.Int64Min(0).Draw(t, "end"))}
		}
		cut = append(cut, p)
	}
	return cut
}

func drawDefinitions(t *rapid.T) []body.Definition {
	var definitions []body.Definition
	for _, phase := range []body.Phase{body.BeforeData, body.Keys, body.References, body.AfterData} {
		for range rapid.IntRange(0, 2).Draw(t, "definitions") {
			definitions = append(definitions, body.Definition{Phase: phase, Kind: "table", Name: text(t), SQL: text(t)})
		}
	}
	return definitions
}

func drawTables(t *rapid.T) []body.Table {
	var tables []body.Table
	for i := range rapid.IntRange(0, 3).Draw(t, "tables") {
		table := body.Table{
			Name:    body.Name{Schema: text(t), Name: text(t) + strconv.Itoa(i)},
			Columns: []body.Column{{Name: text(t), Type: text(t), OID: rapid.Uint32Min(1).Draw(t, "oid")}},
		}
		keyed := rapid.Bool().Draw(t, "keyed")
		if keyed {
			table.Key = []string{"a", "b"}
		}
		chunks := rapid.IntRange(0, 4).Draw(t, "chunks")
		var bound []string
		for n := range chunks {
			c := body.Chunk{From: bound, Rows: rapid.Int64Range(0, math.MaxInt64/8).Draw(t, "rows"), Object: object(text(t))}
			if bound = nil; keyed && n < chunks-1 {
				bound = []string{text(t), strconv.Itoa(n)}
			}
			c.Until = bound
			table.Chunks, table.Rows = append(table.Chunks, c), table.Rows+c.Rows
		}
		tables = append(tables, table)
	}
	return tables
}
