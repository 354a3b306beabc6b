-- +goose Up

-- What lies behind the end that a recovery was asked to stop at. As long as a row is here its flow waits for an operator: the
-- records are replayed, or left out for good.
CREATE TABLE {{schema}}.held (
  flow         text COLLATE "C" NOT NULL,
  topic        text COLLATE "C" NOT NULL,
  topic_id     uuid,
  partition    integer NOT NULL,
  from_offset  bigint NOT NULL,
  until_offset bigint NOT NULL,
  held_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (flow, topic, partition),
  CHECK (from_offset <= until_offset)
);

-- +goose Down
DROP TABLE {{schema}}.held;
