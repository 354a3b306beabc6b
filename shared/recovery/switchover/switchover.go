// Package switchover owns the order in which a function's event source mappings go from a lost target to the recovered one:
// found and written down, disabled, their consumer groups moved to the target's checkpoints, enabled again.
//
// It declares what it needs of the service that holds the mappings (Mappings), of the brokers (Groups, Log) and of the
// recovered database (Target), and it writes the same acts down as commands for a person. It refuses mappings of a topic that
// is no topic of the flow, and to guess: which mappings were enabled is said by a Record that was made before the first act
// and that the caller keeps where a kill does not reach it.
//
// Invariants. Nothing is disabled before the caller has the record. No group is moved unless its mapping was seen disabled,
// and none whose flow is not in the record. A mapping is enabled only if the record says that it was, and only when its group
// was read back at the target's checkpoints. Every act may be done again: a call that was killed is followed by the same one.
//
// A Switch has no state beside its options; it belongs to one goroutine.
package switchover

import (
	"context"
	"errors"
	"time"

	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
)

// Mappings is the service that polls topics for functions: Lambda.
type Mappings interface {
	// List gives every mapping of a function, by the function's name or ARN.
	List(ctx context.Context, function string) ([]Mapping, error)
	// Get gives a mapping as it is now. fault.Misconfigured when there is none.
	Get(ctx context.Context, uuid string) (Mapping, error)
	// Disable and Enable ask for a state, which comes later. fault.Retryable while the mapping is being changed.
	Disable(ctx context.Context, uuid string) error
	Enable(ctx context.Context, uuid string) error
}

// Groups are the brokers' consumer groups.
type Groups interface {
	// Committed is where a group stands in a topic; empty where it stands nowhere, or does not exist.
	Committed(ctx context.Context, group, topic string) (position.Cut, error)
	// Move commits offsets for a group without members, with a note beside each. ErrMembers while it has some.
	Move(ctx context.Context, group string, to position.Cut, note string) error
}

// ErrMembers says that a group has members, so that nobody else may move it.
var ErrMembers = errors.New("the group has members")

// Log says where partitions begin and end.
type Log interface {
	Bounds(ctx context.Context, partitions []position.Partition) (map[position.Partition]inspection.Bounds, error)
}

// Target is the recovered database.
type Target interface {
	// Positions are the flow's checkpoints, as they are now.
	Positions(ctx context.Context, flow string) (position.Cut, error)
}

// State is what the service says of a mapping.
type State string

// The states. A mapping that is created or updated will be enabled or disabled, and does not say which.
const (
	Enabled   State = "Enabled"
	Enabling  State = "Enabling"
	Disabled  State = "Disabled"
	Disabling State = "Disabling"
	Creating  State = "Creating"
	Updating  State = "Updating"
	Deleting  State = "Deleting"
)

// changes says whether the service is at work on the mapping.
func (s State) changes() bool {
	return s == Enabling || s == Disabling || s == Creating || s == Updating
}

// isOn says whether the mapping polls, or will at once.
func (s State) isOn() bool { return s == Enabled || s == Enabling }

// Mapping is a mapping of a function as the service tells it.
type Mapping struct {
	UUID     string
	Function string   // its ARN
	Source   string   // what it polls: a cluster's ARN, brokers, or something else
	Topics   []string // none: it does not poll a log
	Group    string   // as configured; empty: the service takes the UUID
	Starts   string   // TRIM_HORIZON, LATEST or AT_TIMESTAMP, where the group stands nowhere
	State    State
	Reason   string // who changed the state
	Last     string // what came of the last poll
}

// group is the consumer group that the mapping polls in.
func (m Mapping) group() string {
	if m.Group == "" {
		return m.UUID
	}
	return m.Group
}

// Flow is a flow whose function is switched.
type Flow struct {
	Name     string
	Function string // its name or ARN
	Topics   []string
}

// Options are the parts of a switch.
type Options struct {
	Mappings Mappings
	Groups   Groups
	Log      Log
	Target   Target
	Note     string // is kept beside every offset that is moved
	// Wait pauses, or ends with the context.
	Wait func(ctx context.Context, pause time.Duration) error
	// OnWait hears what is waited for; it may be nil.
	OnWait func(what string)
}

// Switch does the acts.
type Switch struct{ options Options }

// New puts a switch together. It calls nothing.
func New(options Options) *Switch {
	if options.OnWait == nil {
		options.OnWait = func(string) {}
	}
	return &Switch{options: options}
}
