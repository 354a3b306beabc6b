package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKey: which unique index tells a row, and whether ON CONFLICT can use it.
func TestKey(t *testing.T) {
	t.Parallel()
	none := []string{}
	tests := []struct {
		promise, ddl string
		want         []string
		arbiter      bool
	}{
		{"ThePrimaryKey", "CREATE TABLE t (a int, b int PRIMARY KEY)", []string{"b"}, true},
		{"ThePrimaryKeyBeforeTheReplicaIdentity", `CREATE TABLE t (a int NOT NULL, b int PRIMARY KEY);
			CREATE UNIQUE INDEX i ON t (a); ALTER TABLE t REPLICA IDENTITY USING INDEX i`, []string{"b"}, true},
		{
			"TheReplicaIdentityBeforeASmallerIndex", `CREATE TABLE t (a int NOT NULL, b int NOT NULL, c int NOT NULL);
			CREATE UNIQUE INDEX ON t (c); CREATE UNIQUE INDEX i ON t (b, a); ALTER TABLE t REPLICA IDENTITY USING INDEX i`,
			[]string{"b", "a"},
			true,
		},
		{"TheSmallestUniqueIndexThenByName", `CREATE TABLE t (a int NOT NULL, b int NOT NULL, c int NOT NULL);
			CREATE UNIQUE INDEX z ON t (a); CREATE UNIQUE INDEX y ON t (c);
			CREATE UNIQUE INDEX x ON t (a, b)`, []string{"c"}, true},
		{"AnImmediateIndexBeforeADeferrableOne", `CREATE TABLE t (
			a int NOT NULL UNIQUE DEFERRABLE, b int NOT NULL, c int NOT NULL, UNIQUE (b, c))`, []string{"b", "c"}, true},
		{"TheOrderOfTheIndex", "CREATE TABLE t (a int, b int, c int, PRIMARY KEY (c, a, b))", []string{"c", "a", "b"}, true},
		{"ADeferrableKeyIsNoArbiter", "CREATE TABLE t (a int PRIMARY KEY DEFERRABLE)", []string{"a"}, false},
		{"ADeferredKeyIsNoArbiter", "CREATE TABLE t (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)", []string{"a"}, false},
		{
			"IncludedColumnsAreNotPartOfIt", "CREATE TABLE t (a int, b int, c int, PRIMARY KEY (b) INCLUDE (a, c))",
			[]string{"b"},
			true,
		},
		{"IncludedColumnsMayBeNull", `CREATE TABLE t (a int, b int NOT NULL);
			CREATE UNIQUE INDEX ON t (b) INCLUDE (a)`, []string{"b"}, true},
		{
			"APartitionedTablesKey", "CREATE TABLE t (a int, b int, PRIMARY KEY (b, a)) PARTITION BY LIST (a)",
			[]string{"b", "a"},
			true,
		},
		{
			"APartitionsKey", `CREATE TABLE p (a int, b int, PRIMARY KEY (b, a)) PARTITION BY LIST (a);
			CREATE TABLE t (b int NOT NULL, x int, a int NOT NULL); ALTER TABLE t DROP x;
			ALTER TABLE p ATTACH PARTITION t DEFAULT`,
			[]string{"b", "a"},
			true,
		},
		{"AParentsKey", "CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE child () INHERITS (t)", []string{"a"}, true},
		{"AChildHasNone", "CREATE TABLE parent (a int PRIMARY KEY); CREATE TABLE t () INHERITS (parent)", none, false},
		{"DroppedColumnsDoNotShiftIt", `CREATE TABLE t (x int, a int, y int, b int, PRIMARY KEY (b, a));
			ALTER TABLE t DROP x, DROP y`, []string{"b", "a"}, true},
		{
			"AGeneratedColumn", "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a + 1) STORED PRIMARY KEY)",
			[]string{"b"},
			true,
		},
		{"NotAnIndexThatAllowsNull", "CREATE TABLE t (a int UNIQUE, b int NOT NULL, UNIQUE (b, a))", none, false},
		{"NotNullsNotDistinct", "CREATE TABLE t (a int UNIQUE NULLS NOT DISTINCT)", none, false},
		{"NotAPartialIndex", "CREATE TABLE t (a int NOT NULL); CREATE UNIQUE INDEX ON t (a) WHERE a > 0", none, false},
		{"NotAnExpression", "CREATE TABLE t (a int NOT NULL); CREATE UNIQUE INDEX ON t (abs(a))", none, false},
		{
			"NotAColumnBesideAnExpression", "CREATE TABLE t (a int NOT NULL); CREATE UNIQUE INDEX ON t (a, abs(a))",
			none, false,
		},
		{"NotAnExclusion", "CREATE TABLE t (a int NOT NULL, EXCLUDE USING btree (a WITH =))", none, false},
		{"NotAPlainIndex", "CREATE TABLE t (a int NOT NULL); CREATE INDEX ON t (a)", none, false},
		{"NotAnInvalidIndex", `CREATE TABLE t (a int NOT NULL) PARTITION BY LIST (a); CREATE TABLE p PARTITION OF t DEFAULT;
			CREATE UNIQUE INDEX ON ONLY t (a)`, none, false},
		{"NotReplicaIdentityFull", "CREATE TABLE t (a int NOT NULL); ALTER TABLE t REPLICA IDENTITY FULL", none, false},
		{"NoneWithoutColumns", "CREATE TABLE t ()", none, false},
	}
	var ddl []string
	for _, test := range tests {
		ddl = append(ddl, test.ddl)
	}
	tables := inSchemas(t, ddl...)
	for i, test := range tests {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			table := tables[i]
			if diff := cmp.Diff(test.want, keyNames(table)); diff != "" {
				t.Errorf("key (-want +got):\n%s", diff)
			}
			if table.Arbiter != test.arbiter {
				t.Errorf("arbiter: got %v, want %v", table.Arbiter, test.arbiter)
			}
		})
	}
}
