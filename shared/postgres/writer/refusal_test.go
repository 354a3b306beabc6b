package writer_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"tidemark/shared/change"
	"tidemark/shared/fault"
)

// role makes a login that may do what the flow's function may, and lets it use public.
func (f *flow) role(tb testing.TB, grants string) string {
	tb.Helper()
	role := "tidemark_writer_" + strings.ToLower(rand.Text())
	f.Exec(tb, "CREATE ROLE "+role+" LOGIN PASSWORD '"+role+"'; GRANT USAGE ON SCHEMA tidemark, public TO "+role+
		"; GRANT ALL ON ALL TABLES IN SCHEMA tidemark TO "+role+"; "+strings.ReplaceAll(grants, "ROLE", role))
	tb.Cleanup(func() {
		ctx := context.WithoutCancel(tb.Context())
		if _, err := f.Conn.PgConn().Exec(ctx, "DROP OWNED BY "+role+"; DROP ROLE "+role).ReadAll(); err != nil {
			tb.Error(err)
		}
	})
	return role
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	const ddl = `CREATE TABLE t (id int PRIMARY KEY, v text);
		CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
			IF NEW.v = 'raise' THEN RAISE EXCEPTION 'no % here', NEW.v; END IF;
			IF NEW.v = 'drop' THEN RETURN NULL; END IF;
			IF NEW.v = 'shout' THEN NEW.v = upper(NEW.v); END IF;
			RETURN NEW;
		END$$; CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION guard()`
	t.Run("AnExceptionIsPoison", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl)
		tab := f.table(t, "t")
		wantFault(t, f.try(t, tab.insert("1", "a"), tab.insert("2", "raise")), fault.Poison, "P0001")
		f.wantRows(t, "TABLE t")
	})
	t.Run("AnUpdateThatATriggerDropsIsRowMissing", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+"; CREATE TABLE own (id int); ALTER TABLE t ADD own int")
		tab := f.table(t, "t")
		f.must(t, tab.insert("1", "a", nil), tab.insert("1", "drop", nil))
		f.wantRows(t, "TABLE t", "1\ta\t\\N")
		wantFault(t, f.try(t, tab.update("1", "drop", gone{})), fault.Poison, "TM002")
	})
	t.Run("WhatATriggerWritesStands", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl)
		tab := f.table(t, "t")
		f.must(t, tab.insert("1", "shout"))
		f.wantRows(t, "TABLE t", "1\tSHOUT")
	})
}

func TestRights(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE TABLE t (id int PRIMARY KEY, v text, w text); INSERT INTO t VALUES (1, 'a', 'w')"
	t.Run("RowSecurityIsRefusedAndNeverFilters", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+`; ALTER TABLE t ENABLE ROW LEVEL SECURITY;
			CREATE POLICY partial ON t USING (v <> 'a') WITH CHECK (true)`)
		other := f.as(t, f.role(t, "GRANT ALL ON t TO ROLE"))
		tab := other.table(t, "t")
		for _, c := range []change.Change{
			tab.insert("2", "b", "w"), tab.update("1", "c", gone{}), tab.delete("1"), tab.update("1", "c", "w"),
		} {
			err := other.try(t, c)
			wantFault(t, err, fault.Misconfigured, "42501")
			if fault.HintOf(err) == "" {
				t.Errorf("%s: %v has no hint", c.Op, err)
			}
		}
		f.wantRows(t, "TABLE t", "1\ta\tw")
	})
	t.Run("TheOwnerIsNotFiltered", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+"; ALTER TABLE t ENABLE ROW LEVEL SECURITY")
		tab := f.table(t, "t")
		f.must(t, tab.update("1", "c", gone{}))
		f.wantRows(t, "TABLE t", "1\tc\tw")
	})
	t.Run("AMissingRightIsMisconfigured", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl)
		other := f.as(t, f.role(t, "GRANT SELECT ON t TO ROLE"))
		tab := other.table(t, "t")
		for _, c := range []change.Change{
			tab.insert("2", "b", "w"), tab.update("1", "c", gone{}), tab.delete("1"), tab.truncate(),
		} {
			err := other.try(t, c)
			wantFault(t, err, fault.Misconfigured, "42501")
			if fault.HintOf(err) == "" {
				t.Errorf("%s: %v has no hint", c.Op, err)
			}
		}
		f.wantRows(t, "TABLE t", "1\ta\tw")
	})
	t.Run("RowsNeedNoMoreThanTheirOwnRights", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl)
		other := f.as(t, f.role(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON t TO ROLE"))
		tab := other.table(t, "t")
		deleted, inserted := tab.halves("m", "1", "2", "b", gone{})
		other.must(t, tab.insert("1", "a", "w"), deleted, inserted, tab.update("2", "c", gone{}),
			tab.insert("3", "d", "w"), tab.delete("3"))
		f.wantRows(t, "TABLE t", "2\tc\tw")
	})
}

// TestErrorsHoldNoRows: whatever the server says about a value, the error that goes into logs does not repeat it.
func TestErrorsHoldNoRows(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	f := newFlow(t, `CREATE TYPE mood AS ENUM ('ok'); CREATE DOMAIN short AS text CHECK (length(VALUE) < 3);
		CREATE TABLE parent (id text PRIMARY KEY);
		CREATE TABLE t (id int PRIMARY KEY, i int, n numeric(3, 1), m mood, d short, v varchar(3), ts timestamptz, j jsonb,
			u text UNIQUE, c text CHECK (c <> 's3cret'), p text REFERENCES parent, nn text NOT NULL DEFAULT '',
			q tsquery, path jsonpath, x xml, r regclass, role regrole, typ regtype, proc regproc, ns regnamespace,
			coll regcollation, cfg regconfig, dict regdictionary, op regoper, opr regoperator, procd regprocedure, acl aclitem,
			rng int4range, bits bit(3), net cidr, mac macaddr, arr int[], lsn pg_lsn, poly polygon, vec tsvector, ex int4range, e text,
			EXCLUDE USING gist (ex WITH &&));
		INSERT INTO t (id, u, ex) VALUES (0, 's3cret', '[77701,77702]');
		CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS
			$$BEGIN IF NEW.e IS NOT NULL THEN RAISE EXCEPTION 'bad %', NEW.e USING ERRCODE = NEW.e; END IF; RETURN NEW; END$$;
		CREATE TRIGGER raise BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION raise();
		CREATE TABLE parted (id text PRIMARY KEY) PARTITION BY LIST (id)`)
	tab := f.table(t, "t")
	for _, test := range []struct{ column, text, secret string }{
		{"i", secret, ""},
		{"n", "77701", "77701"},
		{"m", secret, ""},
		{"d", secret, ""},
		{"v", secret, ""},
		{"ts", secret, ""},
		{"ts", "2020-01-01 " + secret, ""},
		{"j", `{"` + secret, ""},
		{"j", `"` + secret + `\u0000"`, ""},
		{"u", secret, ""},
		{"c", secret, ""},
		{"p", secret, ""},
		{"nn", "", secret},
		{"q", secret + " & & )", ""},
		{"path", "$." + secret + "..", ""},
		{"x", "<" + secret, ""},
		{"r", secret, ""},
		{"role", secret, ""},
		{"typ", secret, ""},
		{"proc", secret, ""},
		{"ns", secret, ""},
		{"coll", secret, ""},
		{"cfg", secret, ""},
		{"dict", secret, ""},
		{"op", "<<" + secret, ""},
		{"opr", "+(" + secret + ",int)", ""},
		{"procd", secret + "(int)", ""},
		{"acl", secret + "=r/postgres", ""},
		{"rng", "[77701,1)", "77701"},
		{"rng", secret, ""},
		{"bits", "01" + secret, ""},
		{"net", "10.77.1.1/8", "10.77"},
		{"mac", secret, ""},
		{"arr", "{" + secret + "}", ""},
		{"arr", "{1," + secret, ""},
		{"lsn", secret, ""},
		{"poly", secret, ""},
		{"vec", "'" + secret, ""},
		{"ex", "[77701,77703]", "77701"},
		{"e", "P0001", "bad"},
		{"e", "45000", "bad"},
		{"e", "23505", "bad"},
		{"e", "42P01", "bad"},
		{"e", "40001", "bad"},
	} {
		row := make([]any, len(tab.Columns))
		for i := range row {
			row[i] = gone{}
		}
		row[0] = "1"
		at, _ := tab.Column([]byte(test.column))
		row[at] = test.text
		if test.column == "nn" {
			row[at] = nil
		}
		wantSilent(t, f.try(t, tab.insert(row...)), test.column, test.text, test.secret)
	}
	wantSilent(t, f.try(t, f.table(t, "parted").insert(secret)), "parted", secret, "")
}

func wantSilent(tb testing.TB, err error, column, text, secret string) {
	tb.Helper()
	if secret == "" {
		secret = "s3cret"
	}
	switch {
	case err == nil:
		tb.Errorf("%s: %q was taken, so the test proves nothing", column, text)
	case strings.Contains(fault.Line(err), secret):
		tb.Errorf("%s: the error repeats the row: %s", column, fault.Line(err))
	}
}

// TestSearchPath: names of tables, types and operators do not hang on the role's search path. What still does, because
// the writer leaves the path alone for their sake, are the bodies of the target's own triggers, defaults and checks.
func TestSearchPath(t *testing.T) {
	t.Parallel()
	const ddl = `CREATE SCHEMA evil;
		CREATE TABLE evil.t (id int PRIMARY KEY, v text); CREATE TABLE evil.moved_row (); CREATE TABLE evil.k (v text);
		CREATE TABLE t (id varchar PRIMARY KEY, v text); CREATE TABLE k (id varchar, v text, j json);
		CREATE FUNCTION evil.never(varchar, varchar) RETURNS boolean LANGUAGE sql AS 'SELECT false';
		CREATE FUNCTION evil.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
		CREATE OPERATOR evil.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = evil.never);
		CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.never);
		CREATE TYPE evil.int4 AS ENUM ('x');
		CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS $$BEGIN RAISE 'hijacked'; END$$;`
	for _, path := range []string{"evil, public", "evil, pg_catalog, public", "''"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, ddl)
			role := f.role(t, "GRANT USAGE ON SCHEMA evil TO ROLE; GRANT ALL ON ALL TABLES IN SCHEMA public, evil TO ROLE")
			f.Exec(t, "ALTER ROLE "+role+" SET search_path = "+path)
			other := f.as(t, role)
			tab, keyless := other.table(t, "t"), other.table(t, "k")
			deleted, inserted := tab.halves("m", "a", "b", gone{})
			other.must(t, tab.insert("a", "1"), tab.insert("a", "2"), deleted, inserted, tab.insert("c", "3"), tab.delete("c"))
			f.wantRows(t, "TABLE t", "b\t2")
			f.wantRows(t, "TABLE tidemark.moved_row")
			other.must(t, keyless.insert("a", "1", "{}"), keyless.insert("b", "1", "{}"), keyless.remove("a", "1", "{}"),
				keyless.replace(cells("b", "1", "{}"), "c", "1", "{}"))
			f.wantRows(t, "TABLE k", "c\t1\t{}")
		})
	}
}
