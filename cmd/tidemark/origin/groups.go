package origin

import (
	"context"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/position"
	"tidemark/shared/recovery/switchover"
)

// Groups mark what the brokers refuse.
func Groups(g switchover.Groups) switchover.Groups { return markedGroups{g} }

type markedGroups struct{ groups switchover.Groups }

// Committed is where a group stands. See switchover.Groups.
func (g markedGroups) Committed(ctx context.Context, group, topic string) (position.Cut, error) {
	at, err := g.groups.Committed(ctx, group, topic)
	return at, exit.Kafka(err)
}

// Move commits offsets. See switchover.Groups.
func (g markedGroups) Move(ctx context.Context, group string, to position.Cut, note string) error {
	return exit.Kafka(g.groups.Move(ctx, group, to, note))
}
