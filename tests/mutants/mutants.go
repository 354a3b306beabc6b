package main

// mutant breaks one law of the ledger.
type mutant struct {
	law, breaks string
	edits       []edit
	guard       guard
}

// edit replaces one text of a file, which must be there exactly once.
type edit struct{ file, text, with string }

// guard is the test that must turn red.
type guard struct{ folder, test string }

func mutants() []mutant { return append(positions(), effects()...) }

// positions break what the ledger says of positions.
func positions() []mutant {
	return []mutant{
		{
			law: "L1", breaks: "rows commit before the checkpoint moves",
			edits: []edit{{
				file: "shared/postgres/target/transaction.go",
				text: `s.add(ownerNone, tx.target.ledger.Advance(work))`,
				with: `s.add(ownerNone, postgres.Statement{SQL: "COMMIT"}, tx.target.ledger.Advance(work))`,
			}},
			guard: guard{"shared/postgres/target", "TestTarget/A3_RefusesAMoveFromAnotherPosition"},
		},
		{
			law: "L2", breaks: "a checkpoint may stand still or go back",
			edits: []edit{{
				file: "shared/postgres/migrations/sql/00001_ledger.sql",
				text: ` AND a.next_offset > a.from_offset`,
			}},
			guard: guard{"shared/postgres/target", "TestTarget/L2_RefusesAMoveThatDoesNotGoForward"},
		},
		{
			law: "L3", breaks: "the checkpoint stays below the last row",
			edits: []edit{{
				file: "shared/apply/commit.go",
				text: `Next: p.covers().Until}`,
				with: `Next: max(p.from+1, p.covers().Until-1)}`,
			}},
			guard: guard{"shared/postgres/target", "TestStampedRows/AreExactlyThoseBelowTheCheckpoint"},
		},
	}
}

// effects break what a record does, and for whom.
func effects() []mutant {
	return []mutant{
		{
			law: "L4", breaks: "an event is applied again under another offset",
			edits: []edit{
				{
					file: "shared/apply/commit.go",
					text: `if ledger.Known[d.identity] || seen[d.identity] {`,
					with: `if seen[d.identity] {`,
				},
				{
					file: "shared/postgres/ledger/ledger.go",
					text: `::timestamptz[]) AS i",`,
					with: `::timestamptz[]) AS i ON CONFLICT DO NOTHING",`,
				},
			},
			guard: guard{"shared/postgres/target", "TestIdentity/AppliesAnEventOnceUnderTwoOffsets"},
		},
		{
			law: "L5", breaks: "a writer of another life moves the checkpoint",
			edits: []edit{
				{
					file: "shared/postgres/migrations/sql/00001_ledger.sql",
					text: `WHERE t.state = 'live' AND t.incarnation = p_incarnation;`,
					with: `WHERE t.state = 'live';`,
				},
				{
					file: "shared/postgres/migrations/sql/00001_ledger.sql",
					text: "\n     AND c.incarnation = p_incarnation;",
					with: `;`,
				},
			},
			guard: guard{"shared/postgres/target", "TestTarget/L5_RefusesAnotherLife"},
		},
		{
			law: "L6", breaks: "a missing cell hides the value before it",
			edits: []edit{{
				file: "shared/apply/reduction/window.go",
				text: `if !c.Row[i].IsMissing() && !c`,
				with: `if !c`,
			}},
			guard: guard{"tests/histories", "TestBatch/EqualsItsRecordsOneByOne"},
		},
	}
}
