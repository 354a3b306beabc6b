// Package runs owns the ledger's record of backups: who may back the target up now, under which number, and how it ended.
//
// It implements backup.Runs over table backup_run. A claim is a row, committed before anything of the backup is read or
// stored, and a lock on that row, which the claim's own connection holds for its whole life: the lock ends with the process
// or with its connection and with nothing else, so no clock decides who is alive. It refuses a target that is not live, a
// second run beside one that is held, a scheduled time that has its backup, and an archive whose newest manifest of this life
// another database wrote. Numbers of a life only grow.
//
// Runs is safe for concurrent use, as are processes beside each other; a claim belongs to one goroutine.
package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/apply"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/ledger"
)

// Options configures Runs. Database and NewID are required.
type Options struct {
	Database *pgx.ConnConfig
	Schema   string // of the ledger; "" means tidemark
	// NewID gives each run an id that nothing else bears: a random UUID.
	NewID func() manifest.RunID
}

// Runs is the record of backups in one ledger.
type Runs struct {
	config *pgx.ConnConfig
	ledger ledger.Ledger
	schema string // quoted
	newID  func() manifest.RunID
	// between is called between the two transactions of Begin, by tests.
	between func()
}

// New returns the record of backups. It connects for each claim.
// Errors: fault.Bug for options that cannot work.
func New(options Options) (*Runs, error) {
	if options.Database == nil || options.NewID == nil {
		return nil, fault.New(fault.Bug, "a record of backups without a database or ids")
	}
	if options.Schema == "" {
		options.Schema = "tidemark"
	}
	config := options.Database.Copy()
	config.RuntimeParams["client_encoding"] = "UTF8" // texts are UTF-8, whatever the role or the database prefers
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	return &Runs{
		config: config, ledger: ledger.New(options.Schema), schema: postgres.QuoteName(options.Schema), newID: options.NewID,
		between: func() {},
	}, nil
}

const connectTimeout = 10 * time.Second

// Begin claims a run. See backup.Runs.
//
// Errors: ErrRunning, which is fault.Retryable; *backup.DoneError, which has no class, because there is nothing to do; ErrPrefixShared
// and a target that is not live, which are fault.Fenced; another target and a ledger without a place for backups, which are
// fault.Misconfigured. After a fault.Retryable the row of a run may be left behind: the next claim takes it for crashed.
func (r *Runs) Begin(ctx context.Context, request backup.Request) (backup.Claim, error) {
	claim, err := r.begin(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("begin a backup: %w", err)
	}
	return claim, nil
}

func (r *Runs) begin(ctx context.Context, request backup.Request) (*claim, error) {
	if request.Newest == nil || request.Actor == "" || request.Target.Validate() != nil {
		return nil, fault.New(fault.Bug, "a claim without a target, an archive or an actor")
	}
	conn, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	claim, err := r.beginOn(ctx, conn, request)
	if err != nil {
		_ = conn.Close(ctx) // nothing is under way on it
		return nil, err
	}
	return claim, nil
}

// beginOn asks the archive before it locks anything, so that a slow store holds up nobody. What another process does between
// the answer and the lock loses nothing: a run of this database's that began meanwhile has its row, so its number counts, and
// the manifest in the answer stays known, because rows that young are never pruned. A manifest that another database writes
// meanwhile is found by the next run; no order of questions would find one that comes a moment later.
func (r *Runs) beginOn(ctx context.Context, conn *pgx.Conn, request backup.Request) (*claim, error) {
	if err := r.checkVersion(ctx, conn); err != nil {
		return nil, err
	}
	life, err := r.readLife(ctx, conn, request.Target)
	if err != nil {
		return nil, err
	}
	newest := listed{}
	if newest.seq, newest.run, err = request.Newest(ctx, life.Lineage); err != nil {
		return nil, fmt.Errorf("ask the archive for its newest manifest: %w", err)
	}
	var run backup.Claimed
	err = r.inTransaction(ctx, conn, short(), func(tx pgx.Tx) error {
		o := &opening{runs: r, tx: tx, request: request, life: life, newest: newest}
		run, err = o.enter(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.between()
	tx, err := r.hold(ctx, conn, run)
	if err != nil {
		return nil, err
	}
	return &claim{runs: r, conn: conn, tx: tx, run: run}, nil
}

func (r *Runs) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := postgres.Connect(ctx, r.config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", classify(err))
	}
	return conn, nil
}

func (r *Runs) checkVersion(ctx context.Context, conn *pgx.Conn) error {
	question := r.ledger.Version()
	answer := conn.PgConn().ExecParams(ctx, question.SQL, nil, nil, nil, nil).Read()
	if answer.Err != nil {
		return classify(answer.Err)
	}
	return ledger.CheckVersionFrom(answer.Rows, ledger.BackupVersion)
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readLife reads which life the target lives.
// Errors: fault.Misconfigured with apply.ErrOtherTarget for another target, fault.Fenced for one that is not live.
func (r *Runs) readLife(ctx context.Context, from querier, want position.TargetID) (ledger.Life, error) {
	var life ledger.Life
	err := from.QueryRow(ctx, "SELECT coalesce(target_id, ''), coalesce(incarnation::text, ''), lineage, state FROM "+r.schema+".target").
		Scan(&life.TargetID, &life.Incarnation, &life.Lineage, &life.State)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return life, fault.New(fault.Misconfigured, "the ledger has no target row").WithHint("run: tidemark migrate")
	case err != nil:
		return life, classify(err)
	case life.State == apply.StateNew:
		return life, fault.New(fault.Fenced, "the target is new: it has no life yet").WithHint("run: tidemark init")
	case life.TargetID != want:
		return life, fault.New(fault.Misconfigured, "%w: it is %q, the configuration says %q", apply.ErrOtherTarget,
			life.TargetID.String(), want.String()).
			WithHint("correct TIDEMARK_TARGET_ID or TIDEMARK_DATABASE_URL; nothing was written")
	case life.State != apply.StateLive:
		return life, fault.New(fault.Fenced, "target %s is %s: only a live one is backed up", want, life.State).
			WithHint("its reason stands in table target of the ledger; backups go on when it is live again")
	}
	return life, nil
}
