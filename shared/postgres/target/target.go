// Package target owns a database as apply's target: its connections, its transactions from BEGIN to COMMIT, and what is
// known of its tables.
//
// It implements apply.Target and composes the ledger, the catalog and the writer, which build statements; only here are
// they sent. One transaction takes two round trips: BEGIN, locks and questions in the first; writes, the checkpoints'
// move and COMMIT in the second. Connections are made when they are needed, at most as many as configured, and a broken
// one is replaced: a function thaws with sockets that died meanwhile. It never sends a cancel request and never
// reports a commit that the server did not answer.
//
// A Target is safe for concurrent use; a transaction belongs to one goroutine.
package target

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/writer"
)

// Options configures a Target. Database, Flow and Now are required.
type Options struct {
	// Database is the address: a postgres:// URL or a list of keyword=value.
	Database     string
	LedgerSchema string // "" means tidemark
	Flow         string
	// Route leads a table of the source to a table of the target; nil keeps names.
	Route func(change.Name) change.Name
	// IgnoreUnknownTables leaves out what the target has no table for.
	IgnoreUnknownTables bool
	Connections         int           // 0 means 1
	ConnectTimeout      time.Duration // 0 means 5 s
	// CatalogAge is how long a table's description is believed; 0 means a minute.
	CatalogAge time.Duration
	// LeastCopied is the smallest group of new rows that is tried by COPY; 0 means 256, from where on COPY saves more than
	// its round trips cost.
	LeastCopied int
	// Replaying says that a recovery writes a target that it is restoring.
	Replaying bool
	// Unprepared keeps statements from being prepared, for poolers that give a session another connection.
	Unprepared bool
	// Logins gives the login of each connection. Nil: the address's own.
	Logins postgres.Logins
	Now    func() time.Time
}

func (o Options) withDefaults() Options {
	if o.LedgerSchema == "" {
		o.LedgerSchema = "tidemark"
	}
	if o.Route == nil {
		o.Route = func(n change.Name) change.Name { return n }
	}
	if o.Connections == 0 {
		o.Connections = 1
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.CatalogAge == 0 {
		o.CatalogAge = time.Minute
	}
	if o.LeastCopied == 0 {
		o.LeastCopied = leastCopied
	}
	return o
}

// Target is a PostgreSQL database that one flow is applied to.
type Target struct {
	options Options
	address *pgconn.Config
	ledger  ledger.Ledger
	writer  writer.Writer
	slots   chan struct{} // one for each connection in use

	mu      sync.Mutex
	idle    []*connection
	checked bool // the ledger's version was found to be one that this release knows
	closed  bool
	tables  map[change.Name]known // by the source's name
	// copyAgain is when a table may be tried by COPY again, by the target's name.
	copyAgain map[change.Name]time.Time
}

type known struct {
	table *catalog.Table // nil: left out
	until time.Time
}

// New returns a target. It connects when it is first used.
// Errors: fault.Misconfigured for an address that does not parse, fault.Bug for other options that cannot work.
func New(options Options) (*Target, error) {
	options = options.withDefaults()
	if options.Flow == "" || options.Now == nil {
		return nil, fault.New(fault.Bug, "a target without a flow or a clock")
	}
	address, err := pgconn.ParseConfig(options.Database)
	if err != nil {
		// The driver's own message quotes the address, and with it what may be a password.
		return nil, fault.New(fault.Misconfigured, "the database's address does not parse").
			WithHint("want postgres://USER@HOST:PORT/DATABASE, with the password in TIDEMARK_DATABASE_PASSWORD")
	}
	if err := postgres.CheckEncryption(options.Database, address); err != nil {
		return nil, err
	}
	postgres.LogInWith(address, options.Logins)
	t := &Target{
		options: options,
		address: address,
		ledger:  ledger.New(options.LedgerSchema),
		writer:  writer.New(options.LedgerSchema, options.Flow),
		slots:   make(chan struct{}, options.Connections),

		copyAgain: map[change.Name]time.Time{},
	}
	if options.Replaying {
		t.ledger = t.ledger.Replaying()
	}
	t.Forget()
	return t, nil
}

// Forget drops what was read of the catalog.
func (t *Target) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tables = map[change.Name]known{}
}

// Close closes the connections that nobody uses and makes every later call fail. A transaction under way ends with its
// own call.
func (t *Target) Close(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, c := range t.idle {
		_ = c.pg.Close(ctx) // nothing is under way on it: the server ends the session either way
	}
	t.idle = nil
}

// acquire returns a connection and whether it was used before. The caller gives it back with release or discard.
func (t *Target) acquire(ctx context.Context) (c *connection, used bool, err error) {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, false, fault.New(fault.Retryable, "wait for a connection: %w", ctx.Err())
	}
	if c, used, err = t.idleOrNew(ctx); err != nil {
		<-t.slots
	}
	return c, used, err
}

func (t *Target) idleOrNew(ctx context.Context) (*connection, bool, error) {
	t.mu.Lock()
	closed := t.closed
	var c *connection
	if n := len(t.idle); n > 0 {
		c, t.idle = t.idle[n-1], t.idle[:n-1]
	}
	t.mu.Unlock()
	if closed {
		return nil, false, fault.New(fault.Retryable, "the target is closed: the process is ending")
	}
	if c != nil {
		// A path that died while the process was frozen gives no error: what is sent there waits for ever.
		if t.now().Sub(c.used) < idleTrust || c.isAlive(ctx, t.options.ConnectTimeout) {
			return c, true, nil
		}
		c.cut()
	}
	c, err := connect(ctx, t.address, t.options.ConnectTimeout, !t.options.Unprepared)
	if err != nil {
		return nil, false, err
	}
	if err := t.checkLedger(ctx, c); err != nil {
		c.cut()
		return nil, false, err
	}
	return c, false, nil
}

// checkLedger makes sure, once in the life of the process, that the ledger has a version that this release knows.
func (t *Target) checkLedger(ctx context.Context, c *connection) error {
	t.mu.Lock()
	checked := t.checked
	t.mu.Unlock()
	if checked {
		return nil
	}
	answers, err := c.flight(ctx, []postgres.Statement{t.ledger.Version()})
	if err != nil {
		classified := postgres.Classify(err)
		if fault.Is(classified, fault.Misconfigured) && fault.HintOf(classified) == "" {
			return fault.New(fault.Misconfigured, "the database has no ledger in schema %s: %w",
				t.options.LedgerSchema, classified).WithHint("run: tidemark migrate")
		}
		return classified
	}
	if err := ledger.CheckVersion(answers[0].rows); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checked = true
	return nil
}

// now is the wall clock: the monotonic one may stand still while a function is frozen.
func (t *Target) now() time.Time { return t.options.Now().Round(0) }

// idleTrust is how long a connection that nobody used is believed to be alive.
const idleTrust = 30 * time.Second

func (t *Target) release(c *connection) {
	c.used = t.now()
	t.mu.Lock()
	keep := !t.closed && c.isIdle()
	if keep {
		t.idle = append(t.idle, c)
	}
	t.mu.Unlock()
	if !keep {
		c.cut()
	}
	<-t.slots
}

func (t *Target) discard(c *connection) {
	c.cut()
	<-t.slots
}

// onFresh runs what a function does first on a connection, and once more on a new one when a connection that had been idle
// turns out to be dead. Nothing may have been committed by then.
func (t *Target) onFresh(ctx context.Context, do func(*connection) error) (*connection, error) {
	for {
		c, used, err := t.acquire(ctx)
		if err != nil {
			return nil, err
		}
		if err = do(c); err == nil {
			return c, nil
		}
		broken := !isServerReply(err)
		t.discard(c)
		if !broken || !used || ctx.Err() != nil {
			return nil, postgres.Classify(err)
		}
	}
}

// limits are the time limits of a transaction as settings: most of what the deadline leaves for a statement, half of it for
// a lock, so that the server says no before the client has to cut the connection.
func (t *Target) limits(ctx context.Context) (statement, lock, idle string) {
	left := defaultLimit
	if deadline, ok := ctx.Deadline(); ok {
		left = max(deadline.Sub(t.options.Now()), time.Millisecond)
	}
	return milliseconds(left / 10 * 9), milliseconds(left / 2), milliseconds(left + idleGrace)
}

const (
	defaultLimit = time.Minute
	idleGrace    = time.Second
)

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(1, d.Milliseconds()), 10) + "ms"
}

var _ apply.Target = (*Target)(nil)
