package runs

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres/ledger"
)

// listed is the newest manifest that an archive lists of a life.
type listed struct {
	seq int64 // 0: there is none
	run manifest.RunID
}

// opening is the short transaction in which a run gets its row, alone: whoever opens locks the table.
type opening struct {
	runs    *Runs
	tx      pgx.Tx
	request backup.Request
	life    ledger.Life // as it was when the archive was asked
	newest  listed
}

// enter judges whether a run may begin, and writes its row. All questions come before the first write.
func (o *opening) enter(ctx context.Context) (backup.Claimed, error) {
	if err := o.lockTable(ctx); err != nil {
		return backup.Claimed{}, err
	}
	if err := o.checkLife(ctx); err != nil {
		return backup.Claimed{}, err
	}
	attempt, err := o.nextAttempt(ctx)
	if err != nil {
		return backup.Claimed{}, err
	}
	if err := o.checkRunning(ctx); err != nil {
		return backup.Claimed{}, err
	}
	if err := o.checkNewest(ctx); err != nil {
		return backup.Claimed{}, err
	}
	seq, err := o.nextSeq(ctx)
	if err != nil {
		return backup.Claimed{}, err
	}
	run := backup.Claimed{
		RunID: o.runs.newID(), Lineage: o.life.Lineage, Incarnation: o.life.Incarnation, Seq: seq, Attempt: attempt,
	}
	if err := run.RunID.Validate(); err != nil {
		return backup.Claimed{}, fault.New(fault.Bug, "%w", err)
	}
	return run, o.write(ctx, run)
}

// lockTable keeps other openings out, and the ends of runs, which write. Who holds a run locks its row alone.
func (o *opening) lockTable(ctx context.Context) error {
	_, err := o.tx.Exec(ctx, "LOCK TABLE "+o.runs.schema+".backup_run IN SHARE ROW EXCLUSIVE MODE")
	if isLocked(err) {
		return fault.New(fault.Retryable, "%w: one begins or ends at this moment", backup.ErrRunning).WithHint("come again in a minute")
	}
	return classify(err)
}

func (o *opening) checkLife(ctx context.Context) error {
	now, err := o.runs.readLife(ctx, o.tx, o.request.Target)
	if err != nil {
		return err
	}
	if now != o.life {
		return fault.New(fault.Retryable, "the target began life %s while the archive was asked about life %s", now.Lineage, o.life.Lineage)
	}
	return nil
}

// nextAttempt counts the tries of one scheduled time in this life. An older life's backup of it says nothing of this one.
func (o *opening) nextAttempt(ctx context.Context) (int, error) {
	if o.request.Scheduled.IsZero() {
		return 1, nil
	}
	var last int
	err := o.tx.QueryRow(ctx, "SELECT coalesce(max(attempt), 0) FROM "+o.runs.schema+".backup_run WHERE lineage = $1 AND scheduled = $2",
		int64(o.life.Lineage), o.scheduled()).Scan(&last)
	if err != nil || last == 0 {
		return 1, classify(err)
	}
	var done backup.DoneError
	rows, err := o.tx.Query(ctx, "SELECT run_id::text, lineage, incarnation::text, seq, attempt, statement FROM "+o.runs.schema+".backup_run"+
		" WHERE lineage = $1 AND scheduled = $2 AND state = 'done' ORDER BY attempt LIMIT 1", int64(o.life.Lineage), o.scheduled())
	if err != nil {
		return 0, classify(err)
	}
	defer rows.Close()
	if !rows.Next() {
		return last + 1, classify(rows.Err())
	}
	err = rows.Scan(&done.Run.RunID, &done.Run.Lineage, &done.Run.Incarnation, &done.Run.Seq, &done.Run.Attempt, &done.Statement)
	if err != nil {
		return 0, classify(err)
	}
	return 0, &done
}

// scheduled is the scheduled time, nil when there is none. The driver cuts it to microseconds, as the server keeps it.
func (o *opening) scheduled() *time.Time {
	if o.request.Scheduled.IsZero() {
		return nil
	}
	return &o.request.Scheduled
}

// checkRunning refuses to begin beside a run that is held. One whose row is not locked has no process any more. The ends of
// runs wait for this transaction, so what is running and cannot be locked is held.
func (o *opening) checkRunning(ctx context.Context) error {
	table := o.runs.schema + ".backup_run"
	rows, err := o.tx.Query(ctx, "SELECT run_id::text, seq, attempt, actor, started_at, clock_timestamp() - started_at > $1::interval,"+
		" coalesce((SELECT min(l.pid) FROM pg_catalog.pg_locks AS l WHERE l.locktype = 'transactionid' AND l.granted"+
		" AND l.mode = 'ExclusiveLock' AND l.transactionid = r.xmax), 0) FROM "+table+" AS r WHERE state = 'running'"+
		" AND run_id NOT IN (SELECT run_id FROM "+table+" WHERE state = 'running' FOR UPDATE SKIP LOCKED)", longestRun)
	if err != nil {
		return classify(err)
	}
	held, err := pgx.CollectRows(rows, pgx.RowToStructByPos[holder])
	if err != nil {
		return classify(err)
	}
	if len(held) > 0 {
		return held[0].refusal()
	}
	return nil
}

// longestRun is how long a run may live: a sweep of the archive takes what an older one stored.
const longestRun = "12 hours"

// checkNewest refuses an archive whose newest manifest of this life is no run of this database's: some other database thinks
// that it is this target, and their numbers would collide.
func (o *opening) checkNewest(ctx context.Context) error {
	if o.newest.seq == 0 {
		return nil
	}
	var known bool
	err := o.tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+o.runs.schema+".backup_run WHERE run_id = $1::uuid AND lineage = $2 AND seq = $3)",
		o.newest.run.String(), int64(o.life.Lineage), o.newest.seq).Scan(&known)
	if err != nil || known {
		return classify(err)
	}
	return fault.New(fault.Fenced, "%w: manifest %s/%d is of run %s, which this database never made", backup.ErrPrefixShared,
		o.life.Lineage, o.newest.seq, o.newest.run).
		WithHint("a clone of the database is another target: init it under another id, with an archive of its own; a database that was put" +
			" back to an older state is one too. Nothing was written")
}

// nextSeq is a number that no run of this life has had, here or in the archive.
func (o *opening) nextSeq(ctx context.Context) (int64, error) {
	var last int64
	err := o.tx.QueryRow(ctx, "SELECT greatest(max(seq), $2) FROM "+o.runs.schema+".backup_run WHERE lineage = $1",
		int64(o.life.Lineage), o.newest.seq).Scan(&last)
	if err != nil {
		return 0, classify(err)
	}
	if last == math.MaxInt64 {
		return 0, fault.New(fault.Corrupt, "life %s has used up its numbers: the last is %d", o.life.Lineage, last).
			WithHint("no life makes that many backups: find out who wrote that manifest, or that row of backup_run")
	}
	return last + 1, nil
}

func (o *opening) write(ctx context.Context, run backup.Claimed) error {
	table := o.runs.schema + ".backup_run"
	if _, err := o.tx.Exec(ctx, "UPDATE "+table+" SET state = 'crashed', ended_at = now() WHERE state = 'running'"); err != nil {
		return classify(err)
	}
	_, err := o.tx.Exec(ctx, "INSERT INTO "+table+" (run_id, lineage, seq, incarnation, scheduled, attempt, state, actor)"+
		" VALUES ($1::uuid, $2, $3, $4::uuid, $5, $6, 'running', $7)", run.RunID.String(), int64(run.Lineage), run.Seq,
		run.Incarnation.String(), o.scheduled(), run.Attempt, o.request.Actor)
	if err != nil {
		return classify(err)
	}
	return o.prune(ctx)
}

// prune drops old rows. It keeps what later claims ask for: the run of the newest manifest, however long ago the last good
// backup was, and many good ones more, should an operator remove manifests. The highest number is the row that was just
// written.
func (o *opening) prune(ctx context.Context) error {
	table := o.runs.schema + ".backup_run"
	_, err := o.tx.Exec(ctx, "DELETE FROM "+table+" WHERE state <> 'running' AND started_at < now() - interval '90 days'"+
		" AND run_id::text <> $1 AND run_id NOT IN (SELECT run_id FROM "+table+" WHERE state = 'done'"+
		" ORDER BY lineage DESC, seq DESC LIMIT 100)", o.newest.run.String())
	return classify(err)
}
