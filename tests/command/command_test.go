// Package command holds what an operator sees of the command: verbs, exit codes, and messages with a fix in them and no
// secret, through the real binary against a real PostgreSQL.
package command_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tidemark/shared/postgres/postgrestest"
	"tidemark/tests/internal/binary"
)

// secret is in every address that the tests hand over, and must be in nothing that the command prints.
const secret = "hunter2-in-the-test"

const flow = `flow: shop
format: debezium
topics: [dbz.shop.orders, dbz.shop.lines]
log: dense
`

var tidemark = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tidemark-command-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // another account runs it as well
		return "", err
	}
	path := filepath.Join(dir, "tidemark")
	return path, binary.Build(context.Background(), path, binary.Command)
})

// operator runs the command with an environment of its own.
type operator struct {
	t   *testing.T
	env map[string]string
	as  *syscall.Credential // nil: the account of the test
}

func newOperator(t *testing.T, db *postgrestest.Database) *operator {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	return &operator{t: t, env: map[string]string{
		"TIDEMARK_TARGET_ID": "shop", "TIDEMARK_DATABASE_URL": db.URL, "TIDEMARK_FLOW_FILE": file,
	}}
}

// run runs a verb and returns its exit code and everything that it printed.
func (o *operator) run(arguments ...string) (code int, output string) {
	o.t.Helper()
	path, err := tidemark()
	if err != nil {
		o.t.Fatalf("build the command: %v", err)
	}
	command := exec.CommandContext(o.t.Context(), path, arguments...) //nolint:gosec // the binary under test
	for name, value := range o.env {
		command.Env = append(command.Env, name+"="+value)
	}
	if o.as != nil {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: o.as}
	}
	printed, err := command.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		o.t.Fatalf("run tidemark %s: %v", strings.Join(arguments, " "), err)
	}
	if strings.Contains(string(printed), secret) {
		o.t.Errorf("tidemark %s prints the secret: %s", strings.Join(arguments, " "), printed)
	}
	return code, string(printed)
}

// must runs a verb and expects its exit code and the parts in what it prints, on one line if it fails.
func (o *operator) must(code int, parts []string, arguments ...string) {
	o.t.Helper()
	got, output := o.run(arguments...)
	if got != code {
		o.t.Errorf("tidemark %s: exit code %d, want %d: %s", strings.Join(arguments, " "), got, code, output)
	}
	for _, part := range parts {
		if !strings.Contains(output, part) {
			o.t.Errorf("tidemark %s: %q is not in: %s", strings.Join(arguments, " "), part, output)
		}
	}
	if lines := strings.Count(strings.TrimSpace(output), "\n"); code != 0 && lines > 0 {
		o.t.Errorf("tidemark %s: %d lines, want one: %s", strings.Join(arguments, " "), lines+1, output)
	}
}

func TestVerbs(t *testing.T) {
	t.Parallel()
	t.Run("MigrateTwiceInitTwice", func(t *testing.T) {
		t.Parallel()
		o := newOperator(t, postgrestest.Empty(t))
		o.must(30, []string{"misconfigured", "tidemark migrate"}, "init")
		o.must(0, []string{"version 0 ->", "applied"}, "migrate")
		o.must(0, []string{"nothing to do"}, "migrate")
		o.must(0, []string{"target shop is live", "lineage 1"}, "init")
		o.must(0, []string{"target shop was live already"}, "init")
		o.env["TIDEMARK_TARGET_ID"] = "other"
		o.must(15, []string{"misconfigured", "shop", "other", "TIDEMARK_TARGET_ID"}, "init")
	})
	t.Run("FlowStart", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Empty(t)
		o := newOperator(t, db)
		o.must(0, nil, "migrate")
		o.must(30, []string{"tidemark init"}, "flow", "start", "--from", "dbz.shop.orders/0=7")
		o.must(0, nil, "init")
		o.must(0, []string{"no partition has a checkpoint", "begins at 0"}, "flow", "start", "--from", "earliest", "--reason", "again")
		o.must(0, []string{"dbz.shop.orders/0 begins at 7", "dbz.shop.lines/1 begins at 0"},
			"flow", "start", "--from", "dbz.shop.orders/0=7", "--from", "dbz.shop.lines/1=0")
		o.must(0, []string{"stands at 7 already"}, "flow", "start", "--from", "dbz.shop.orders/0=7")
		o.must(30, []string{"--reason", "leaves out [7,9)"}, "flow", "start", "--from", "dbz.shop.orders/0=9")
		o.must(0, []string{"moved from 7 to 9, a new generation"},
			"flow", "start", "--from", "dbz.shop.orders/0=9", "--reason", "two bad records")
		o.must(0, []string{"dbz.shop.orders/0 moved from 9 to 0"}, "flow", "start", "--from", "earliest", "--reason", "again")
		o.must(2, []string{"earliest stands alone"},
			"flow", "start", "--from", "dbz.shop.orders/0=3", "--from", "earliest", "--reason", "again")
		want := "dbz.shop.orders\t0\t0\t7\torigin\t1\ndbz.shop.orders\t0\t7\t9\taccepted\t2\n"
		if got := db.Copy(t, "SELECT topic, partition, from_offset, until_offset, how, generation FROM tidemark.gap ORDER BY from_offset"); got != want {
			t.Errorf("gaps:\n%swant\n%s", got, want)
		}
		if got, want := db.Copy(t, "SELECT count(*), count(DISTINCT actor) FROM tidemark.audit"), "5\t1\n"; got != want {
			t.Errorf("audit rows and actors: %q, want %q", got, want)
		}
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	for name, c := range map[string]struct {
		arguments []string
		parts     []string
	}{
		"AnUnknownVerb":      {[]string{"aply"}, []string{"unknown command", "--help"}},
		"AnUnknownFlag":      {[]string{"migrate", "--force"}, []string{"unknown flag", "--help"}},
		"AnArgumentTooMany":  {[]string{"init", "shop"}, []string{"--help"}},
		"NoStart":            {[]string{"flow", "start"}, []string{"from", "--help"}},
		"APointInTime":       {[]string{"flow", "start", "--from", "2026-01-01"}, []string{"broker access"}},
		"AStrangersTopic":    {[]string{"flow", "start", "--from", "x/0=1"}, []string{`no topic "x"`}},
		"ANegativeOffset":    {[]string{"flow", "start", "--from", "dbz.shop.orders/0=-1"}, []string{"offset"}},
		"APartitionOfNoSuch": {[]string{"flow", "start", "--from", "dbz.shop.orders=1"}, []string{"TOPIC/NUMBER"}},
		"TwoStartsOfOnePartition": {
			[]string{"flow", "start", "--from", "dbz.shop.orders/0=1", "--from", "dbz.shop.orders/0=2"},
			[]string{"dbz.shop.orders/0 has a start already"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, db)
			o.env["TIDEMARK_TARGET_ID"] = string(postgrestest.TargetID)
			o.must(2, c.parts, c.arguments...)
		})
	}
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	db := postgrestest.Empty(t)
	address, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*url.URL)) string {
		copied := *address
		change(&copied)
		return copied.String()
	}
	for name, c := range map[string]struct {
		set   map[string]string
		code  int
		parts []string
	}{
		"AWrongPassword": {
			map[string]string{"TIDEMARK_DATABASE_PASSWORD": secret}, 30, []string{"misconfigured", "28P01", "TIDEMARK_DATABASE_PASSWORD"},
		},
		"AnUnknownDatabase": {
			map[string]string{"TIDEMARK_DATABASE_URL": with(func(u *url.URL) { u.Path = "/nowhere" })}, 30, []string{"3D000", "nowhere"},
		},
		"AnUnreachableDatabase": {
			map[string]string{"TIDEMARK_DATABASE_URL": "postgres://me:" + secret + "@127.0.0.1:1/x?sslmode=disable"},
			30,
			[]string{"retryable", "reach"},
		},
		"AnAddressThatIsNone": {
			map[string]string{"TIDEMARK_DATABASE_URL": "postgres://me:" + secret + "@host:port/x"}, 2, []string{"TIDEMARK_DATABASE_URL"},
		},
		"NoTarget":          {map[string]string{"TIDEMARK_TARGET_ID": ""}, 2, []string{"TIDEMARK_TARGET_ID"}},
		"AnUnknownVariable": {map[string]string{"TIDEMARK_TARGETID": "x"}, 2, []string{"TIDEMARK_TARGETID", "TIDEMARK_TARGET_ID"}},
		"ASchemaThatIsNone": {map[string]string{"TIDEMARK_LEDGER_SCHEMA": "a b"}, 2, []string{"TIDEMARK_LEDGER_SCHEMA"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, db)
			for variable, value := range c.set {
				o.env[variable] = value
			}
			o.must(c.code, c.parts, "migrate")
		})
	}
}
