package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// states is the table of A15, row by row: what the caller must do, and whether a smaller piece of the work may pass.
var states = []struct {
	code    string
	class   fault.Class
	refusal bool
	means   string
}{
	// What will pass.
	{"08000", fault.Retryable, false, "connection_exception"},
	{"08003", fault.Retryable, false, "connection_does_not_exist"},
	{"08006", fault.Retryable, false, "connection_failure"},
	{"08P01", fault.Retryable, false, "protocol_violation"},
	{"40000", fault.Retryable, false, "transaction_rollback"},
	{"40001", fault.Retryable, false, "serialization_failure"},
	{"40003", fault.Retryable, false, "statement_completion_unknown"},
	{"40P01", fault.Retryable, false, "deadlock_detected"},
	{"53000", fault.Retryable, false, "insufficient_resources"},
	{"53100", fault.Retryable, false, "disk_full"},
	{"53200", fault.Retryable, false, "out_of_memory"},
	{"53300", fault.Retryable, false, "too_many_connections"},
	{"55P03", fault.Retryable, false, "lock_not_available"},
	{"57014", fault.Retryable, false, "query_canceled"},
	{"57P01", fault.Retryable, false, "admin_shutdown"},
	{"57P02", fault.Retryable, false, "crash_shutdown"},
	{"57P03", fault.Retryable, false, "cannot_connect_now"},
	{"57P04", fault.Retryable, false, "database_dropped"},
	{"57P05", fault.Retryable, false, "idle_session_timeout"},
	{"25006", fault.Retryable, false, "read_only_sql_transaction"},
	{"25P03", fault.Retryable, false, "idle_in_transaction_session_timeout"},
	{"23503", fault.Retryable, true, "foreign_key_violation"},
	{"TM004", fault.Retryable, true, "the other half of a move has not come"},
	// Poison is a closed list.
	{"22000", fault.Poison, true, "data_exception"},
	{"22001", fault.Poison, true, "string_data_right_truncation"},
	{"22003", fault.Poison, true, "numeric_value_out_of_range"},
	{"22007", fault.Poison, true, "invalid_datetime_format"},
	{"22008", fault.Poison, true, "datetime_field_overflow"},
	{"22021", fault.Poison, true, "character_not_in_repertoire"},
	{"22P02", fault.Poison, true, "invalid_text_representation"},
	{"22P05", fault.Poison, true, "untranslatable_character"},
	{"23502", fault.Poison, true, "not_null_violation"},
	{"23505", fault.Poison, true, "unique_violation"},
	{"23514", fault.Poison, true, "check_violation"},
	{"23P01", fault.Poison, true, "exclusion_violation"},
	{"54000", fault.Poison, true, "program_limit_exceeded"},
	{"P0001", fault.Poison, true, "raise_exception"},
	{"TM002", fault.Poison, true, "a row is missing"},
	// What a person must mend.
	{"28000", fault.Misconfigured, true, "invalid_authorization_specification"},
	{"28P01", fault.Misconfigured, true, "invalid_password"},
	{"3D000", fault.Misconfigured, true, "invalid_catalog_name"},
	{"3F000", fault.Misconfigured, true, "invalid_schema_name"},
	{"42501", fault.Misconfigured, true, "insufficient_privilege"},
	{"42601", fault.Misconfigured, true, "syntax_error"},
	{"42703", fault.Misconfigured, true, "undefined_column"},
	{"42804", fault.Misconfigured, true, "datatype_mismatch"},
	{"42883", fault.Misconfigured, true, "undefined_function"},
	{"42P01", fault.Misconfigured, true, "undefined_table"},
	// The ledger's own word.
	{"TM001", fault.Bug, false, "a checkpoint did not stand where it was expected"},
	{"TM003", fault.Fenced, false, "the target is not live, or lives another life"},
	{"25P02", fault.Bug, false, "in_failed_sql_transaction"},
	// Everything else stops and is nobody's guess.
	{"0A000", fault.Unclassified, true, "feature_not_supported"},
	{"21000", fault.Unclassified, true, "cardinality_violation"},
	{"23000", fault.Unclassified, true, "integrity_constraint_violation"},
	{"23001", fault.Unclassified, true, "restrict_violation"},
	{"25001", fault.Unclassified, true, "active_sql_transaction"},
	{"54001", fault.Unclassified, true, "statement_too_complex"},
	{"55000", fault.Unclassified, true, "object_not_in_prerequisite_state"},
	{"58030", fault.Unclassified, true, "io_error"},
	{"P0000", fault.Unclassified, true, "plpgsql_error"},
	{"P0002", fault.Unclassified, true, "no_data_found"},
	{"XX000", fault.Unclassified, true, "internal_error"},
	{"XX001", fault.Corrupt, true, "data_corrupted"},
	{"XX002", fault.Corrupt, true, "index_corrupted"},
	{"TM999", fault.Unclassified, true, "of a release to come"},
	{"ZZ001", fault.Unclassified, true, "whatever an extension raises"},
	{"", fault.Unclassified, true, "no code"},
	{"2", fault.Unclassified, true, "a code cut short"},
	{"2200", fault.Unclassified, true, "a code cut short"},
	{"220001", fault.Unclassified, true, "a code too long"},
}

func TestClass(t *testing.T) {
	t.Parallel()
	for _, s := range states {
		t.Run(s.code+" "+s.means, func(t *testing.T) {
			t.Parallel()
			if got := postgres.Class(s.code); got != s.class {
				t.Errorf("Class: got %s, want %s", got, s.class)
			}
			raised := fmt.Errorf("read: %w", &pgconn.PgError{Code: s.code, Message: "m"})
			if got := fault.ClassOf(postgres.Classify(raised)); got != s.class {
				t.Errorf("Classify: got %s, want %s", got, s.class)
			}
			if got := postgres.IsRefusal(raised); got != s.refusal {
				t.Errorf("IsRefusal: got %t, want %t", got, s.refusal)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	t.Run("LeavesWhatIsDecidedAlone", func(t *testing.T) {
		t.Parallel()
		decided := fault.New(fault.Gap, "%w", &pgconn.PgError{Code: "40001"})
		if got := postgres.Classify(decided); got != error(decided) { //nolint:errorlint // the same value
			t.Errorf("got %v, want the same error", got)
		}
		if got := postgres.Classify(nil); got != nil {
			t.Errorf("no error became %v", got)
		}
	})
	t.Run("CallsABrokenConnectionRetryable", func(t *testing.T) {
		t.Parallel()
		for _, err := range []error{
			io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: errors.New("reset")}, &net.DNSError{Err: "no such host"},
		} {
			if got := postgres.Classify(err); !fault.Is(got, fault.Retryable) || !errors.Is(got, err) {
				t.Errorf("%v: got %v (%s), want it retryable", err, got, fault.ClassOf(got))
			}
			if postgres.IsRefusal(err) {
				t.Errorf("%v is no refusal", err)
			}
		}
	})
	t.Run("TellsTheOperatorWhatToDo", func(t *testing.T) {
		t.Parallel()
		for code, hint := range map[string]string{
			"28P01": "TIDEMARK_DATABASE_PASSWORD", "3D000": "TIDEMARK_DATABASE_URL", "42501": "grant",
			"TM002": "the row it belongs to is not there", "TM004": "delivered again",
		} {
			if got := fault.HintOf(postgres.Classify(&pgconn.PgError{Code: code})); !strings.Contains(got, hint) {
				t.Errorf("%s: got the hint %q, want %q in it", code, got, hint)
			}
		}
	})
	t.Run("NamesWhereAndNeverWhat", func(t *testing.T) {
		t.Parallel()
		raised := &pgconn.PgError{
			Code: "23505", Message: "duplicate key value violates unique constraint \"k\"", Detail: "Key (id)=(payload) already exists.",
			Where: "payload", TableName: "t", ColumnName: "c", ConstraintName: "k",
		}
		got := postgres.Classify(raised).Error()
		for _, part := range []string{"23505", "table t", "column c", "constraint k"} {
			if !strings.Contains(got, part) {
				t.Errorf("got %q, want %q in it", got, part)
			}
		}
		for _, quoting := range []*pgconn.PgError{
			raised,
			{Code: "22P02", Message: "invalid input syntax for type integer: \"payload\""},
			{Code: "P0001", Message: "payload"},
			{Code: "40001", Message: "payload", Routine: "exec_stmt_raise"},
		} {
			if got := fault.Line(postgres.Classify(quoting)); strings.Contains(got, "payload") {
				t.Errorf("%s: a value shows in %q", quoting.Code, got)
			}
		}
	})
	t.Run("HidesThePasswordOfAnAddress", func(t *testing.T) {
		t.Parallel()
		for _, address := range []string{
			"postgres://u:s3cr3t/x@host:5432/db", "postgres://u:s3cr3t:x@host:port/db", "postgres://u:s3cr3t@host:port/db",
			"host=h password=s3cr3t port=x", "host=h password='s3cr3t port=1", "password=s3cr3t nonsense",
		} {
			_, err := pgconn.ParseConfig(address)
			if err == nil {
				t.Fatalf("%s parses: choose another", address)
			}
			if got := fault.Line(postgres.Classify(err)); strings.Contains(got, "s3cr3t") || !strings.Contains(got, "TIDEMARK_DATABASE_URL") {
				t.Errorf("%s: got %q, want the variable's name and no password", address, got)
			}
		}
	})
}

func TestQuoteName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{`a`: `"a"`, `Select`: `"Select"`, `a"b`: `"a""b"`, `"; DROP`: `"""; DROP"`, ``: `""`} {
		if got := postgres.QuoteName(name); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
	if got := postgres.QuoteTable("a.b", `c"`); got != `"a.b"."c"""` {
		t.Errorf("QuoteTable: got %s", got)
	}
}
