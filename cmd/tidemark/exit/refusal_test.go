package exit_test

import (
	"errors"
	"fmt"
	"testing"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/fault"
	"tidemark/shared/recovery/refusal"
)

// A refusal's name decides, whoever brought it and whatever its class.
func TestRefusalsHaveTheirCode(t *testing.T) {
	t.Parallel()
	for name, want := range map[refusal.Name]int{
		refusal.NoBackup: 10, refusal.HeldByAnother: 11, refusal.LineageForked: 11, refusal.Untrusted: 12, refusal.Corrupt: 13,
		refusal.OlderThanSeen: 13, refusal.FreshnessUnproven: 13, refusal.LogTruncated: 14, refusal.LogShorterThanManifest: 14,
		refusal.TopicRecreated: 14, refusal.PartitionVanished: 14, refusal.TombstonesExpired: 14, refusal.TargetNotEmpty: 15,
		refusal.IdentityMismatch: 15, refusal.SchemaMismatch: 15,
	} {
		refused := fmt.Errorf("recover: %w", &refusal.Error{Name: name, What: "x"})
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
