// Package drilling holds what the drills have in common: how a run of them begins and ends, the forms in which an effect goes
// wrong, and the real code that brings records into a target.
//
// It refuses to know what is drilled. No state.
package drilling

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/tests/internal/harness"
)

// atOnce is how many drills run at once, unless -parallel says: more than there are cores, because some wait for time to end.
const atOnce = "4"

const shareDeadline = 5 * time.Minute

// Main makes what the drills of a process share, in a folder, runs them and takes it all down. It gives the exit code.
func Main(m *testing.M, share func(ctx context.Context, dir string) error) int {
	ctx, cancel := context.WithTimeout(context.Background(), shareDeadline)
	defer cancel()
	err := flag.Set("test.parallel", atOnce) // the command line is read later
	dir := ""
	if err == nil {
		dir, err = os.MkdirTemp("", "tidemark-drill-")
	}
	if err == nil {
		err = share(ctx, dir)
	}
	code := 1
	if err == nil {
		code = servicestest.Run(m)
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "drills:", fault.Line(err))
		return max(code, 1)
	}
	return code
}

// Form is one way in which an effect can go wrong. Forms that kill need the process, which is there when the effect comes.
type Form struct {
	Name    string
	Trigger func(number int, kill func()) harness.Trigger
	Kills   bool
}

// Forms are an error before the effect, its reply dropped, and the process killed behind it.
func Forms() []Form {
	return []Form{
		{"ErrorBefore", func(number int, _ func()) harness.Trigger { return harness.ErrorBefore(number) }, false},
		{"ReplyDropped", func(number int, _ func()) harness.Trigger { return harness.ReplyDropped(number) }, false},
		{"Killed", harness.KillAfter, true},
	}
}

// NewApplier puts real code on a database: Debezium's records, one connection.
func NewApplier(t *testing.T, db *postgrestest.Database, flow string, topics ...string) *apply.Applier {
	t.Helper()
	written, err := target.New(target.Options{Database: db.URL, Flow: flow, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { written.Close(context.WithoutCancel(t.Context())) })
	decoder, err := debezium.New(written, debezium.Options{})
	if err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(written, decoder, apply.Options{Flow: flow, TargetID: postgrestest.TargetID, Topics: topics, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return applier
}
