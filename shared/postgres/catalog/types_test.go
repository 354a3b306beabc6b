package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
)

const someTypes = `
CREATE SCHEMA other; CREATE SCHEMA ext;
CREATE TYPE mood AS ENUM ('a'); CREATE TYPE other.mood AS ENUM ('b'); CREATE TYPE "Mixed Case" AS (a int);
CREATE TYPE floats AS RANGE (SUBTYPE = float8);
CREATE DOMAIN price AS numeric(10, 2); CREATE DOMAIN list_price AS price; CREATE DOMAIN prices AS price[];
CREATE DOMAIN moment AS timestamp(3)[]; CREATE DOMAIN feeling AS other.mood; CREATE DOMAIN flags AS bit(8);
CREATE DOMAIN other.code AS varchar(3); CREATE DOMAIN doc AS json;`

func TestTypes(t *testing.T) {
	t.Parallel()
	numeric := func(scale int) change.Type {
		return change.Type{Kind: change.KindNumeric, Name: "numeric", Scale: scale, HasScale: true}
	}
	timestamp := func(precision int) change.Type {
		return change.Type{Kind: change.KindTimestamp, Name: "timestamp without time zone", Precision: precision}
	}
	array := func(name string, elem change.Type) change.Type {
		return change.Type{Kind: change.KindArray, Name: name, Elem: &elem}
	}
	tests := []struct {
		declared string
		want     change.Type
	}{
		{"bool", change.Type{Kind: change.KindBool, Name: "boolean"}},
		{"int2", change.Type{Kind: change.KindInteger, Name: "smallint", Equality: change.EqualityInteger}},
		{"oid", change.Type{Kind: change.KindInteger, Name: "oid", Equality: change.EqualityInteger}},
		{"real", change.Type{Kind: change.KindFloat, Name: "real"}},
		{"numeric", change.Type{Kind: change.KindNumeric, Name: "numeric"}},
		{"numeric(7)", numeric(0)},
		{"numeric(7,2)", numeric(2)},
		{"numeric(2,-3)", numeric(-3)},
		{"numeric(3,1000)", numeric(1000)},
		{"numeric(1000,-1000)", numeric(-1000)},
		{"money", change.Type{Kind: change.KindMoney, Name: "money"}},
		{"text", change.Type{Kind: change.KindOther, Name: "text", Equality: change.EqualityText}},
		{"varchar", change.Type{Kind: change.KindOther, Name: "character varying", Equality: change.EqualityText}},
		{"varchar(3)", change.Type{Kind: change.KindOther, Name: "character varying"}},
		{"char(3)", change.Type{Kind: change.KindOther, Name: "bpchar"}},
		{"bpchar", change.Type{Kind: change.KindOther, Name: "bpchar"}},
		{`"char"`, change.Type{Kind: change.KindOther, Name: `"char"`}},
		{"name", change.Type{Kind: change.KindOther, Name: "name"}},
		{"uuid", change.Type{Kind: change.KindOther, Name: "uuid", Equality: change.EqualityUUID}},
		{"bytea", change.Type{Kind: change.KindBytea, Name: "bytea"}},
		{"date", change.Type{Kind: change.KindDate, Name: "date"}},
		{"time", change.Type{Kind: change.KindTime, Name: "time without time zone", Precision: 6}},
		{"timetz(0)", change.Type{Kind: change.KindTimeTZ, Name: "time with time zone"}},
		{"timestamp", timestamp(6)},
		{"timestamp(3)", timestamp(3)},
		{"timestamptz(6)", change.Type{Kind: change.KindTimestampTZ, Name: "timestamp with time zone", Precision: 6}},
		{"interval(2)", change.Type{Kind: change.KindInterval, Name: "interval"}},
		{"interval year to month", change.Type{Kind: change.KindInterval, Name: "interval"}},
		{"json", change.Type{Kind: change.KindJSON, Name: "json"}},
		{"jsonb", change.Type{Kind: change.KindJSON, Name: "jsonb"}},
		{"bit", change.Type{Kind: change.KindBit, Name: `"bit"`, Length: 1}},
		{"bit(12)", change.Type{Kind: change.KindBit, Name: `"bit"`, Length: 12}},
		{"varbit", change.Type{Kind: change.KindVarBit, Name: "bit varying"}},
		{"varbit(5)", change.Type{Kind: change.KindVarBit, Name: "bit varying", Length: 5}},
		{"point", change.Type{Kind: change.KindPoint, Name: "point"}},
		{"box", change.Type{Kind: change.KindOther, Name: "box"}},
		{"int2vector", change.Type{Kind: change.KindOther, Name: "int2vector"}},
		{"oidvector", change.Type{Kind: change.KindOther, Name: "oidvector"}},
		{"mood", change.Type{Kind: change.KindOther, Name: "public.mood", Equality: change.EqualityText}},
		{"other.mood", change.Type{Kind: change.KindOther, Name: "other.mood", Equality: change.EqualityText}},
		{`"Mixed Case"`, change.Type{Kind: change.KindOther, Name: `public."Mixed Case"`}},
		{"floats", change.Type{Kind: change.KindOther, Name: "public.floats"}},
		{"list_price", numeric(2)},
		{"flags", change.Type{Kind: change.KindBit, Name: `"bit"`, Length: 8}},
		{"feeling", change.Type{Kind: change.KindOther, Name: "other.mood", Equality: change.EqualityText}},
		{"other.code", change.Type{Kind: change.KindOther, Name: "character varying"}},
		{"numeric(7,2)[]", array("numeric[]", numeric(2))},
		{"numeric(7,2)[][]", array("numeric[]", numeric(2))},
		{"price[]", array("public.price[]", numeric(2))},
		{"prices", array("public.price[]", numeric(2))},
		{"prices[]", array("public.prices[]", array("public.price[]", numeric(2)))},
		{"moment", array("timestamp without time zone[]", timestamp(3))},
		{"bit(3)[]", array(`"bit"[]`, change.Type{Kind: change.KindBit, Name: `"bit"`, Length: 3})},
		{"char(3)[]", array("bpchar[]", change.Type{Kind: change.KindOther, Name: "bpchar"})},
		{"other.mood[]", array("other.mood[]", change.Type{Kind: change.KindOther, Name: "other.mood"})},
	}
	var columns []string
	for i, test := range tests {
		columns = append(columns, fmt.Sprintf("c%d %s", i, test.declared))
	}
	table := mustRead(t, newDatabase(t, someTypes+"CREATE TABLE t ("+strings.Join(columns, ", ")+")"), "t")
	for i, test := range tests {
		t.Run(test.declared, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, table.Relation.Columns[i].Type); diff != "" {
				t.Errorf("type (-want +got):\n%s", diff)
			}
			if got := table.Columns[i].Cast; got != test.want.Name {
				t.Errorf("a text is cast to %s, want %s", got, test.want.Name)
			}
		})
	}
}

// TestEquality: how the rows of a column are compared.
func TestEquality(t *testing.T) {
	t.Parallel()
	const builtIn = "OPERATOR(pg_catalog.=)"
	tests := []struct {
		declared      string
		equal, domain bool
		operator      string
	}{
		{"int", true, false, builtIn},
		{"varchar(3)", true, false, builtIn},
		{"char(3)", true, false, builtIn},
		{"cidr", true, false, builtIn},
		{"jsonb", true, false, builtIn},
		{"xid8", true, false, builtIn},
		{"xid", true, false, builtIn},
		{"mood", true, false, builtIn},
		{"floats", true, false, builtIn},
		{"int4multirange", true, false, builtIn},
		{"feeling", true, true, builtIn},
		{"other.code", true, true, builtIn},
		{"prices", true, true, builtIn},
		{"price[]", true, false, builtIn},
		{"text[]", true, false, builtIn},
		{"json", false, false, builtIn},
		{"doc", false, true, builtIn},
		{"doc[]", false, false, builtIn},
		{"json[][]", false, false, builtIn},
		{"xml", false, false, builtIn},
		{"point", false, false, builtIn},
		{"box", false, false, builtIn},
		{"polygon[]", false, false, builtIn},
		{"jsonpath", false, false, builtIn},
		{"\"Mixed Case\"", false, false, builtIn},
	}
	available := newDatabase(t, someTypes)
	for _, extension := range []string{"citext", "hstore"} {
		if available.Copy(t, "SELECT 1 FROM pg_available_extensions WHERE name = '"+extension+"'") == "" {
			t.Logf("the server has no extension %s: its type is not tested here", extension)
			continue
		}
		available.Exec(t, "CREATE EXTENSION "+extension+" SCHEMA ext; CREATE DOMAIN other."+extension+" AS ext."+extension)
		tests = append(tests, []struct {
			declared      string
			equal, domain bool
			operator      string
		}{
			{"ext." + extension, true, false, "OPERATOR(ext.=)"},
			{"other." + extension, true, true, "OPERATOR(ext.=)"},
			{"ext." + extension + "[]", true, false, builtIn},
		}...)
	}
	var columns []string
	for i, test := range tests {
		columns = append(columns, fmt.Sprintf("c%d %s", i, test.declared))
	}
	available.Exec(t, "CREATE TABLE t ("+strings.Join(columns, ", ")+")")
	table := mustRead(t, available, "t")
	for i, test := range tests {
		t.Run(test.declared, func(t *testing.T) {
			t.Parallel()
			got := table.Columns[i]
			if got.Equal != test.equal || got.Domain != test.domain || got.Operator != test.operator {
				t.Errorf("got equal %v, domain %v and %s, want %v, %v and %s",
					got.Equal, got.Domain, got.Operator, test.equal, test.domain, test.operator)
			}
		})
	}
}

// TestFromText: where a function casts text to a type, the way leads around it.
func TestFromText(t *testing.T) {
	t.Parallel()
	table := mustRead(t, newDatabase(t, someTypes+`
		CREATE FUNCTION word(text) RETURNS mood LANGUAGE sql AS $$SELECT mood 'a'$$;
		CREATE CAST (text AS mood) WITH FUNCTION word(text);
		CREATE DOMAIN moody AS mood;
		CREATE TABLE t ("regclass" regclass, "public.mood" mood, "moody" moody, "regclass[]" regclass[],
			"name" name, "xml" xml,
			"other.mood" other.mood, "integer" int)`), "t")
	var got []string
	for _, c := range table.Columns {
		got = append(got, c.FromText)
	}
	want := []string{
		"pg_catalog.bpchar::regclass", "pg_catalog.bpchar::public.mood", "pg_catalog.bpchar::public.mood",
		"regclass[]", "name", "xml",
		"other.mood", "integer",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("casts of a text (-want +got):\n%s", diff)
	}
}
