-- +goose Up

-- One row: which target this is, which of its lives, and whether it may be written.
CREATE TABLE {{schema}}.target (
  one_row     boolean PRIMARY KEY DEFAULT true CHECK (one_row),
  target_id   text COLLATE "C",
  incarnation uuid,
  lineage     bigint NOT NULL DEFAULT 0,
  state       text NOT NULL CHECK (state IN ('new', 'live', 'restoring', 'held', 'fenced')),
  minted_at   timestamptz,
  reason      text,
  CHECK (state = 'new' OR (target_id IS NOT NULL AND incarnation IS NOT NULL AND lineage >= 1))
);
INSERT INTO {{schema}}.target (state) VALUES ('new');

-- One row for each partition of a flow: the offset that is applied next.
CREATE TABLE {{schema}}.checkpoint (
  flow         text COLLATE "C" NOT NULL,
  topic        text COLLATE "C" NOT NULL,
  partition    integer NOT NULL CHECK (partition >= 0),
  next_offset  bigint NOT NULL CHECK (next_offset >= 0),
  topic_id     uuid,
  generation   bigint NOT NULL DEFAULT 0,
  leader_epoch integer,
  record_time  timestamptz,
  applied_lsn  pg_lsn,
  incarnation  uuid NOT NULL,
  updated_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (flow, topic, partition)
) WITH (fillfactor = 50);

-- Records set aside with evidence.
CREATE TABLE {{schema}}.quarantine (
  flow        text COLLATE "C" NOT NULL,
  topic       text COLLATE "C" NOT NULL,
  partition   integer NOT NULL,
  "offset"    bigint NOT NULL,
  key         bytea,
  value       bytea,
  headers     jsonb,
  record_time timestamptz,
  fault_class text NOT NULL,
  reason      text NOT NULL,
  blocked_by  bigint,
  state       text NOT NULL CHECK (state IN ('parked', 'retried', 'discarded')),
  parked_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (flow, topic, partition, "offset")
);
CREATE INDEX quarantine_parked ON {{schema}}.quarantine (flow) WHERE state = 'parked';

-- Ranges of the log that the target did not get in the ordinary way, and how that was settled.
CREATE TABLE {{schema}}.gap (
  flow         text COLLATE "C" NOT NULL,
  topic        text COLLATE "C" NOT NULL,
  partition    integer NOT NULL,
  from_offset  bigint NOT NULL,
  until_offset bigint NOT NULL,
  generation   bigint NOT NULL DEFAULT 0,
  how          text NOT NULL CHECK (how IN ('origin', 'healed', 'accepted', 'excluded')),
  who          text NOT NULL,
  why          text,
  manifest     text,
  at           timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (flow, topic, partition, generation, from_offset),
  CHECK (from_offset < until_offset)
);

-- Every act of an operator.
CREATE TABLE {{schema}}.audit (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at        timestamptz NOT NULL DEFAULT now(),
  actor     text NOT NULL,
  act       text NOT NULL,
  arguments jsonb NOT NULL,
  before    jsonb,
  after     jsonb
);

-- Halves of a changed key that wait for each other. source_move is the same in both halves. The half that deletes the
-- old key leaves the row's values here: NULL says that the other half came first, an empty text that the delete met no row.
CREATE TABLE {{schema}}.moved_row (
  flow         text COLLATE "C" NOT NULL,
  source_table text COLLATE "C" NOT NULL,
  source_move  text COLLATE "C" NOT NULL,
  old_key      text NOT NULL,
  new_key      text NOT NULL,
  row_values   text,
  moved_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (flow, source_table, source_move)
);

-- advance moves exactly the checkpoints that are named, or raises. It is the last statement before COMMIT: an UPDATE that
-- matched nothing would not stop a COMMIT that is already on its way, an exception does.
-- Whoever changes target.state or target.incarnation locks the checkpoint rows first, so nobody is between.
-- +goose StatementBegin
CREATE FUNCTION {{schema}}.advance(
  p_flow text, p_topics text[], p_partitions integer[], p_from bigint[], p_next bigint[], p_record_times timestamptz[],
  p_incarnation uuid
) RETURNS void LANGUAGE plpgsql AS $advance$
DECLARE
  moved bigint;
BEGIN
  PERFORM 1 FROM {{schema}}.target t WHERE t.state = 'live' AND t.incarnation = p_incarnation;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the target is not live or lives another life than %', p_incarnation USING ERRCODE = 'TM003';
  END IF;
  UPDATE {{schema}}.checkpoint c
     SET next_offset = a.next_offset,
         record_time = greatest(c.record_time, a.record_time),
         updated_at = clock_timestamp()
    FROM unnest(p_topics, p_partitions, p_from, p_next, p_record_times)
      AS a (topic, partition, from_offset, next_offset, record_time)
   WHERE c.flow = p_flow AND c.topic = a.topic AND c.partition = a.partition
     AND c.next_offset = a.from_offset AND a.next_offset > a.from_offset
     AND c.incarnation = p_incarnation;
  GET DIAGNOSTICS moved = ROW_COUNT;
  IF moved IS DISTINCT FROM cardinality(p_topics) OR moved IS DISTINCT FROM cardinality(p_partitions)
     OR moved IS DISTINCT FROM cardinality(p_from) OR moved IS DISTINCT FROM cardinality(p_next)
     OR moved IS DISTINCT FROM cardinality(p_record_times) THEN
    RAISE EXCEPTION 'flow %: % of % checkpoints stood where they were expected', p_flow, moved, cardinality(p_topics)
      USING ERRCODE = 'TM001';
  END IF;
END
$advance$;
-- +goose StatementEnd

-- expect raises unless a statement touched as many rows as it had to.
-- +goose StatementBegin
CREATE FUNCTION {{schema}}.expect(p_touched bigint, p_wanted bigint, p_table text) RETURNS void
LANGUAGE plpgsql AS $expect$
BEGIN
  IF p_touched <> p_wanted THEN
    RAISE EXCEPTION '%: % of % rows are there', p_table, p_touched, p_wanted USING ERRCODE = 'TM002';
  END IF;
END
$expect$;
-- +goose StatementEnd

-- expect_move raises when the half of a key change that holds the row's values has not come yet.
-- +goose StatementBegin
CREATE FUNCTION {{schema}}.expect_move(p_found bigint, p_table text) RETURNS void
LANGUAGE plpgsql AS $expect_move$
BEGIN
  IF p_found <> 1 THEN
    RAISE EXCEPTION '%: a new key came before the delete of its old one', p_table USING ERRCODE = 'TM004';
  END IF;
END
$expect_move$;
-- +goose StatementEnd

-- clear_table empties a table. A TRUNCATE that waits stops every other writer of the table, so it waits briefly and then
-- gives way to DELETE; so it does where foreign keys point at the table. A table with TRUNCATE triggers has no such
-- way out: its TRUNCATE waits as long as the transaction may. Tables that inherit from this one are tables of their own.
-- +goose StatementBegin
CREATE FUNCTION {{schema}}.clear_table(p_table regclass) RETURNS void LANGUAGE plpgsql AS $clear_table$
DECLARE
  limit_before text := current_setting('lock_timeout');
  what text := p_table::text;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = p_table AND c.relkind = 'p') THEN
    what := 'ONLY ' || what;
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_trigger g
             WHERE g.tgrelid = p_table AND NOT g.tgisinternal AND (g.tgtype::integer & 32) <> 0 AND g.tgenabled <> 'D') THEN
    EXECUTE format('TRUNCATE TABLE %s', what);
    RETURN;
  END IF;
  BEGIN
    PERFORM set_config('lock_timeout', '200ms', true);
    EXECUTE format('TRUNCATE TABLE %s', what);
    PERFORM set_config('lock_timeout', limit_before, true);
    RETURN;
  EXCEPTION WHEN lock_not_available OR feature_not_supported THEN
    NULL; -- the block's end has put lock_timeout back
  END;
  EXECUTE format('DELETE FROM %s', what);
END
$clear_table$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION {{schema}}.clear_table(regclass);
DROP FUNCTION {{schema}}.expect_move(bigint, text);
DROP FUNCTION {{schema}}.expect(bigint, bigint, text);
DROP FUNCTION {{schema}}.advance(text, text[], integer[], bigint[], bigint[], timestamptz[], uuid);
DROP TABLE {{schema}}.moved_row, {{schema}}.audit, {{schema}}.gap, {{schema}}.quarantine, {{schema}}.checkpoint, {{schema}}.target;
