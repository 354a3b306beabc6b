package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/signing/localkey/localkeytest"
)

func TestMain(m *testing.M) {
	code := servicestest.Run(m)
	if err := goleak.Find(); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = max(code, 1)
	}
	os.Exit(code)
}

// mark stands in every row, and must be in nothing that the function writes.
const mark = "mark3r"

const ddl = "CREATE TABLE item (id text PRIMARY KEY, n integer); INSERT INTO item SELECT '" + mark + "' || i, i FROM generate_series(1, 500) i;"

// function is the handler with an archive in a folder, and what it wrote.
type function struct {
	*handler

	folder string
	out    *bytes.Buffer
}

// environmentFor is the environment of a function on db, with changes in the form NAME=VALUE.
func environmentFor(t *testing.T, db *postgrestest.Database, folder string, changes ...string) config.Backup {
	t.Helper()
	private, trusted := localkeytest.Files(t)
	set := map[string]string{
		"TIDEMARK_TARGET_ID": postgrestest.TargetID.String(), "TIDEMARK_DATABASE_URL": db.URL, "TIDEMARK_LOG_LEVEL": "debug",
		"TIDEMARK_ARCHIVE": "file://" + folder, "TIDEMARK_TRUSTED_KEYS": trusted, "TIDEMARK_SIGNING_KEYS": private,
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		set[name] = value
	}
	environment, err := config.LoadBackup(func(name string) (string, bool) { value, ok := set[name]; return value, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return environment
}

// start makes the function of an environment. What it wrote is searched for rows in the end.
func start(t *testing.T, db *postgrestest.Database, changes ...string) *function {
	t.Helper()
	f := &function{folder: t.TempDir(), out: &bytes.Buffer{}}
	environment := environmentFor(t, db, f.folder, changes...)
	var err error
	if f.handler, err = assembleFor(t.Context(), &environment, 0, f.out); err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(func() {
		if strings.Contains(f.out.String(), mark) {
			t.Errorf("rows are written: %s", f.out)
		}
		for line := range strings.Lines(f.out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("no log line: %s", line)
			}
		}
	})
	return f
}

// invoke gives the reply to an event.
func (f *function) invoke(t *testing.T, payload []byte) (reply result) {
	t.Helper()
	answered, err := f.Invoke(t.Context(), payload)
	if err != nil {
		t.Fatalf("%v\n%s", err, f.out)
	}
	if err := json.Unmarshal(answered, &reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

// lines are the log lines with that message, each as what it says of the attributes.
func (f *function) lines(t *testing.T, message string, attributes ...string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(f.out.String()) {
		var all map[string]any
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("no log line: %s", text)
		}
		if all["msg"] != message {
			continue
		}
		asked := map[string]any{}
		for _, name := range attributes {
			asked[name] = all[name]
		}
		lines = append(lines, asked)
	}
	return lines
}

const first, second = "2026-11-29T21:00:00Z", "2026-11-29T22:00:00Z"

func TestBackup(t *testing.T) {
	t.Parallel()
	t.Run("SaysWhatItMade", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl))
		got := f.invoke(t, scheduled(first, "e-1", "1"))
		if got.Outcome != done || got.Seq != 1 || got.Copies != 1 || got.Rows < 500 || got.Bytes == 0 || got.Stored == 0 || got.Tables == 0 ||
			got.Seconds <= 0 || got.Why != "" || got.Scheduled.Format(time.RFC3339) != first {
			t.Errorf("got %+v", got)
		}
		if _, err := os.Stat(filepath.Join(f.folder, got.Manifest)); err != nil {
			t.Errorf("the manifest that the reply names: %v", err)
		}
		want := []map[string]any{{
			"level": "INFO", "seq": 1.0, "run_id": got.RunID.String(), "scheduled_time": first, "execution": "e-1", "copies": 1.0,
		}}
		if diff := cmp.Diff(want, f.lines(t, "backup done", "level", "seq", "run_id", "scheduled_time", "execution", "copies")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("AScheduledTimeHasOneBackup", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl))
		made, again := f.invoke(t, scheduled(first, "e-1", "1")), f.invoke(t, scheduled(first, "e-1", "2"))
		if again.Outcome != alreadyDone || again.Manifest != made.Manifest || again.RunID != made.RunID || again.Why == "" {
			t.Errorf("got %+v, want the backup that was made: %+v", again, made)
		}
		if next := f.invoke(t, scheduled(second, "e-2", "1")); next.Outcome != done || next.Seq != 2 || next.Stored >= made.Stored {
			t.Errorf("got %+v, want the next backup, which reuses what the first stored", next)
		}
		if got := len(f.lines(t, "backup done")); got != 2 {
			t.Errorf("the log has %d manifests, want 2", got)
		}
	})
	t.Run("WithoutAScheduleEachIsOne", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl))
		one, two := f.invoke(t, []byte("{}")), f.invoke(t, []byte("{}"))
		if one.Outcome != done || two.Outcome != done || two.Seq != 2 || !two.Scheduled.IsZero() {
			t.Errorf("got %+v and %+v", one, two)
		}
	})
	t.Run("CountsManifestsInAQuietLog", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl), "TIDEMARK_LOG_LEVEL=error")
		f.invoke(t, []byte("{}"))
		if got := f.lines(t, "backup done"); len(got) != 1 {
			t.Errorf("got %d lines: the alarm on missing manifests counts them", len(got))
		}
	})
	t.Run("WarnsOfAMissingCopy", func(t *testing.T) {
		t.Parallel()
		other := t.TempDir()
		f := start(t, postgrestest.Live(t, ddl), "TIDEMARK_ARCHIVE_SECONDARY=file://"+other)
		if err := os.WriteFile(filepath.Join(other, "owner.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := f.invoke(t, []byte("{}"))
		if got.Outcome != done || got.Copies != 1 || len(got.Warnings) == 0 {
			t.Errorf("got %+v, want a warning that the second bucket has no copy", got)
		}
		if diff := cmp.Diff([]map[string]any{{"level": "WARN"}}, f.lines(t, "backup done", "level")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBackupWithoutTime(t *testing.T) {
	t.Parallel()
	f := start(t, postgrestest.Live(t, ddl))
	soon, cancel := context.WithTimeout(t.Context(), time.Minute) // less than the reserve: nothing is begun
	defer cancel()
	for range 3 {
		answered, err := f.Invoke(soon, scheduled(first, "e-1", "1"))
		var got result
		if err := errors.Join(err, json.Unmarshal(answered, &got)); err != nil {
			t.Fatalf("%v\n%s", err, f.out)
		}
		if got.Outcome != continuation || got.Manifest != "" || got.Why == "" {
			t.Errorf("got %+v, want a continuation", got)
		}
	}
	if got := f.invoke(t, scheduled(first, "e-1", "1")); got.Outcome != done || got.Seq != 4 {
		t.Errorf("got %+v, want the scheduled time backed up in the end", got)
	}
	told := f.lines(t, "backup unfinished: the next run goes on", "level", "in_a_row", "advice")
	if len(told) != 3 || told[0]["level"] != "WARN" || told[2]["in_a_row"] != 3.0 {
		t.Fatalf("got %v", told)
	}
	if text, _ := told[2]["advice"].(string); !strings.Contains(text, "3 in a row") || !strings.Contains(text, "TIDEMARK_BACKUP_JOBS") {
		t.Errorf("got advice %q", text)
	}
	if f.unfinished != 0 {
		t.Error("a backup that was made does not end the row")
	}
}

// At the deadline itself the process is killed: what hangs until then must end while its end can still be told.
func TestBackupThatHangs(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, ddl)
	f := start(t, db)
	f.options.Reserve = time.Nanosecond // nothing but the deadline ends it
	db.Exec(t, "BEGIN; LOCK TABLE item")
	soon, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	answered, err := f.Invoke(soon, scheduled(first, "e-1", "1"))
	if soon.Err() != nil {
		t.Error("it ended at its deadline")
	}
	var got result
	if err := errors.Join(err, json.Unmarshal(answered, &got)); err != nil || got.Outcome != continuation {
		t.Errorf("got %s, %v, want a continuation\n%s", answered, err, f.out)
	}
	db.Exec(t, "ROLLBACK")
	if got := f.invoke(t, scheduled(first, "e-1", "1")); got.Outcome != done {
		t.Errorf("got %+v, want the next one to make the backup", got)
	}
}

func TestBackupBesideAnother(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, ddl)
	f := start(t, db)
	db.Exec(t, "BEGIN; LOCK TABLE tidemark.backup_run IN SHARE ROW EXCLUSIVE MODE") // as whoever begins a run
	got := f.invoke(t, scheduled(first, "e-1", "1"))
	if got.Outcome != running || got.Why == "" {
		t.Errorf("got %+v, want that another one runs", got)
	}
	db.Exec(t, "ROLLBACK")
	want := []map[string]any{{"level": "WARN", "class": "retryable"}}
	if diff := cmp.Diff(want, f.lines(t, "another backup is running", "level", "class")); diff != "" {
		t.Error(diff)
	}
}

func TestBackupFails(t *testing.T) {
	t.Parallel()
	fails := func(t *testing.T, f *function, payload []byte, class fault.Class, line string, says ...string) {
		t.Helper()
		got, err := f.Invoke(t.Context(), payload)
		if _, ok := errors.AsType[*FailedError](err); !ok || got != nil || !fault.Is(err, class) {
			t.Fatalf("got %s, %v, want a failure of class %s", got, err, class)
		}
		for _, text := range says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("got %q, want it to say %q", err, text)
			}
		}
		told := f.lines(t, line, "level", "class", "hint")
		if len(told) != 1 || told[0]["level"] != "ERROR" || told[0]["class"] != class.String() || told[0]["hint"] == "" {
			t.Errorf("got %v, want one line with class and hint", told)
		}
	}
	t.Run("AtAnEventThatNobodyFilledIn", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, ddl))
		fails(t, f, scheduled("<aws.scheduler.scheduled-time>", "e", "1"), fault.Misconfigured, "event refused", "did not replace")
		if entries, err := os.ReadDir(f.folder); err != nil || len(entries) > 0 {
			t.Errorf("got %v, %v in the archive, want nothing", entries, err)
		}
	})
	t.Run("AtWhatCannotBeCaptured", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, ddl+"CREATE PUBLICATION news FOR TABLE item;")
		f := start(t, db)
		fails(t, f, []byte("{}"), fault.Misconfigured, "backup failed", "publication news", "TIDEMARK_ALLOW_UNCAPTURED")
		allowed := start(t, db, "TIDEMARK_ALLOW_UNCAPTURED=publication news")
		if got := allowed.invoke(t, []byte("{}")); got.Outcome != done {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("AtATargetThatIsNotLive", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, ddl)
		db.Exec(t, "UPDATE tidemark.target SET state = 'held'")
		fails(t, start(t, db), []byte("{}"), fault.Fenced, "backup failed", "held")
	})
}

func TestAssemble(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, ddl)
	refused := func(t *testing.T, memory int, says string, changes ...string) {
		t.Helper()
		environment := environmentFor(t, db, t.TempDir(), changes...)
		_, err := assembleFor(t.Context(), &environment, memory, &bytes.Buffer{})
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.Line(err), says) {
			t.Errorf("got %v, want it misconfigured and to say %q", err, says)
		}
	}
	refused(t, 1024, "TIDEMARK_BACKUP_JOBS", "TIDEMARK_BACKUP_JOBS=6")
	refused(t, 0, "TIDEMARK_SIGNING_KEYS", "TIDEMARK_SIGNING_KEYS=")
	refused(t, 0, "TIDEMARK_TRUSTED_KEYS", "TIDEMARK_TRUSTED_KEYS=/none/trusted.yaml")
	refused(t, 0, "TIDEMARK_ARCHIVE", "TIDEMARK_ARCHIVE=file:///none/archive")
	refused(t, 0, "TIDEMARK_DATABASE_PASSWORD", "TIDEMARK_DATABASE_URL=postgres://me@127.0.0.1/shop?sslmode=verify-full&sslrootcert=/none.pem")
	environment := environmentFor(t, db, t.TempDir(), "TIDEMARK_BACKUP_JOBS=5")
	if _, err := assembleFor(t.Context(), &environment, 1024, &bytes.Buffer{}); err != nil {
		t.Error(fault.Line(err))
	}
	var written bytes.Buffer
	h, err := assembleFor(t.Context(), &environment, 0, &written)
	if err != nil {
		t.Fatal(err)
	}
	h.announce(t.Context())
	if !strings.Contains(written.String(), `"jobs":5`) {
		t.Errorf("got %s", &written)
	}
}

// TestProgress: a long backup is not silent, and not loud.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 11, 29, 21, 0, 0, 0, time.UTC)
	p := &progress{log: slog.New(slog.NewJSONHandler(&out, nil)), now: func() time.Time { return now }, told: now}
	for range 250 {
		now = now.Add(100 * time.Millisecond)
		p.note(t.Context(), backup.Progress{Table: body.Name{Schema: "shop", Name: "orders"}, Rows: 7})
	}
	if got := strings.Count(out.String(), "\n"); got != 2 || !strings.Contains(out.String(), `"table":"shop.orders"`) {
		t.Errorf("got %d lines in 25 seconds, want 2: %s", got, &out)
	}
	if p.last.Rows != 7 {
		t.Error("the last progress is not remembered")
	}
}
