-- +goose Up

-- One row for each try of a backup. Its number is taken before anything of it is stored, so two tries never share one. Who
-- runs holds a lock on the row: a row that is running and not locked is of a process that died.
CREATE TABLE {{schema}}.backup_run (
  run_id      uuid PRIMARY KEY,
  lineage     bigint NOT NULL CHECK (lineage >= 1),
  seq         bigint NOT NULL CHECK (seq >= 1),
  incarnation uuid NOT NULL,
  scheduled   timestamptz,
  attempt     integer NOT NULL CHECK (attempt >= 1),
  state       text NOT NULL CHECK (state IN ('running', 'done', 'failed', 'continuation', 'crashed')),
  started_at  timestamptz NOT NULL DEFAULT now(),
  ended_at    timestamptz,
  statement   text COLLATE "C" CHECK (statement ~ '^[0-9a-f]{64}$'),
  actor       text NOT NULL,
  UNIQUE (lineage, seq),
  CHECK ((state = 'running') = (ended_at IS NULL)),
  CHECK (state <> 'done' OR statement IS NOT NULL)
);
CREATE INDEX backup_run_scheduled ON {{schema}}.backup_run (scheduled);
CREATE UNIQUE INDEX backup_run_running ON {{schema}}.backup_run (state) WHERE state = 'running';

-- +goose Down
DROP TABLE {{schema}}.backup_run;
