// Package apply owns what happens to a batch of records: which of them the target already has, which may be written, in
// which transactions, and what is known afterwards.
//
// Rows and checkpoint of a record commit in one transaction or not at all, positions only move forward and only from
// where the ledger's row stands, and nothing that was not proven applied is ever called applied. The package speaks to
// the database and to the wire format through the small interfaces declared here; it knows no SQL, no Kafka and no
// clock of its own. Live apply and recovery's replay are both this code. DESIGN.md beside this file walks a batch through
// it.
//
// An Applier belongs to one goroutine at a time, because its decoders do. Several may work on one target, in one process or in
// many: if two hold the same partition, the row lock in the target makes one wait and then skip.
package apply

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Options configures an Applier. Flow, TargetID, Topics and Now are required.
type Options struct {
	Flow     string
	TargetID position.TargetID
	// Topics are the flow's topics; a record of another topic is Misconfigured.
	Topics []string
	// Decoders are those of single topics; the other topics have the decoder that New was given.
	Decoders map[string]Decoder
	// MaxRows and MaxBytes bound one transaction; a single record may exceed them. 0 means the default.
	MaxRows, MaxBytes int
	// Reserve is how long before the deadline of the context no transaction is started any more, but never more than a
	// tenth of the time that a call was given. 0 means the default.
	Reserve  time.Duration
	Identity IdentityOptions
	// Replaying is the life into which a recovery replays: the target must be restoring in that life. Empty: live apply.
	Replaying position.Incarnation
	Now       func() time.Time
}

const (
	defaultMaxRows  = 10_000
	defaultMaxBytes = 32 << 20
	defaultReserve  = 2 * time.Second
	reserveShare    = 10 // at most one part in ten of a call's time
)

func (o Options) withDefaults() Options {
	if o.MaxRows == 0 {
		o.MaxRows = defaultMaxRows
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Reserve == 0 {
		o.Reserve = defaultReserve
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Flow == "":
		return fault.New(fault.Bug, "an applier without a flow")
	case o.Now == nil:
		return fault.New(fault.Bug, "an applier without a clock")
	case len(o.Topics) == 0:
		return fault.New(fault.Misconfigured, "flow %s has no topics", o.Flow)
	case o.Identity.Header != "" && o.Identity.Horizon <= 0:
		return fault.New(fault.Bug, "flow %s: identities without a horizon", o.Flow)
	case o.MaxRows < 0 || o.MaxBytes < 0 || o.Reserve < 0:
		return fault.New(fault.Bug, "flow %s: a limit is negative", o.Flow)
	}
	return fault.Wrap(fault.Misconfigured, o.TargetID.Validate())
}

// Applier writes batches of one flow into one target.
type Applier struct {
	target  Target
	decoder Decoder
	options Options
	life    life
}

// New returns an applier. Errors: fault.Misconfigured, fault.Bug for options that cannot work.
func New(target Target, decoder Decoder, options Options) (*Applier, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Applier{target: target, decoder: decoder, options: options}, nil
}

// Apply writes the effect of batch into the target and moves its partitions' checkpoints in the same transactions.
//
// Offsets must ascend within a run; the batch's runs are in lock order, one a partition. The deadline of ctx is the end of
// the invocation. The outcome has one entry for each run and is valid also when err is not nil, because a split batch
// commits part by part; err is then the most urgent of the partitions' errors.
// Errors: fault.Fenced when another life owns the target, fault.Gap for a hole or a skip that cannot be proven,
// fault.Poison for a record that can never apply, fault.UnknownOutcome when a commit's reply was lost and the ledger
// could not be asked, fault.Retryable, fault.Misconfigured.
func (a *Applier) Apply(ctx context.Context, batch record.Batch) (Outcome, error) {
	outcome := Outcome{Partitions: make([]PartitionOutcome, len(batch))}
	call := &call{applier: a, start: a.options.Now()}
	runs := make([]*run, 0, len(batch))
	for i := range batch {
		outcome.Partitions[i] = PartitionOutcome{Partition: batch[i].Partition, Next: batch[i].Range().From}
		runs = append(runs, &run{call: call, records: batch[i].Records, outcome: &outcome.Partitions[i]})
	}
	a.refuseForeignTopics(runs)
	set := a.decode(ctx, runs)
	for {
		pieces := nextPieces(runs, a.options.MaxRows, a.options.MaxBytes)
		if len(pieces) == 0 {
			break
		}
		a.commit(ctx, &set, pieces)
	}
	for _, r := range runs {
		r.conclude()
	}
	return outcome, outcome.Err()
}

// call is one call of Apply: what holds for all its transactions.
type call struct {
	applier  *Applier
	start    time.Time
	attempts int // transactions begun
	// over is why the call writes nothing more: another life owns the target. Only a later call may adopt it.
	over error
}

// admit says whether another transaction may begin. The first always may, or a short deadline would never apply anything.
func (c *call) admit(ctx context.Context) error {
	c.attempts++
	switch {
	case c.over != nil:
		return c.over
	case c.attempts > 1 && c.applier.outOfTime(ctx, c.start), ctx.Err() != nil:
		return errOutOfTime()
	}
	return nil
}

// fence ends the call and drops what belongs to a life that is over, so that the next call reads anew.
func (c *call) fence(err error) {
	c.over = err
	c.applier.life.drop()
	c.applier.target.Forget()
}

func (a *Applier) refuseForeignTopics(runs []*run) {
	for _, r := range runs {
		if !slices.Contains(a.options.Topics, r.partition().Topic) {
			r.stop(fault.New(fault.Misconfigured, "%s: topic %q does not belong to flow %s",
				r.partition(), r.partition().Topic, a.options.Flow).
				WithHint("add it to the flow file's topics, or remove its event source from this function"))
		}
	}
}

func errOutOfTime() error {
	return fault.New(fault.Retryable, "time ran out before these records were reached").
		WithHint("they are delivered again; if this repeats, raise the function's timeout or lower the batch size")
}

// outOfTime says whether what is left until the deadline of ctx is too little to start another transaction. start is
// when the call began.
func (a *Applier) outOfTime(ctx context.Context, start time.Time) bool {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx.Err() != nil
	}
	reserve := min(a.options.Reserve, deadline.Sub(start)/reserveShare)
	return ctx.Err() != nil || a.options.Now().Add(reserve).After(deadline)
}

// life is the incarnation that this environment works for. It is adopted from the ledger once and dropped when the ledger
// says otherwise; only a later call that finds the target live adopts the next.
type life struct {
	mu          sync.Mutex
	incarnation position.Incarnation
}

func (l *life) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.incarnation = ""
}

// adopt takes the ledger's incarnation if none is held, and says whether the one that is held equals it.
func (l *life) adopt(incarnation position.Incarnation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.incarnation.IsZero() {
		l.incarnation = incarnation
	}
	return l.incarnation == incarnation
}

// judge says whether this environment may write the target that the ledger describes.
func (a *Applier) judge(ledger Ledger) error {
	if !a.options.Replaying.IsZero() {
		return a.judgeReplay(ledger)
	}
	switch ledger.State {
	case StateLive:
	case StateNew:
		return fault.New(fault.Misconfigured, "the target has no life yet").WithHint("run: tidemark init")
	case StateRestoring, StateHeld, StateFenced:
		return fault.New(fault.Fenced, "the target is %s: nothing is applied", ledger.State)
	default:
		return fault.New(fault.Misconfigured, "the target is in the unknown state %q", string(ledger.State)).
			WithHint("deploy a release that knows it")
	}
	if ledger.TargetID != a.options.TargetID {
		return fault.New(fault.Misconfigured, "%w: it is %q, the configuration says %q",
			ErrOtherTarget, ledger.TargetID.String(), a.options.TargetID.String()).
			WithHint("correct TIDEMARK_TARGET_ID or TIDEMARK_DATABASE_URL; nothing was written")
	}
	if !a.life.adopt(ledger.Incarnation) {
		return fault.New(fault.Fenced, "the target began another life, %s", ledger.Incarnation)
	}
	if ledger.Parked {
		return fault.New(fault.Misconfigured, "flow %s has parked records and this release cannot apply beside them",
			a.options.Flow).WithHint("deploy the release that parked them, or a later one")
	}
	return nil
}

// judgeReplay says whether a recovery may write: nobody else does while the target is restoring.
func (a *Applier) judgeReplay(ledger Ledger) error {
	if ledger.State != StateRestoring || ledger.Incarnation != a.options.Replaying || ledger.TargetID != a.options.TargetID {
		return fault.New(fault.Fenced, "the target is %s as %s in life %s, this recovery restores %s in life %s", ledger.State,
			ledger.TargetID, ledger.Incarnation, a.options.TargetID, a.options.Replaying)
	}
	a.life.adopt(ledger.Incarnation)
	if ledger.Parked {
		return fault.New(fault.Misconfigured, "flow %s has parked records and this release cannot apply beside them",
			a.options.Flow).WithHint("recover with the release that parked them, or a later one")
	}
	return nil
}

func (a *Applier) opening(pieces []piece) Opening {
	opening := Opening{Flow: a.options.Flow, Partitions: make([]position.Partition, 0, len(pieces))}
	for _, p := range pieces {
		opening.Partitions = append(opening.Partitions, p.run.partition())
	}
	slices.SortFunc(opening.Partitions, position.Partition.Compare)
	if a.options.Identity.Header != "" {
		opening.Identities = identities(pieces)
	}
	return opening
}

func at(p position.Partition, r position.Range, err error) error {
	return fmt.Errorf("%s %s: %w", p, r, err)
}
