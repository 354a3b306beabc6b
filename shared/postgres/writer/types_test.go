package writer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/postgrestest"
)

// typed is a type with texts of it. Every text is written as a value, in an array, in a domain, in an array of domains
// and in a domain over the array.
type typed struct {
	name  string
	texts []string
}

// shapes are the columns of the tables of a type, in order.
var shapes = []string{"v", "a", "d", "da", "dd"}

// typeBench holds a table of a type for each of three ways to fill it.
type typeBench struct {
	*flow
}

// twins makes the tables for a type: written by the writer with and without a key, and a twin filled by COPY.
func (b *typeBench) twins(tb testing.TB, typeName string) {
	tb.Helper()
	const columns = "v %[1]s, a %[1]s[], d d, da d[], dd dd"
	b.Exec(tb, fmt.Sprintf("CREATE SCHEMA s; CREATE DOMAIN s.d AS %[1]s; CREATE DOMAIN s.dd AS %[1]s[];"+
		"SET search_path = s, public; CREATE TABLE s.w (id int PRIMARY KEY, "+columns+");"+
		"CREATE TABLE s.c (id int PRIMARY KEY, "+columns+"); CREATE TABLE s.k ("+columns+"); RESET search_path", typeName))
	b.target.Forget()
}

// shaped is the text in the form of each column.
func shaped(typeName, text string) []any {
	array := string(postgres.TextArray([]string{text}))
	if strings.HasPrefix(typeName, "box") {
		array = "{" + text + "}"
	}
	return []any{text, array, text, array, array}
}

// copyIn is what COPY makes of a row: an error or nothing.
func copyIn(tb testing.TB, db *postgrestest.Database, statement string, values ...any) error {
	tb.Helper()
	var line strings.Builder
	for i, v := range values {
		if i > 0 {
			line.WriteByte('\t')
		}
		if text, ok := v.(string); ok {
			line.WriteString(strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(text))
			continue
		}
		line.WriteString(`\N`)
	}
	line.WriteByte('\n')
	_, err := db.Conn.PgConn().CopyFrom(tb.Context(), strings.NewReader(line.String()), statement)
	return err
}

func stateOf(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}

// settings are those under which a target writes; COPY needs the same to read the same.
const settings = "SET datestyle = ISO; SET intervalstyle = postgres; SET timezone = 'UTC'; SET lc_monetary = 'C'"

// agrees writes every text of a type by insert, by partial update, in bulk and by COPY, compares what is stored, and
// deletes each row again from a table without a key.
func (b *typeBench) agrees(tb testing.TB, typ typed) {
	tb.Helper()
	b.Exec(tb, "DROP SCHEMA IF EXISTS s CASCADE; "+settings)
	b.twins(tb, typ.name)
	written, keyless := b.named(tb, name("s", "w")), b.named(tb, name("s", "k"))
	var inserts, updates []change.Change
	for n, text := range typ.texts {
		row := shaped(typ.name, text)
		inserted, updated := fmt.Sprint(2*n), fmt.Sprint(2*n+1)
		for _, id := range []string{inserted, updated} {
			if err := copyIn(tb, b.Database, "COPY s.c FROM STDIN", slices.Concat([]any{id}, row)...); err != nil {
				tb.Fatalf("%s: COPY does not take %q, so the test proves nothing: %v", typ.name, text, err)
			}
		}
		inserts = append(inserts, written.insert(slices.Concat([]any{inserted}, row)...),
			written.insert(updated, nil, nil, nil, nil, nil))
		updates = append(updates, written.update(slices.Concat([]any{updated}, row)...))
		err := b.try(tb, written.insert(slices.Concat([]any{inserted}, row)...),
			written.insert(updated, nil, nil, nil, nil, nil),
			written.update(slices.Concat([]any{updated}, row[:4], []any{gone{}})...),
			written.update(updated, gone{}, gone{}, gone{}, gone{}, row[4]), keyless.insert(row...))
		if err != nil {
			tb.Errorf("%s: write %q: %v", typ.name, text, err)
			continue
		}
		if typ.isModified() { // what the source had was rounded on its way in
			row = b.stored(tb, inserted)
		}
		if err := b.try(tb, keyless.remove(row...)); err != nil {
			tb.Errorf("%s: delete the row that equals %q: %v", typ.name, text, err)
		}
	}
	b.wantRows(tb, "SELECT count(*) FROM s.k", "0")
	b.wantTwins(tb, typ)
	b.Exec(tb, "TRUNCATE s.w")
	for _, changes := range [][]change.Change{inserts, updates} {
		if err := b.inBulk(tb, reduction.Group{}, changes...); err != nil {
			tb.Errorf("%s: %s in bulk: %v", typ.name, changes[0].Op, err)
		}
	}
	b.wantTwins(tb, typ)
}

// wantTwins compares what the writer and COPY stored.
func (b *typeBench) wantTwins(tb testing.TB, typ typed) {
	tb.Helper()
	if got, want := b.Copy(tb, "SELECT * FROM s.w ORDER BY id"), b.Copy(tb, "SELECT * FROM s.c ORDER BY id"); got != want {
		tb.Errorf("%s: the writer stored\n%s COPY stored\n%s", typ.name, got, want)
	}
}

// isModified says whether the type has a modifier.
func (typ typed) isModified() bool {
	return strings.Contains(typ.name, "(") || strings.Contains(typ.name, " to ")
}

// stored are the cells that COPY made of a row, as a source of the same type would send them.
func (b *typeBench) stored(tb testing.TB, id string) []any {
	tb.Helper()
	read := b.Conn.PgConn().ExecParams(tb.Context(), "SELECT "+strings.Join(shapes, ", ")+" FROM s.c WHERE id = $1",
		[][]byte{[]byte(id)}, nil, nil, nil).Read()
	if read.Err != nil {
		tb.Fatal(read.Err)
	}
	var row []any
	for _, cell := range read.Rows[0] {
		row = append(row, string(cell))
	}
	return row
}

func TestTypes(t *testing.T) {
	t.Parallel()
	t.Run("EveryBuiltInTypeIsWrittenAsCopyWritesIt", func(t *testing.T) {
		t.Parallel()
		b := &typeBench{flow: newFlow(t, "")}
		user := strings.TrimSpace(b.Copy(t, "SELECT quote_ident(current_user)"))
		for _, typ := range builtInTypes() {
			for i := range typ.texts {
				typ.texts[i] = strings.ReplaceAll(typ.texts[i], "USER", user)
			}
			b.agrees(t, typ)
		}
	})
	t.Run("UserDefinedTypesAreWrittenAsCopyWritesThem", func(t *testing.T) {
		t.Parallel()
		b := &typeBench{flow: newFlow(t, userTypes)}
		for _, typ := range userTypesTexts() {
			b.agrees(t, typ)
		}
	})
	t.Run("TypesOfExtensionsNeedNoPlaceInTheSearchPath", func(t *testing.T) {
		t.Parallel()
		b := &typeBench{flow: newFlow(t, "CREATE SCHEMA ext")}
		for extension, texts := range map[string][]string{
			"hstore": {`"a"=>"1", "b"=>NULL`, `"q\"uo"=>"{,}"`, ""},
			"citext": {"Straße", "a\tb", ""},
			"ltree":  {"Top.Science_1", ""},
			"cube":   {"(1, -2),(3, 4)", "(0)"},
		} {
			if ddl := "CREATE EXTENSION " + extension + " SCHEMA ext"; hasExtensions(t, b.flow, ddl) {
				b.Exec(t, ddl)
				b.agrees(t, typed{"ext." + extension, texts})
			}
		}
	})
	t.Run("NoBuiltInTypeIsLeftOut", func(t *testing.T) {
		t.Parallel()
		b := newFlow(t, "")
		var names []string
		for _, typ := range builtInTypes() {
			names = append(names, "'"+strings.ReplaceAll(typ.name, "'", "''")+"'::regtype")
		}
		b.wantRows(t, "SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace"+
			" AND typtype IN ('b', 'r', 'm')"+
			" AND oid NOT IN (SELECT typarray FROM pg_type) AND oid NOT IN ("+strings.Join(names, ", ")+") ORDER BY typname",
			withoutInput...)
	})
}

// withoutInput are the built-in types that accept no text.
var withoutInput = []string{
	"gtsvector", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary", "pg_dependencies", "pg_mcv_list",
	"pg_ndistinct", "pg_node_tree",
}

// builtInTypes has every type of PostgreSQL 15 that accepts a text, and those with modifiers.
func builtInTypes() []typed {
	return slices.Concat(plainTypes(), oddTypes(), modifiedTypes())
}

func plainTypes() []typed {
	return []typed{
		{"boolean", []string{"t", "false", "yes"}},
		{"smallint", []string{"-32768", "007"}},
		{"integer", []string{"2147483647", " -1 "}},
		{"bigint", []string{"-9223372036854775808", "9007199254740993"}},
		{"real", []string{"-0", "NaN", "1e-45", "0.1", "-Infinity"}},
		{"double precision", []string{"-0", "NaN", "Infinity", "5e-324", "0.30000000000000004"}},
		{"numeric", []string{"1.0", "1.00", "NaN", "-Infinity", "0.000000000000000069", "1e400", "-0.0"}},
		{"money", []string{"$1,234.56", "-92233720368547758.08", "0"}},
		{"bytea", []string{`\x00ff`, `\\\000`, `\x`}},
		{"text", []string{"", " ", `\N`, `\.`, "NULL", "{a,\"b\"}", "a\tb\nc\rd", "$1 'q' \"r\" \\", "🐘é"}},
		{"character varying", []string{"", "trailing  ", "null"}},
		{"bpchar", []string{"", "trailing  "}},
		{`"char"`, []string{"a", "", "é"}},
		{"name", []string{"a b", strings.Repeat("é", 40)}},
		{"date", []string{"infinity", "-infinity", "0044-03-15 BC", "5874897-12-31", "4713-02-29 BC", "1582-10-10"}},
		{"time", []string{"24:00:00", "23:59:60", "00:00:00.000001"}},
		{"time with time zone", []string{"24:00:00-15:59", "01:02:03.4+05:30:07"}},
		{"timestamp", []string{"infinity", "-infinity", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999"}},
		{"timestamp with time zone", []string{"infinity", "1969-12-31 23:59:59.999999+05", "0001-01-01 00:00:00+00 BC"}},
		{"interval", []string{"1 mon", "30 days", "-1 years +2 mons -3 days +04:05:06.7", "00:00:00.000001"}},
		{"uuid", []string{"{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}", "00000000-0000-0000-0000-000000000000"}},
		{"json", []string{`{"b":1, "a":1,"a":2}`, `"\u0000"`, "null", `"{}"`, "9007199254740993.10"}},
		{"jsonb", []string{`{"b":1, "a":1,"a":2}`, "null", `"a\"b"`, "1.10", "[]"}},
		{"jsonpath", []string{`$."a"[*] ? (@ > 1)`, "strict $"}},
		{"xml", []string{"<a b=\"1\">é</a>", "text <b/>", "<?xml version=\"1.0\"?><a/>"}},
		{"inet", []string{"10.1.2.3/8", "::1", "::ffff:1.2.3.4/96"}},
		{"cidr", []string{"10.0.0.0/8", "::/0"}},
		{"macaddr", []string{"08-00-2b-01-02-03"}},
		{"macaddr8", []string{"08:00:2b:01:02:03:04:05", "08002b:010203"}},
		{"bit", []string{"1", "0"}},
		{"bit varying", []string{"", "0001101", "x1F"}},
		{"point", []string{"(1,-0)", "(NaN,Infinity)"}},
		{"line", []string{"{1,-1,0}"}},
		{"lseg", []string{"[(0,0),(1,1)]"}},
		{"box", []string{"(1,1),(0,0)", "(0,0),(2,3)"}},
		{"path", []string{"[(0,0),(1,1)]", "((0,0),(1,1),(1,0))"}},
		{"polygon", []string{"((0,0),(1,1),(1,0))"}},
		{"circle", []string{"<(0,0),2>"}},
		{"tsvector", []string{`'it''s':1A,2 'a b':3 'back\\slash'`, "", "z a"}},
		{"tsquery", []string{"'a' & !'b':*A | 'c' <2> 'd'", ""}},
		{"int4range", []string{"empty", "[1,5]", "(,3)"}},
		{"int8range", []string{"[9007199254740993,)"}},
		{"numrange", []string{"[1.0,1.00]", "(-Infinity,NaN]"}},
		{"tsrange", []string{`["2020-01-01 00:00:00",infinity)`}},
		{"tstzrange", []string{`("2020-01-01 00:00:00+02","2020-01-02 00:00:00+00"]`}},
		{"daterange", []string{"[2020-01-01,2020-01-31]"}},
		{"int4multirange", []string{"{}", "{[1,3),[2,9)}"}},
		{"int8multirange", []string{"{[1,2)}"}},
		{"nummultirange", []string{"{[1.0,2.0),(3,)}"}},
		{"tsmultirange", []string{`{["2020-01-01 00:00:00","2020-01-02 00:00:00")}`}},
		{"tstzmultirange", []string{`{["2020-01-01 00:00:00+00",)}`}},
		{"datemultirange", []string{"{[2020-01-01,2020-01-02]}"}},
	}
}

// oddTypes are those that hardly anybody stores.
func oddTypes() []typed {
	return []typed{
		{"oid", []string{"4294967295", "0"}},
		{"oidvector", []string{"1 2 4294967295", ""}},
		{"int2vector", []string{"1 -2 3", ""}},
		{"regclass", []string{"pg_class", "-", "123456789"}},
		{"regcollation", []string{`"C"`, "-"}},
		{"regconfig", []string{"simple", "-"}},
		{"regdictionary", []string{"simple", "-"}},
		{"regnamespace", []string{"pg_catalog", "-"}},
		{"regoper", []string{"|/", "0"}},
		{"regoperator", []string{"=(integer,integer)", "0"}},
		{"regproc", []string{"now", "-"}},
		{"regprocedure", []string{"abs(integer)", "-"}},
		{"regrole", []string{"USER", "-"}},
		{"regtype", []string{"integer[]", "-"}},
		{"pg_lsn", []string{"16/B374D848", "0/0"}},
		{"pg_snapshot", []string{"10:20:10,14"}},
		{"txid_snapshot", []string{"10:20:10,14"}},
		{"tid", []string{"(0,1)", "(4294967295,65535)"}},
		{"xid", []string{"4294967295"}},
		{"xid8", []string{"18446744073709551615"}},
		{"cid", []string{"1"}},
		{"aclitem", []string{"USER=r*w/USER", "=r/USER"}},
		{"refcursor", []string{"<unnamed portal 1>", ""}},
	}
}

func modifiedTypes() []typed {
	return []typed{
		{"varchar(3)", []string{"abc", "", "ab   "}},
		{"char(3)", []string{"a", "abc   ", ""}},
		{"numeric(5,2)", []string{"1.005", "-999.99", "NaN"}},
		{"numeric(2,-3)", []string{"99499", "1499"}},
		{"numeric(3,5)", []string{"0.00123"}},
		{"bit(3)", []string{"101"}},
		{"varbit(3)", []string{"", "101"}},
		{"time(0)", []string{"23:59:59.5", "12:00:00.4"}},
		{"timetz(2)", []string{"12:00:00.005+02"}},
		{"timestamp(3)", []string{"2020-01-01 00:00:00.0005", "infinity"}},
		{"timestamptz(0)", []string{"1969-12-31 23:59:59.5+00", "-infinity"}},
		{"interval(1)", []string{"00:00:01.05", "1 year 00:00:00.95"}},
		{"interval year to month", []string{"1 year 2 mons", "1 year 2 mons 3 days"}},
		{"interval day to second(2)", []string{"3 days 04:05:06.789"}},
	}
}

const userTypes = `
CREATE SCHEMA "Other Schema";
CREATE TYPE mood AS ENUM ('ok', 'a b', '{,}', '"', '\', 'null', '', ' ', 'it''s', '🐘');
CREATE FUNCTION other_word(text) RETURNS mood LANGUAGE sql AS $$SELECT mood 'ok'$$;
CREATE CAST (text AS mood) WITH FUNCTION other_word(text);
CREATE TYPE "Other Schema".mood AS ENUM ('other', '(x,y)');
CREATE TYPE "user" AS (a int, "b c" text, m mood, n "Other Schema".mood);
CREATE TYPE nested AS (u "user", us "user"[], j json);
CREATE TYPE floats AS RANGE (SUBTYPE = float8);
CREATE TYPE moods AS RANGE (SUBTYPE = mood, MULTIRANGE_TYPE_NAME = "Other Schema"."Mood Set");
CREATE DOMAIN short AS varchar(3) CHECK (VALUE <> 'bad');
CREATE DOMAIN shorter AS short CHECK (VALUE <> 'no');
CREATE DOMAIN shorts AS short[] CHECK (cardinality(VALUE) < 3);
CREATE DOMAIN fine_mood AS mood CHECK (VALUE <> 'null');
CREATE DOMAIN doc AS json;
CREATE DOMAIN of_user AS "user" CHECK ((VALUE).a > 0);`

func userTypesTexts() []typed {
	user := `(1,"x ""y"" , \\z",it's,"(x,y)")`
	return []typed{
		{"mood", []string{"ok", "a b", "{,}", `"`, `\`, "null", "", " ", "it's", "🐘"}},
		{`"Other Schema".mood`, []string{"other", "(x,y)"}},
		{`"user"`, []string{user, "(,,,)", `(,"",,)`}},
		{"nested", []string{`("(1,a,ok,)","{""(2,b,,)"",NULL}","{""k"": 1}")`, "(,,)"}},
		{"floats", []string{"[1.5,2.5)", "empty", "(-Infinity,)"}},
		{"floats_multirange", []string{"{[1.5,2.5)}"}},
		{"moods", []string{`["a b","{,}"]`}},
		{`"Other Schema"."Mood Set"`, []string{`{["a b","{,}"]}`}},
		{"short", []string{"abc", "ab "}},
		{"shorter", []string{"abc"}},
		{"shorts", []string{`{abc,NULL}`, "{}"}},
		{"fine_mood", []string{"{,}"}},
		{"doc", []string{`{"b":1, "a":1}`}},
		{"of_user", []string{user}},
	}
}
