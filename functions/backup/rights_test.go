package main

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"tidemark/shared/postgres/postgrestest"
)

// grants are the rights that docs/operations.md gives to the role of a backup.
const grants = `
GRANT pg_read_all_data TO tidemark_backup;
GRANT INSERT, UPDATE, DELETE ON tidemark.backup_run TO tidemark_backup;
GRANT UPDATE (state, reason) ON tidemark.target TO tidemark_backup;
GRANT UPDATE (updated_at) ON tidemark.checkpoint TO tidemark_backup;
GRANT INSERT ON tidemark.audit TO tidemark_backup;
`

func TestBackupNeedsNoMoreRights(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "CREATE SCHEMA shop; CREATE TABLE shop.other (id serial PRIMARY KEY);"+ddl)
	address, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	role := "backup_" + strings.TrimPrefix(address.Path, "/tidemark_test_")
	db.Exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'x';"+strings.ReplaceAll(grants, "tidemark_backup", role))
	t.Cleanup(func() {
		if _, err := db.Conn.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
			t.Errorf("drop the role: %v", err)
		}
	})
	address.User = url.UserPassword(role, "x")
	db.URL = address.String()
	if got := start(t, db).invoke(t, []byte("{}")); got.Outcome != done {
		t.Errorf("got %+v", got)
	}
}
