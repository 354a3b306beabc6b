package target_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestPartitionTrigger is about row triggers that only a partition has: they see each change, as those of the table do.
func TestPartitionTrigger(t *testing.T) {
	t.Parallel()
	const ddl = `CREATE TABLE seen (n bigserial, what text);
	CREATE TABLE p (id text PRIMARY KEY, body text) PARTITION BY HASH (id);
	CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 1, REMAINDER 0) PARTITION BY HASH (id);
	CREATE TABLE leaf PARTITION OF p0 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
	CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO seen (what) VALUES (TG_OP || ' ' || CASE TG_OP WHEN 'DELETE' THEN OLD.body ELSE NEW.body END);
		RETURN NULL;
	END $$;
	CREATE TRIGGER look AFTER INSERT OR UPDATE OR DELETE ON `
	for name, holder := range map[string]string{"OfALeaf": "leaf", "OfTheTable": "p"} {
		t.Run("SeesEveryChangeInOrder/"+name, func(t *testing.T) {
			t.Parallel()
			s := open(t, ddl+holder+" FOR EACH ROW EXECUTE FUNCTION look();", target.Options{})
			put := func(body string) record.Data { return applytest.Put("p", "id", "k", "body", body) }
			s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: 5, Next: at0(5)}, record.Run{
				Partition: applytest.P(0),
				Records: []record.Record{
					applytest.At(0, put("a")), applytest.At(1, put("b")), applytest.At(2, applytest.Remove("p", "id", "k")),
					applytest.At(3, put("c")), applytest.At(4, put("d")),
				},
			})
			want := "INSERT a\nUPDATE b\nDELETE b\nINSERT c\nUPDATE d\n"
			if diff := cmp.Diff(want, s.db.Copy(t, "SELECT what FROM seen ORDER BY n")); diff != "" {
				t.Errorf("what the trigger saw (-want +got):\n%s", diff)
			}
		})
	}
}
