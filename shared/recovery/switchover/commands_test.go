package switchover_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/position"
	"tidemark/shared/recovery/switchover"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	got := switchover.Commands(switchover.Site{
		Record: switchover.Record{Format: 1, Mappings: []switchover.Remembered{
			{Flow: "shop", UUID: "u1", Topic: "orders", Group: "it's $HOME", Enabled: true},
			{Flow: "shop", UUID: "u2", Topic: "lines", Group: "g", Enabled: false},
		}},
		Brokers: []string{"a:1", "b:2"}, LogsIn: true, At: map[string]position.Cut{"shop": at("orders", 50, 60)},
	})
	const tool = "kafka-consumer-groups.sh --bootstrap-server a:1,b:2 --command-config CLIENT.properties --group "
	want := switchover.Steps{
		Stop: []string{
			"aws lambda update-event-source-mapping --uuid u1 --no-enabled # topic orders",
			`until [ "$(aws lambda get-event-source-mapping --uuid u1 --query State --output text)" = Disabled ]; do sleep 5; done`,
			`until [ "$(aws lambda get-event-source-mapping --uuid u2 --query State --output text)" = Disabled ]; do sleep 5; done`,
		},
		Move: []string{
			tool + `'it'\''s $HOME' --topic orders:0 --reset-offsets --to-offset 50 --execute`,
			tool + `'it'\''s $HOME' --topic orders:1 --reset-offsets --to-offset 60 --execute`,
		},
		Start: []string{
			"aws lambda update-event-source-mapping --uuid u1 --enabled # topic orders",
			`until [ "$(aws lambda get-event-source-mapping --uuid u1 --query State --output text)" = Enabled ]; do sleep 5; done`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestCommands_OfWhatNobodyLookedFor(t *testing.T) {
	t.Parallel()
	got := switchover.Commands(switchover.Site{
		Flows: []switchover.Flow{{Name: "shop", Topics: []string{"orders"}}}, At: map[string]position.Cut{"shop": at("orders", 50)},
	})
	want := switchover.Steps{
		Stop: []string{
			"aws lambda list-event-source-mappings --function-name FUNCTION --query 'EventSourceMappings[].[UUID,State,Topics," +
				"AmazonManagedKafkaEventSourceConfig,SelfManagedKafkaEventSourceConfig]' # flow shop: its UUIDs, and groups as " +
				"ConsumerGroupId; without one the group is the UUID",
			"aws lambda update-event-source-mapping --uuid UUID-OF-orders --no-enabled # topic orders",
			`until [ "$(aws lambda get-event-source-mapping --uuid UUID-OF-orders --query State --output text)" = Disabled ]; ` +
				"do sleep 5; done",
		},
		Move: []string{
			"kafka-consumer-groups.sh --bootstrap-server BOOTSTRAP --group GROUP-OF-orders --topic orders:0 --reset-offsets --to-offset 50 --execute",
		},
		Start: []string{
			"aws lambda update-event-source-mapping --uuid UUID-OF-orders --enabled # topic orders",
			`until [ "$(aws lambda get-event-source-mapping --uuid UUID-OF-orders --query State --output text)" = Enabled ]; ` +
				"do sleep 5; done",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// TestCommands_ReachAShellAsTheyAre has a shell read what was quoted.
func TestCommands_ReachAShellAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "it's", "a b", "$(reboot)", "`x`", `back\slash`, "star*", "#no", "-dash", "ü", "a\nb", `"`, "~"} {
		steps := switchover.Commands(switchover.Site{
			Record: switchover.Record{Mappings: []switchover.Remembered{{Flow: "f", UUID: "u", Topic: "t", Group: name}}},
			At:     map[string]position.Cut{"f": at("t", 1)},
		})
		script := strings.Replace(steps.Move[0], "kafka-consumer-groups.sh", `show() { printf '%s' "$4"; }; show`, 1)
		got, err := exec.CommandContext(t.Context(), "sh", "-c", script).Output() //nolint:gosec // what it tests
		if err != nil || string(got) != name {
			t.Errorf("%s: a shell reads %q, %v, want %q", script, got, err, name)
		}
	}
}
