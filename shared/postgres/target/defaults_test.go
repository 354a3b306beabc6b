package target_test

import (
	"strings"
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// preferences are the places where somebody may have set what sessions begin with. Each sets SETTING to VALUE for the
// test's database alone and returns the address that leads there.
func preferences() map[string]func(t *testing.T, db *postgrestest.Database, setting, value string) string {
	altered := func(statement string) func(*testing.T, *postgrestest.Database, string, string) string {
		return func(t *testing.T, db *postgrestest.Database, setting, value string) string {
			t.Helper()
			db.Exec(t, "DO $do$ BEGIN EXECUTE format('"+statement+" SET "+setting+" TO "+value+"'"+
				", current_database(), current_user); END $do$")
			return db.URL
		}
	}
	return map[string]func(t *testing.T, db *postgrestest.Database, setting, value string) string{
		"OfTheDatabase": altered("ALTER DATABASE %1$I"),
		"OfTheRole":     altered("ALTER ROLE %2$I IN DATABASE %1$I"),
		"OfTheAddress": func(t *testing.T, db *postgrestest.Database, setting, value string) string {
			t.Helper()
			return with(t, db.URL, setting, value)
		},
		"OfTheAddressesOptions": func(t *testing.T, db *postgrestest.Database, setting, value string) string {
			t.Helper()
			return with(t, db.URL, "options", "-c "+setting+"="+value)
		},
	}
}

// with is an address with another parameter.
func with(t *testing.T, address, name, value string) string {
	t.Helper()
	u := parse(t, address)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20") // the driver takes a plus for itself
	return u.String()
}

// TestEncoding is about sessions that would speak another encoding: every text arrives as the record has it.
func TestEncoding(t *testing.T) {
	t.Parallel()
	for place, prefer := range preferences() {
		for way, least := range map[string]int{"ByStatements": 0, "ByCopy": 1} {
			t.Run("IsUTF8WhateverThePreference/"+place+"/"+way, func(t *testing.T) {
				t.Parallel()
				db := postgrestest.Live(t, itemDDL)
				s := on(t, db, target.Options{Database: prefer(t, db, "client_encoding", "LATIN1"), LeastCopied: least})
				s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, record.Run{
					Partition: applytest.P(0),
					Records:   []record.Record{applytest.At(0, applytest.Item("é", "ñ")), applytest.At(1, applytest.Item("日", "本"))},
				})
				// Another session's word, in bytes: what it shows does not hang on its own encoding.
				want := "c3a9\tc3b1\ne697a5\te69cac\n"
				got := db.Copy(t, "SELECT encode(convert_to(id, 'UTF8'), 'hex'), encode(convert_to(body, 'UTF8'), 'hex')"+
					" FROM item ORDER BY 1")
				if got != want {
					t.Errorf("the rows' bytes: got %q, want %q", got, want)
				}
			})
		}
	}
}

// TestDurability is about what COMMIT's answer means: a delivery that is answered never comes again, so the commit must
// not be lost in a crash of the server.
func TestDurability(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE TABLE seen (setting text); CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS" +
		" $$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;" +
		"CREATE TRIGGER look AFTER INSERT ON item FOR EACH STATEMENT EXECUTE FUNCTION look();"
	for place, prefer := range preferences() {
		for _, c := range []struct{ name, value, want string }{
			{"AnAsynchronousCommitIsMadeSynchronous", "off", "on"},
			{"AStrongerWishStands", "remote_apply", "remote_apply"},
			{"ALocalWishStands", "local", "local"},
		} {
			t.Run(c.name+"/"+place, func(t *testing.T) {
				t.Parallel()
				db := postgrestest.Live(t, itemDDL+ddl)
				s := on(t, db, target.Options{Database: prefer(t, db, "synchronous_commit", c.value)})
				b := s.bench(apply.Options{})
				b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
				b.MustDeliver(applytest.Want{Applied: 2, Next: at0(4)}, items(2, 4, "a")) // on a session that was used before
				if got := db.Copy(t, "SELECT DISTINCT setting FROM seen"); got != c.want+"\n" {
					t.Errorf("synchronous_commit while rows are written: got %q, want %q", got, c.want)
				}
			})
		}
	}
}
