package servicestest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), servicestest.Database(t))
			if err != nil {
				t.Fatal(err)
			}
			// Left open on purpose: the drop must not wait for sessions.
			if _, err := conn.Exec(t.Context(), "CREATE TABLE same_name (id int)"); err != nil {
				t.Errorf("the database is not this test's own: %v", err)
			}
		})
	}
}
