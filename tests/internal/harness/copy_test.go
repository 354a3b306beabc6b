package harness_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/tests/internal/harness"
)

// copied is what numbersCopy and the sweeps see of copyRows.
var copied = []string{"connect", "begin", "copy public.t", "copy data", "copy data", "copy done", "commit"}

const copyT = `COPY "public"."t" ("n") FROM STDIN`

// rowsOfTwoMessages is more than the driver puts into one message.
func rowsOfTwoMessages(last string) io.Reader {
	return strings.NewReader(strings.Repeat("1234567\n", 9000) + last)
}

// copyRows runs one transaction with a COPY.
func copyRows(t *testing.T, conn *pgconn.PgConn) error {
	t.Helper()
	if _, err := conn.Exec(t.Context(), "BEGIN").ReadAll(); err != nil {
		return err
	}
	if _, err := conn.CopyFrom(t.Context(), rowsOfTwoMessages("7\n"), copyT); err != nil {
		return err
	}
	batch := &pgconn.Batch{}
	batch.ExecParams("COMMIT", nil, nil, nil, nil)
	return conn.ExecBatch(t.Context(), batch).Close()
}

func TestProxyWithCopy(t *testing.T) {
	t.Parallel()
	t.Run("NumbersItsParts", numbersPartsOfCopy)
	t.Run("CutsBeforeTheEffect", func(t *testing.T) {
		t.Parallel()
		got := newBundle(t).sweep(t, copied, copyRows, harness.ErrorBefore)
		if diff := cmp.Diff([]int{0, 0, 0, 0, 0, 0, 0}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("DropsTheReplyAfterTheEffect", func(t *testing.T) {
		t.Parallel()
		got := newBundle(t).sweep(t, copied, copyRows, harness.ReplyDropped)
		if diff := cmp.Diff([]int{0, 0, 0, 0, 0, 0, 9001}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("GoesOnAfterAnAct", goesOnAfterAnActWithinCopy)
	t.Run("ActsOnItsFailure", actsOnTheFailureOfCopy)
	t.Run("LeavesUnnumberedWhatTheServerIgnores", leavesUnnumberedWhatTheServerIgnores)
	t.Run("NumbersThatTheClientGivesUp", numbersThatTheClientGivesUp)
}

func numbersPartsOfCopy(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.proxy.Watch()
	conn := b.mustConnect(t)
	if err := copyRows(t, conn); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.CopyTo(t.Context(), io.Discard, "COPY t TO STDOUT"); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"BEGIN", "SAVEPOINT x", "ROLLBACK TO SAVEPOINT x", "RELEASE SAVEPOINT x",
		"INSERT INTO t SELECT u.n FROM unnest(ARRAY[1]) AS u (n)", "DELETE FROM t USING unnest(ARRAY[1]) AS u (n) WHERE t.n = u.n", "ROLLBACK",
	} {
		if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	want := append(copied[:len(copied):len(copied)], "copy", "begin", "savepoint", "rollback to savepoint", "release",
		"insert t in bulk", "delete t in bulk", "rollback")
	if diff := cmp.Diff(want, texts(b.proxy.Effects())); diff != "" {
		t.Error(diff)
	}
}

func goesOnAfterAnActWithinCopy(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"copy public.t", harness.CopyData, harness.CopyDone} {
		for _, after := range []bool{false, true} {
			b := newBundle(t)
			b.proxy.Arm(harness.Trigger{Text: text, After: after, Act: pass})
			if err := copyRows(t, b.mustConnect(t)); err != nil {
				t.Errorf("%s, after %v: %v", text, after, err)
			}
			if at, fired := b.proxy.Fired(); !fired || at.Text != text {
				t.Errorf("%s, after %v: fired %v at %s", text, after, fired, at)
			}
			if got := b.count(t); got != 9001 {
				t.Errorf("%s, after %v: %d rows, want 9001", text, after, got)
			}
		}
	}
}

// The last row is what fails, so the server notices when it has all of them.
func actsOnTheFailureOfCopy(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	conn := b.mustConnect(t)
	b.proxy.Arm(harness.Trigger{Text: harness.CopyDone, After: true, Act: pass})
	if _, err := b.plain.Exec(t.Context(), "CREATE TABLE k (n int PRIMARY KEY); INSERT INTO k VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	_, err := conn.CopyFrom(t.Context(), strings.NewReader("1\n"), "COPY k FROM STDIN")
	wantState(t, err, "23505")
	if _, fired := b.proxy.Fired(); !fired {
		t.Error("the trigger did not fire")
	}
	if err := insert(t, conn); err != nil {
		t.Errorf("behind the failure: %v", err)
	}
}

func wantState(t *testing.T, err error, want string) {
	t.Helper()
	if server, ok := errors.AsType[*pgconn.PgError](err); !ok || server.Code != want {
		t.Errorf("got %v, want the server's own error %s", err, want)
	}
}

// A statement that the server refuses takes no rows: what the driver has sent of them by then means nothing.
func leavesUnnumberedWhatTheServerIgnores(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.proxy.Watch()
	conn := b.mustConnect(t)
	refused, rows := make(chan struct{}), "1\n"
	late := readerFunc(func(p []byte) (int, error) {
		if rows == "" {
			return 0, io.EOF
		}
		<-refused
		n := copy(p, rows)
		rows = ""
		return n, nil
	})
	b.proxy.Arm(harness.Trigger{Text: "copy absent", After: true, Act: func(harness.Point) harness.Verdict {
		close(refused)
		return harness.Pass
	}})
	_, err := conn.CopyFrom(t.Context(), late, "COPY absent FROM STDIN")
	wantState(t, err, "42P01")
	if err := insert(t, conn); err != nil {
		t.Errorf("behind the failure: %v", err)
	}
	if diff := cmp.Diff(append([]string{"copy absent"}, wanted[1:]...), texts(b.proxy.Effects())); diff != "" {
		t.Error(diff)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func numbersThatTheClientGivesUp(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	conn := b.mustConnect(t)
	b.proxy.Arm(harness.Trigger{Text: harness.CopyFail, After: true, Act: pass})
	broken := readerFunc(func([]byte) (int, error) { return 0, errors.New("no more") })
	_, err := conn.CopyFrom(t.Context(), broken, copyT)
	wantState(t, err, "57014")
	if at, fired := b.proxy.Fired(); !fired || at.Number != 2 {
		t.Errorf("fired %v at %s, want 2 %s", fired, at, harness.CopyFail)
	}
	if err := insert(t, conn); err != nil {
		t.Errorf("behind the failure: %v", err)
	}
}
