package exit_test

import (
	"errors"
	"fmt"
	"testing"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/fault"
	"tidemark/shared/recovery"
)

// A refusal's name decides, whoever brought it and whatever its class.
func TestRefusalsHaveTheirCode(t *testing.T) {
	t.Parallel()
	for name, want := range map[recovery.Name]int{
		recovery.NoBackup: 10, recovery.HeldByAnother: 11, recovery.LineageForked: 11, recovery.Untrusted: 12, recovery.Corrupt: 13,
		recovery.OlderThanSeen: 13, recovery.FreshnessUnproven: 13, recovery.LogTruncated: 14, recovery.LogShorterThanManifest: 14,
		recovery.TopicRecreated: 14, recovery.PartitionVanished: 14, recovery.TombstonesExpired: 14, recovery.TargetNotEmpty: 15,
		recovery.IdentityMismatch: 15, recovery.SchemaMismatch: 15,
	} {
		refused := fmt.Errorf("recover: %w", &recovery.RefusalError{Name: name, What: "x"})
		for class, err := range map[string]error{
			"Archive": exit.Archive(fault.Wrap(fault.Fenced, refused)), "Database": exit.Database(refused),
			"Kafka": exit.Archive(exit.Kafka(fault.Wrap(fault.Gap, refused))),
		} {
			if got := exit.Code(err, false); got != want {
				t.Errorf("%s of %s: got %d, want %d", name, class, got, want)
			}
		}
	}
}

func TestBrokersHaveTheirCode(t *testing.T) {
	t.Parallel()
	plain := errors.New("x")
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"Away":          {exit.Kafka(fault.New(fault.Retryable, "x")), 31},
		"Misconfigured": {exit.Archive(exit.Kafka(fault.Wrap(fault.Misconfigured, plain))), 31},
		"AGap":          {exit.Archive(exit.Kafka(fault.Wrap(fault.Gap, plain))), 14},
		"None":          {exit.Kafka(nil), 0},
	} {
		if got := exit.Code(c.err, false); got != c.code {
			t.Errorf("%s: got %d, want %d", name, got, c.code)
		}
	}
}
