package applytest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"tidemark/shared/apply"
	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/position"
)

// Life is the ledger's word on the target itself.
type Life struct {
	TargetID    position.TargetID
	Incarnation position.Incarnation
	State       apply.State
	Parked      bool
}

// Faults are asked at the numbered places of a transaction; an error that they return is what the caller gets. A nil
// function never fails.
type Faults struct {
	Begin  func(apply.Opening) error // before anything is locked
	Commit func(apply.Work) error    // before anything is written: nothing is applied
	Reply  func(apply.Work) error    // after all of it is committed: the reply is lost
}

// Memory is a target that keeps everything in memory, with the suite's one table.
type Memory struct {
	mu          sync.Mutex
	life        Life
	faults      Faults
	checkpoints map[slot]apply.Checkpoint
	locks       map[slot]chan struct{}
	rows        map[string]string
	relation    *change.Relation // nil: the table is not there
	commits     []apply.Work
	forgotten   int
}

type slot struct {
	flow      string
	partition position.Partition
}

// FirstLife is the incarnation that a new memory target lives.
const FirstLife position.Incarnation = "00000000-0000-4000-8000-000000000001"

// NewMemory returns a live target under TargetID.
func NewMemory() *Memory {
	m := &Memory{
		life:        Life{TargetID: TargetID, Incarnation: FirstLife, State: apply.StateLive},
		checkpoints: map[slot]apply.Checkpoint{},
		locks:       map[slot]chan struct{}{},
		rows:        map[string]string{},
	}
	m.CreateTable()
	return m
}

// CreateTable makes the suite's table known.
func (m *Memory) CreateTable() {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := change.Type{Kind: change.KindOther, Name: "text", Equality: change.EqualityText}
	m.relation = change.NewRelation(change.Name{Schema: "public", Table: "item"},
		[]change.Column{{Name: "id", Type: text}, {Name: "body", Type: text}}, []int{0})
}

// DropTable takes the suite's table away.
func (m *Memory) DropTable() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.relation = nil
}

// Fail puts faults in the place of those before.
func (m *Memory) Fail(faults Faults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = faults
}

// Life is where the target stands.
func (m *Memory) Life() Life {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.life
}

// SetLife changes the target as a recovery would: the checkpoints go with it.
func (m *Memory) SetLife(life Life) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life = life
	for s, c := range m.checkpoints {
		c.Incarnation = life.Incarnation
		m.checkpoints[s] = c
	}
}

// Rows are the rows of the suite's table: body by id.
func (m *Memory) Rows() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.rows)
}

// Checkpoints is where the partitions of Flow stand.
func (m *Memory) Checkpoints() position.Cut {
	m.mu.Lock()
	defer m.mu.Unlock()
	cut := position.Cut{}
	for s, c := range m.checkpoints {
		if s.flow == Flow {
			cut[s.partition] = c.Next
		}
	}
	return cut
}

// Commits lists what was committed, in order, without transactions that only asked.
func (m *Memory) Commits() []apply.Work {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.commits)
}

// Forgotten counts how often the catalog was dropped.
func (m *Memory) Forgotten() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgotten
}

// Forget counts. See apply.Target.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten++
}

// Relation knows the suite's table. See change.Catalog.
func (m *Memory) Relation(_ context.Context, source change.Name) (*change.Relation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.relation == nil || m.relation.Name != source {
		return nil, fault.New(fault.Misconfigured, "the target has no table %s", source)
	}
	return m.relation, nil
}

// Begin locks. See apply.Target.
func (m *Memory) Begin(ctx context.Context, opening apply.Opening) (apply.Transaction, error) {
	if fail := m.currentFaults().Begin; fail != nil {
		if err := fail(opening); err != nil {
			return nil, err
		}
	}
	tx := &memoryTransaction{target: m, flow: opening.Flow}
	for _, p := range opening.Partitions {
		lock := m.lockOf(slot{opening.Flow, p})
		select {
		case lock <- struct{}{}:
			tx.held = append(tx.held, lock)
		case <-ctx.Done():
			tx.Rollback(ctx)
			return nil, fault.New(fault.Retryable, "wait for the lock of %s: %w", p, ctx.Err())
		}
	}
	tx.ledger = m.read(opening)
	return tx, nil
}

func (m *Memory) currentFaults() Faults {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.faults
}

func (m *Memory) lockOf(s slot) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	lock, ok := m.locks[s]
	if !ok {
		lock = make(chan struct{}, 1)
		m.locks[s] = lock
	}
	return lock
}

// read is what the ledger says. A missing checkpoint is made while the target is live, and stays if the transaction
// commits.
func (m *Memory) read(opening apply.Opening) apply.Ledger {
	m.mu.Lock()
	defer m.mu.Unlock()
	ledger := apply.Ledger{
		TargetID: m.life.TargetID, Incarnation: m.life.Incarnation, State: m.life.State, Parked: m.life.Parked,
		Checkpoints: map[position.Partition]apply.Checkpoint{},
	}
	for _, p := range opening.Partitions {
		if c, ok := m.checkpoints[slot{opening.Flow, p}]; ok {
			ledger.Checkpoints[p] = c
		} else if m.life.State == apply.StateLive {
			ledger.Checkpoints[p] = apply.Checkpoint{Incarnation: m.life.Incarnation}
		}
	}
	return ledger
}

type memoryTransaction struct {
	target *Memory
	flow   string
	held   []chan struct{}
	ledger apply.Ledger
}

// Ledger is what Begin read.
func (tx *memoryTransaction) Ledger() apply.Ledger { return tx.ledger }

// Rollback lets go of the locks.
func (tx *memoryTransaction) Rollback(context.Context) {
	for _, lock := range tx.held {
		<-lock
	}
	tx.held = nil
}

// Commit writes. See apply.Transaction.
func (tx *memoryTransaction) Commit(ctx context.Context, work apply.Work) error {
	defer tx.Rollback(ctx)
	faults := tx.target.currentFaults()
	if faults.Commit != nil {
		if err := faults.Commit(work); err != nil {
			return err
		}
	}
	if err := tx.write(work); err != nil {
		return err
	}
	if faults.Reply != nil {
		return faults.Reply(work)
	}
	return nil
}

func (tx *memoryTransaction) write(work apply.Work) error {
	m := tx.target
	m.mu.Lock()
	defer m.mu.Unlock()
	rows, err := written(m.rows, work.Groups)
	if err != nil {
		return err
	}
	checkpoints, err := tx.advanced(work)
	if err != nil {
		return err
	}
	m.rows = rows
	for p, c := range checkpoints {
		m.checkpoints[slot{work.Flow, p}] = c
	}
	if len(work.Advances) > 0 {
		m.commits = append(m.commits, work)
	}
	return nil
}

// written is rows after the groups. The wire format makes rows and removes them, and brings whole rows only.
func written(rows map[string]string, groups []reduction.Group) (map[string]string, error) {
	rows = maps.Clone(rows)
	for n, g := range groups {
		for i := range g.Changes {
			c := &g.Changes[i]
			id, body := string(c.Key[0].Bytes()), ""
			switch g.Op {
			case change.Insert:
				body = string(c.Row[1].Bytes())
				rows[id] = body
			case change.Delete:
				delete(rows, id)
			case change.Update, change.Truncate:
				return nil, fault.New(fault.Bug, "the memory target cannot %s", g.Op)
			}
			if body == Refused {
				return nil, &apply.WorkError{Err: fault.New(fault.Poison, "item refuses a body"), Group: n}
			}
		}
	}
	return rows, nil
}

// advanced is the checkpoints after the moves, which the server refuses as a whole when one of them is not as said.
func (tx *memoryTransaction) advanced(work apply.Work) (map[position.Partition]apply.Checkpoint, error) {
	life := tx.target.life
	checkpoints := maps.Clone(tx.ledger.Checkpoints)
	if len(work.Advances) > 0 && (life.State != apply.StateLive || life.Incarnation != work.Incarnation) {
		return nil, fault.New(fault.Fenced, "the target is not live or lives another life")
	}
	for _, a := range work.Advances {
		c, ok := checkpoints[a.Partition]
		if !ok || c.Next != a.From || !a.From.Before(a.Next) || c.Incarnation != work.Incarnation {
			return nil, fault.New(fault.Bug, "checkpoint %s does not stand at %s", a.Partition, a.From)
		}
		c.Next = a.Next
		if a.RecordTime.After(c.RecordTime) {
			c.RecordTime = a.RecordTime
		}
		checkpoints[a.Partition] = c
	}
	return checkpoints, nil
}

var _ apply.Target = (*Memory)(nil)
