package config_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/config"
	"tidemark/shared/config/setting"
	"tidemark/shared/fault"
	"tidemark/shared/secret"
)

// environment is a process's environment in memory.
type environment map[string]string

// minimal is the least environment of the apply function, with changes in the form NAME=VALUE.
func minimal(changes ...string) environment {
	e := environment{
		"TIDEMARK_TARGET_ID":    "shop-prod",
		"TIDEMARK_DATABASE_URL": "postgres://tidemark@db.example.com/shop",
		"TIDEMARK_FLOW_FILE":    "/var/task/flow.yaml",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		e[name] = value
	}
	return e
}

func (e environment) lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

func (e environment) environ() []string {
	list := []string{"PATH=/bin", "AWS_REGION=eu-west-1"}
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	return list
}

func (e environment) loadApply() (config.Apply, error) {
	return config.LoadApply(e.lookup, e.environ())
}

func (e environment) loadCommand() (config.Command, error) {
	return config.LoadCommand(e.lookup, e.environ())
}

// limit is what a setting takes and refuses. A refusal must say why.
type limit struct {
	setting string
	takes   []string
	refuses map[string]string // value → reason
}

// covered fails when a setting has no limits in the table.
func covered(t *testing.T, limits []limit, settings []setting.Setting) {
	t.Helper()
	for _, s := range settings {
		if !slices.ContainsFunc(limits, func(l limit) bool { return l.setting == s.Name }) {
			t.Errorf("no limits are tested for %s", s.Name)
		}
	}
}

func variableLimits() []limit {
	long := strings.Repeat("a", 63)
	return []limit{
		{"TIDEMARK_TARGET_ID", []string{"a", "0", "a.b_c-d", long}, map[string]string{
			long + "a": "is not a target id", "A": "is not a target id", "-a": "is not a target id",
			"a b": "is not a target id", "": "is not set",
		}},
		{"TIDEMARK_DATABASE_URL", []string{"postgres://h/d", "host=h"}, map[string]string{
			"": "is not set", "h:5432": "is neither", "postgres:///d": "names no host",
			"postgres://h/d?sslmode=disable": "without TLS", "mysql://h/d": "another scheme",
		}},
		{"TIDEMARK_DATABASE_SECRET", []string{"", "shop/database", "rds!cluster-1", "x#reports"}, map[string]string{
			"hunter 2": "names no secret", "x#": "no key behind the #", "a/secret/with/a:colon": "names no secret",
		}},
		{"TIDEMARK_DATABASE_IAM", []string{"", "true", "false"}, map[string]string{"1": "is not an allowed value"}},
		{"TIDEMARK_SECRET_TTL", []string{"", "10s", "24h"}, map[string]string{
			"9s": "is below the range", "25h": "is above the range", "60": "is not a duration",
		}},
		{"TIDEMARK_DATABASE_PASSWORD", []string{"", "x", " a'b\\c@/%+&=?"}, map[string]string{"a\x00": "holds a zero byte"}},
		{"TIDEMARK_LEDGER_SCHEMA", []string{"", "t", "_t0", long}, map[string]string{
			long + "a": "is not a schema name", "0t": "is not a schema name", "T": "is not a schema name",
			`t"x`: "is not a schema name", "pg_x": "belongs to PostgreSQL", "information_schema": "belongs to PostgreSQL",
		}},
		{"TIDEMARK_DATABASE_CONNECTIONS", []string{"", "1", "2"}, map[string]string{
			"0": "is below the range", "3": "is above the range", "-1": "is below the range", "1.5": "is not a whole number",
			"two": "is not a whole number", "0x1": "is not a whole number", " 1": "is not a whole number",
		}},
		{"TIDEMARK_CONNECT_TIMEOUT", []string{"", "100ms", "0.1s", "60s", "1m"}, map[string]string{
			"99ms": "is below the range", "60.001s": "is above the range", "-5s": "is below the range",
			"5": "is not a duration", "soon": "is not a duration",
		}},
		{"TIDEMARK_LOG_LEVEL", []string{"", "debug", "info", "warn", "error"}, map[string]string{
			"loud": "is not an allowed value", "INFO": "is not an allowed value", "info ": "is not an allowed value",
		}},
		{"TIDEMARK_FLOW_FILE", []string{"f", "/var/task/flow.yaml"}, map[string]string{
			"": "is not set", "a\x00b": "holds a zero byte",
		}},
		{"TIDEMARK_PREPARED_STATEMENTS", []string{"", "true", "false"}, map[string]string{
			"off": "is not an allowed value", "0": "is not an allowed value",
		}},
		{"TIDEMARK_PARTIAL_REPLIES", []string{"", "true", "false"}, map[string]string{
			"yes": "is not an allowed value", "1": "is not an allowed value", "True": "is not an allowed value",
		}},
	}
}

func TestLoadApply(t *testing.T) {
	t.Parallel()
	t.Run("KeepsLimits", func(t *testing.T) {
		t.Parallel()
		covered(t, variableLimits(), config.ApplySettings())
		for _, l := range variableLimits() {
			for _, value := range l.takes {
				if _, err := minimal(l.setting + "=" + value).loadApply(); err != nil {
					t.Errorf("%s=%s: %v", l.setting, value, err)
				}
			}
			for value, why := range l.refuses {
				_, err := minimal(l.setting + "=" + value).loadApply()
				refused(t, err, l.setting, why, "; want ")
			}
		}
	})
	t.Run("DefaultsWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		got, err := minimal().loadApply()
		if err != nil {
			t.Fatal(err)
		}
		want := config.Apply{
			Process: config.Process{
				TargetID:     "shop-prod",
				Database:     secret.New("postgres://tidemark@db.example.com/shop?sslmode=verify-full"),
				LedgerSchema: "tidemark", Connections: 1, ConnectTimeout: 5 * time.Second, PreparedStatements: true, LogLevel: slog.LevelInfo,
				SecretTTL: 5 * time.Minute,
			},
			FlowFile: "/var/task/flow.yaml",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("TakesWhatIsSet", func(t *testing.T) {
		t.Parallel()
		got, err := minimal("TIDEMARK_LEDGER_SCHEMA=ledger", "TIDEMARK_DATABASE_CONNECTIONS=2", "TIDEMARK_LOG_LEVEL=warn",
			"TIDEMARK_CONNECT_TIMEOUT=1m", "TIDEMARK_PARTIAL_REPLIES=true", "TIDEMARK_DATABASE_PASSWORD=p w",
			"TIDEMARK_SECRET_TTL=1h").loadApply()
		if err != nil {
			t.Fatal(err)
		}
		url := "postgres://tidemark@db.example.com/shop?sslmode=verify-full&password=p%20w"
		want := config.Apply{
			Process: config.Process{
				TargetID: "shop-prod", Database: secret.New(url), LedgerSchema: "ledger", Connections: 2,
				ConnectTimeout: time.Minute, PreparedStatements: true, LogLevel: slog.LevelWarn, SecretTTL: time.Hour,
			},
			FlowFile: "/var/task/flow.yaml", PartialReplies: true,
		}
		if diff := cmp.Diff(want, got); diff != "" || !got.Database.Equal(want.Database) {
			t.Error(diff)
		}
	})
	t.Run("TakesThePasswordFromOnePlaceAlone", func(t *testing.T) {
		t.Parallel()
		got, err := minimal("TIDEMARK_DATABASE_SECRET=shop/database#reports").loadApply()
		if want := (secret.Name{ID: "shop/database", Key: "reports"}); err != nil || got.DatabaseSecret != want {
			t.Errorf("got %v, %v, want %v", got.DatabaseSecret, err, want)
		}
		_, err = minimal("TIDEMARK_DATABASE_SECRET=shop/database", "TIDEMARK_DATABASE_PASSWORD=p").loadApply()
		refused(t, err, "TIDEMARK_DATABASE_PASSWORD and TIDEMARK_DATABASE_SECRET exclude each other")
		_, err = minimal("TIDEMARK_DATABASE_SECRET=shop/database", "TIDEMARK_DATABASE_IAM=true").loadApply()
		refused(t, err, "TIDEMARK_DATABASE_IAM and TIDEMARK_DATABASE_SECRET exclude each other")
		_, err = minimal("TIDEMARK_DATABASE_SECRET=shop/database", "TIDEMARK_DATABASE_IAM=false").loadApply()
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("RefusesUnknownVariables", func(t *testing.T) {
		t.Parallel()
		_, err := minimal("TIDEMARK_CONECT_TIMEOUT=hunter2").loadApply()
		refused(t, err, `"TIDEMARK_CONECT_TIMEOUT" is unknown; did you mean TIDEMARK_CONNECT_TIMEOUT?`)
		_, err = minimal("TIDEMARK_=x").loadApply()
		refused(t, err, `"TIDEMARK_" is unknown`)
		_, err = config.LoadApply(minimal().lookup, []string{"TIDEMARK_FLOW"})
		refused(t, err, `"TIDEMARK_FLOW" is unknown; did you mean TIDEMARK_FLOW_FILE?`)
	})
	t.Run("ReportsEverythingAtOnce", func(t *testing.T) {
		t.Parallel()
		e := environment{"TIDEMARK_LOG_LEVEL": "loud", "TIDEMARK_DATABASE_CONNECTIONS": "9", "TIDEMARK_OTHER": "x"}
		got, err := e.loadApply()
		refused(t, err, "TIDEMARK_TARGET_ID is not set", "TIDEMARK_DATABASE_URL is not set", "TIDEMARK_FLOW_FILE is not set",
			`TIDEMARK_LOG_LEVEL: "loud" is not an allowed value; want debug, info, warn or error`,
			`TIDEMARK_DATABASE_CONNECTIONS: "9" is above the range; want a whole number from 1 to 2`, "TIDEMARK_OTHER")
		if diff := cmp.Diff(config.Apply{}, got); diff != "" {
			t.Error("a refused environment is returned: " + diff)
		}
		if hint := fault.HintOf(err); !strings.Contains(hint, "docs/configuration.md") {
			t.Errorf("hint: got %q", hint)
		}
		if line := fault.Line(err); strings.Contains(line, "\n") {
			t.Errorf("more than one line: %s", line)
		}
	})
}

func TestLoadCommand(t *testing.T) {
	t.Parallel()
	t.Run("NeedsNoFlowFile", func(t *testing.T) {
		t.Parallel()
		got, err := minimal("TIDEMARK_FLOW_FILE=", "TIDEMARK_DATABASE_URL=host=localhost").loadCommand()
		if err != nil {
			t.Fatal(err)
		}
		if got.FlowFile != "" || got.Database.Reveal() != "host='localhost'" || got.TargetID != "shop-prod" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("LeavesVariablesOfOthersAlone", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"TIDEMARK_PARTIAL_REPLIES", "TIDEMARK_ARCHIVE", "TIDEMARK_KEEP_LAST"} {
			if _, err := minimal(name + "=whatever").loadCommand(); err != nil {
				t.Error(err)
			}
		}
		_, err := minimal("TIDEMARK_PARTIAL_REPLY=true").loadCommand()
		refused(t, err, "did you mean TIDEMARK_PARTIAL_REPLIES?")
	})
	t.Run("RefusesWhatApplyRefuses", func(t *testing.T) {
		t.Parallel()
		_, err := minimal("TIDEMARK_TARGET_ID=").loadCommand()
		refused(t, err, "TIDEMARK_TARGET_ID is not set")
	})
}

// refused fails unless err is of class Misconfigured and says all of that.
func refused(t *testing.T, err error, says ...string) {
	t.Helper()
	if !fault.Is(err, fault.Misconfigured) {
		t.Errorf("class: got %v of %v, want misconfigured; it should say %q", fault.ClassOf(err), err, says)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to say %q", err, text)
		}
	}
	if hint := fault.HintOf(err); hint == "" || errors.Unwrap(err) == nil {
		t.Errorf("no hint or no cause: %v", err)
	}
}
