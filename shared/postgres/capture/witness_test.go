package capture_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tidemark/shared/postgres/postgrestest"
)

// facts is what the catalog says of everything in the database, asked without the package under test.
func facts(t *testing.T, db *postgrestest.Database) []string {
	t.Helper()
	question, err := os.ReadFile("testdata/facts.sql")
	if err != nil {
		t.Fatal(err)
	}
	db.Exec(t, "SET search_path = ''; SET check_function_bodies = off")
	return strings.Split(db.Copy(t, string(question)), "\n")
}

// dump is what pg_dump says of the database, without comments and settings. Nil says that no pg_dump for this server is at
// hand, as where the server's binaries were downloaded: the facts are the witness then.
func dump(t *testing.T, db *postgrestest.Database) []string {
	t.Helper()
	version := strings.TrimSpace(db.Copy(t, "SELECT current_setting('server_version_num')::integer / 10000"))
	program := "/usr/lib/postgresql/" + version + "/bin/pg_dump"
	if _, err := os.Stat(program); err != nil {
		program = "pg_dump"
	}
	said, err := exec.CommandContext(t.Context(), program, "--version").Output() //nolint:gosec // the path is put together here
	if err != nil || !strings.Contains(string(said), " "+version+".") {
		t.Logf("no pg_dump of version %s: the catalog's facts are compared alone", version)
		return nil
	}
	out, err := exec.CommandContext(t.Context(), program, "--schema-only", "--dbname", db.URL).Output() //nolint:gosec // as above
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("pg_dump: %v: %s", err, failed.Stderr)
	}
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "--") || strings.HasPrefix(line, "SET ") || strings.HasPrefix(line, `\`) {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}
