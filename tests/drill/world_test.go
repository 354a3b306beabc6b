//go:build drill

package drill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/localstack/child/childtest"
	"tidemark/localstack/runtimeapi"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/record"
	"tidemark/tests/internal/harness"
)

// world is a target, the proxy before it and what a function needs to reach it. Each drill has its own.
type world struct {
	*history

	first    position.Cut // where the first delivery ends
	db       *postgrestest.Database
	address  *url.URL // of the database, past the proxy
	flowFile string
}

const flowFile = `flow: drill
format: debezium
log: dense
topics: [drill.shop.orders, drill.shop.journal, drill.shop.basket, drill.shop.crate]
`

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldIn(t, postgrestest.Live(t, ddl))
}

func worldIn(t *testing.T, db *postgrestest.Database) *world {
	t.Helper()
	w := &world{db: db, address: parseURL(t, db.URL), flowFile: filepath.Join(t.TempDir(), "flow.yaml")}
	w.history, w.first = everyKind()
	w.writeFlow(t, flowFile)
	return w
}

func (w *world) writeFlow(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(w.flowFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func parseURL(t *testing.T, text string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(text)
	if err != nil {
		t.Fatal("the database's address is no URL")
	}
	return parsed
}

// reset takes the target back to before its first record.
func (w *world) reset(t *testing.T) {
	t.Helper()
	w.db.Exec(t, resetSQL)
	if at := w.verify(t); len(at) != 0 {
		t.Fatalf("after a reset the target stands at %s", at)
	}
}

// verify reads rows and positions in one snapshot, holds them against the model and returns where the target stands.
func (w *world) verify(t *testing.T) position.Cut {
	t.Helper()
	rows, err := w.db.Conn.Query(t.Context(), stateSQL)
	if err != nil {
		t.Fatalf("read the target: %v", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("read the target: %v", err)
	}
	cut := position.Cut{}
	end := w.end()
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "checkpoint "); ok {
			p, at := parseCheckpoint(t, text)
			if cut[p] = at; at > end[p] {
				t.Fatalf("the checkpoint %s is beyond the log", line)
			}
		}
	}
	if want := w.state(cut); !slices.Equal(want, lines) {
		t.Errorf("rows and positions do not agree (-model +target):\n%s", cmp.Diff(want, lines))
	}
	return cut
}

func parseCheckpoint(t *testing.T, text string) (position.Partition, position.Offset) {
	t.Helper()
	name, digits, _ := strings.Cut(text, "=")
	p, err := position.ParsePartition(name)
	if err != nil {
		t.Fatal(err)
	}
	at, err := position.ParseOffset(digits)
	if err != nil {
		t.Fatal(err)
	}
	return p, at
}

// lambda is the function's process with the proxy that it reaches the database through.
type lambda struct {
	*runtimeapi.Function

	world  *world
	proxy  *harness.Proxy
	output *transcript
}

// lambdaOptions is what drills change of a function.
type lambdaOptions struct {
	timeout    time.Duration
	spoil      func(env map[string]string) // changes what the process is told
	onResponse func(requestID string, body []byte) (drop bool)
}

const usualTimeout = 20 * time.Second // no drill that passes comes near it

// newLambda makes a function. Its output must stay free of secrets and payload.
func (w *world) newLambda(t *testing.T, options lambdaOptions) *lambda {
	t.Helper()
	proxy, err := harness.Listen(t.Context(), w.address.Host)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := w.address.User.Password()
	through := *w.address
	through.User, through.Host = url.User(w.address.User.Username()), proxy.Address()
	env := map[string]string{
		"TIDEMARK_TARGET_ID":         postgrestest.TargetID.String(),
		"TIDEMARK_DATABASE_URL":      through.String(),
		"TIDEMARK_DATABASE_PASSWORD": password,
		"TIDEMARK_FLOW_FILE":         w.flowFile,
		"TIDEMARK_PARTIAL_REPLIES":   "true",
	}
	if options.spoil != nil {
		options.spoil(env)
	}
	if options.timeout == 0 {
		options.timeout = usualTimeout
	}
	l := &lambda{world: w, proxy: proxy, output: &transcript{}}
	l.Function, err = runtimeapi.New(runtimeapi.Options{
		Bootstrap: bootstrap, Name: "apply", Env: env, Timeout: options.timeout, Grace: 500 * time.Millisecond,
		Output: l.output, OnResponse: options.onResponse,
	})
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{marker, password, env["TIDEMARK_DATABASE_PASSWORD"]}
	t.Cleanup(func() {
		l.Stop()
		if err := proxy.Close(); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
		if n := proxy.Cancels(); n != 0 {
			t.Errorf("%d cancel requests were sent, want none", n)
		}
		l.output.check(t, secrets...)
	})
	return l
}

// kill ends the process, if there is one.
func (l *lambda) kill() { _ = l.Kill() } // it fails only when there is none

// log is all that the process wrote, which comes by another way than its replies, and later. It ends the process.
func (l *lambda) log() []line {
	l.kill()
	return l.output.lines()
}

// transcript is what a process wrote.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes everything.
func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// forget drops what was written so far.
func (o *transcript) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Reset()
}

// line is what a log line of the function says, as far as drills ask.
type line struct {
	Level, Msg, Class, Error, Hint, Topic string
	Partition                             int32
	Applied, Skipped                      int
}

// lines are the log lines. What is no JSON is left out.
func (o *transcript) lines() []line {
	var lines []line
	for text := range strings.Lines(o.String()) {
		var l line
		if json.Unmarshal([]byte(text), &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines
}

// check finds secrets and payload in the output, and text that is no log line.
func (o *transcript) check(t *testing.T, secrets ...string) {
	t.Helper()
	text := o.String()
	for _, secret := range secrets {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("the output holds a secret or payload")
		}
	}
	for each := range strings.Lines(text) {
		// The runtime's own report of a failed invocation may have a date in front: TestOutput is about that.
		_, object, _ := strings.Cut(each, "{")
		if !json.Valid([]byte("{" + object)) {
			t.Errorf("no log line: %s", each)
		}
	}
}

// event is the event of a batch as the service sends it.
func event(t *testing.T, batch record.Batch) []byte {
	t.Helper()
	payload, err := kafkaevent.Encode(kafkaevent.Source{Kind: kafkaevent.MSK, ARN: "arn:aws:kafka:drill"}, batch)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// delivery is what came of one invocation.
type delivery struct {
	err    error        // the function's, nil when it replied
	done   bool         // the reply called all of it applied
	stands position.Cut // where the target stands afterwards
}

// deliver invokes the function once and verifies the target: rows and positions agree, and nothing was called applied
// whose position is not there.
func (l *lambda) deliver(t *testing.T, batch record.Batch) delivery {
	t.Helper()
	reply, err := l.Invoke(t.Context(), event(t, batch))
	return l.judge(t, batch, reply, err)
}

func (l *lambda) judge(t *testing.T, batch record.Batch, reply []byte, err error) delivery {
	t.Helper()
	claimed := l.claims(t, batch, reply, err)
	d := delivery{err: err, done: err == nil, stands: l.world.verify(t)}
	for _, run := range batch {
		at := claimed[run.Partition]
		d.done = d.done && at == run.Range().Until
		if d.stands[run.Partition] < at {
			t.Errorf("the reply calls %s applied up to %s, the target stands at %s", run.Partition, at, d.stands)
		}
	}
	return d
}

// claims are the positions that a reply calls applied.
func (l *lambda) claims(t *testing.T, batch record.Batch, reply []byte, err error) position.Cut {
	t.Helper()
	claimed := position.Cut{}
	if err != nil {
		return claimed
	}
	failures, err := kafkaevent.ParseReply(reply)
	if err != nil {
		t.Errorf("the reply: %v", err)
		return claimed
	}
	for _, run := range batch {
		claimed[run.Partition] = run.Range().Until
		for _, f := range failures {
			if f.Partition == run.Partition {
				claimed[run.Partition] = min(claimed[run.Partition], f.Offset)
			}
		}
	}
	return claimed
}

// settle delivers until the function calls everything applied, at most so often, and verifies that it is. It returns
// the number of deliveries.
func (l *lambda) settle(t *testing.T, batch record.Batch, most int) int {
	t.Helper()
	var last delivery
	for n := 1; n <= most; n++ {
		if last = l.deliver(t, batch); last.done {
			return n
		}
	}
	t.Errorf("not applied after %d deliveries: %v\n%s", most, last.err, l.output)
	return most
}

// ends verifies that the target stands at cut.
func (w *world) ends(t *testing.T, want position.Cut) {
	t.Helper()
	if got := w.verify(t); !cmp.Equal(got, want) {
		t.Errorf("the target stands at %s, want %s", got, want)
	}
}

const patience = 30 * time.Second

// await asks until the answer is yes.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	childtest.Within(t, patience, what, is)
}

// receive waits for a signal.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case got := <-from:
		return got
	case <-ctx.Done():
		t.Fatalf("waited in vain: %s", what)
		panic("unreachable")
	}
}
