package writer_test

import (
	"fmt"
	"slices"
	"testing"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/fault"
)

// TestModifiers is A9: what COPY refuses the writer refuses, and what COPY cuts or rounds the writer cuts and rounds
// the same way, alone, in arrays and behind domains.
func TestModifiers(t *testing.T) {
	t.Parallel()
	for _, group := range []struct {
		promise string
		types   []typed
	}{
		{"StringsTooLongRaise", []typed{
			{"varchar(3)", []string{"abcd", "éèê", "ééééé", "abc d"}},
			{"char(3)", []string{"abcd", "ab  d"}},
			{"varchar", []string{"abcd"}},
			{"public.code", []string{"abcd", "bad"}},
			{"public.codes", []string{"{abcd}", "{a,b,c}", "{bad}"}},
		}},
		{"BitsOfAnotherLengthRaise", []typed{
			{"bit(3)", []string{"1010", "10", ""}},
			{"bit", []string{"10"}},
			{"varbit(3)", []string{"1010"}},
			{"public.flags", []string{"1", "1111"}},
		}},
		{"NumbersBeyondPrecisionRaise", []typed{
			{"numeric(5,2)", []string{"1000", "999.995", "Infinity"}},
			{"numeric(2,-3)", []string{"99500"}},
			{"numeric(3,5)", []string{"0.01"}},
			{"smallint", []string{"32768", "1.0", "7E+3", ""}},
			{"real", []string{"1e39", "1e-60"}},
			{"public.price", []string{"1e3", "-1"}},
		}},
		{"TimesAreRoundedOrRaise", []typed{
			{"time(0)", []string{"23:59:59.999", "24:00:00.5"}},
			{"timetz(1)", []string{"23:59:59.99+02"}},
			{"timestamp(0)", []string{"294276-12-31 23:59:59.5", "2020-02-30"}},
			{"timestamptz(2)", []string{"2020-01-01 00:00:00.005+00", "nonsense"}},
			{"interval(0)", []string{"00:00:00.5", "1 day -00:00:00.5"}},
			{"interval day to hour", []string{"2 days 03:59:59"}},
			{"date", []string{"2020-13-01", "10000000-01-01"}},
		}},
	} {
		t.Run(group.promise, func(t *testing.T) {
			t.Parallel()
			b := &typeBench{flow: newFlow(t, `CREATE DOMAIN code AS varchar(3) CHECK (VALUE <> 'bad');
				CREATE DOMAIN codes AS code[] CHECK (cardinality(VALUE) < 3);
				CREATE DOMAIN flags AS bit(3); CREATE DOMAIN price AS numeric(3,1) CHECK (VALUE > 0);`)}
			for _, typ := range group.types {
				b.Exec(t, "DROP SCHEMA IF EXISTS s CASCADE; "+settings)
				b.twins(t, typ.name)
				b.agreeEachShape(t, typ)
			}
		})
	}
}

// agreeEachShape writes each text into each column alone and compares with COPY: the same SQLSTATE or the same row.
func (b *typeBench) agreeEachShape(tb testing.TB, typ typed) {
	tb.Helper()
	written := b.named(tb, name("s", "w"))
	id := 0
	for _, text := range typ.texts {
		for shape, cell := range shaped(typ.name, text) {
			id++
			row := make([]any, len(shapes))
			row[shape] = cell
			row = slices.Concat([]any{fmt.Sprint(id)}, row)
			copied, got := copyIn(tb, b.Database, "COPY s.c FROM STDIN", row...), b.try(tb, written.insert(row...))
			bulk := b.inBulk(tb, reduction.Group{Reset: true}, written.insert(row...)) // Reset alone keeps one row in bulk
			if stateOf(copied) != stateOf(got) || stateOf(copied) != stateOf(bulk) {
				tb.Errorf("%s column %s: %q gives SQLSTATE %q, in bulk %q, COPY %q",
					typ.name, shapes[shape], cell, stateOf(got), stateOf(bulk), stateOf(copied))
			}
			if got != nil && !fault.Is(got, fault.Poison) {
				tb.Errorf("%s column %s: %q is %v, want poison", typ.name, shapes[shape], cell, fault.ClassOf(got))
			}
		}
	}
	b.wantTwins(tb, typ)
}
