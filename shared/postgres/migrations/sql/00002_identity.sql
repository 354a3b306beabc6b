-- +goose Up

-- What producers call the events whose effect the target has: one event put on the log twice is applied once.
CREATE TABLE {{schema}}.applied_identity (
  flow        text COLLATE "C" NOT NULL,
  identity    text COLLATE "C" NOT NULL,
  topic       text COLLATE "C" NOT NULL,
  partition   integer NOT NULL,
  "offset"    bigint NOT NULL,
  record_time timestamptz,
  applied_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (flow, identity)
);
CREATE INDEX applied_identity_age ON {{schema}}.applied_identity (flow, applied_at);

-- +goose Down
DROP TABLE {{schema}}.applied_identity;
