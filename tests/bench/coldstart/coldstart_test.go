package coldstart_test

import (
	"os"
	"testing"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/tests/bench/coldstart"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

func TestMeasure(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, load.DDL)
	got, err := coldstart.Measure(t.Context(), coldstart.Options{
		URL: db.URL, TargetID: postgrestest.TargetID, Flow: "bench", Seed: 7, Starts: 2, Rounds: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.BinaryMB <= 0 || got.Handler.Min <= 0 || got.Reply.Min < got.Handler.Min {
		t.Errorf("impossible figures: %+v", got)
	}
	if (got.Resident != nil) != meter.HasProc() {
		t.Errorf("resident memory %v, with /proc: %v", got.Resident, meter.HasProc())
	}
	// Every record of every event has its row: two small events and three large ones, all full.
	var rows int
	if err := db.Conn.QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if least := 2*10 + 3*(got.EventRecords-10); rows < least || got.EventMB < 5.5 || got.EventMB > 6.1 {
		t.Errorf("%d rows, want at least %d, of events of %v MB", rows, least, got.EventMB)
	}
}
