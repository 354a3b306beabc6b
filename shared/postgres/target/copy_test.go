package target_test

import (
	"strings"
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestCopy is about new rows that come in by COPY (A11): whatever COPY cannot do is done another way, and what comes out
// is the same.
func TestCopy(t *testing.T) {
	t.Parallel()
	always := target.Options{LeastCopied: 1}
	t.Run("KeepsEveryText", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", always)
		run := record.Run{Partition: applytest.P(0)}
		texts := []string{"", `\N`, `\.`, "\\", "tab\tand\nline\r\n", `"quoted", {braced}`, "é 漢字 😀", `\\x41`, "a\bb\fc\vd", "NULL"}
		for i, text := range texts {
			run.Records = append(run.Records, applytest.At(position.Offset(i), applytest.Item(text+"key", text)))
		}
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: len(texts), Next: at0(position.Offset(len(texts)))}, run)
		for _, text := range texts {
			var got string
			err := s.db.Conn.QueryRow(t.Context(), "SELECT body FROM item WHERE id = $1", text+"key").Scan(&got)
			if err != nil || got != text {
				t.Errorf("the text %q came in as %q: %v", text, got, err)
			}
		}
	})
	t.Run("WritesOverARowThatIsThere", func(t *testing.T) {
		t.Parallel()
		s := open(t, "INSERT INTO item VALUES ('orders/0/2', 'older');", always)
		b := s.bench(apply.Options{})
		run := applytest.Items(applytest.P(0), span(0, 5), "new")
		b.MustDeliver(applytest.Want{Applied: 5, Next: at0(5)}, run)
		b.MustStand(at0(5), applytest.RowsOf(run))
	})
	t.Run("StopsAtTheRecordThatCannotPass", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{}) // the default: a group of 300 is large enough
		b := s.bench(apply.Options{})
		run := applytest.Items(applytest.P(0), span(0, 300), "a")
		run.Records[123].Value = applytest.Item("bad", applytest.Refused)
		outcome, err := b.Deliver(run)
		b.Check(applytest.Want{Class: fault.Poison, Applied: 123, Next: at0(123)}, outcome, err)
		if err == nil || !strings.Contains(err.Error(), "[123,124)") {
			t.Errorf("error %v, want the record named", err)
		}
		run.Records = run.Records[:123]
		b.MustStand(at0(123), applytest.RowsOf(run))
	})
	t.Run("LeavesWhatIsCheckedAtTheEndAlone", func(t *testing.T) {
		t.Parallel()
		s := open(t, "CREATE TABLE late (id int PRIMARY KEY, n int UNIQUE DEFERRABLE INITIALLY DEFERRED);", always)
		b := s.bench(apply.Options{})
		late := func(offset position.Offset, id, n string) record.Record {
			return applytest.At(offset, applytest.Put("late", "id", id, "n", n))
		}
		run := record.Run{Partition: applytest.P(0), Records: []record.Record{late(0, "1", "1"), late(1, "2", "1")}}
		b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 1, Next: at0(1)}, run)
	})
}
