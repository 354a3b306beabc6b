-- +goose Up

-- replay is advance for a recovery, which alone writes into a target that is restoring. The law stands in advance and is not
-- written again: inside of this transaction the target is live for as long as the call lasts, and nobody else sees it.
-- +goose StatementBegin
CREATE FUNCTION {{schema}}.replay(
  p_flow text, p_topics text[], p_partitions integer[], p_from bigint[], p_next bigint[], p_record_times timestamptz[],
  p_incarnation uuid
) RETURNS void LANGUAGE plpgsql AS $replay$
BEGIN
  UPDATE {{schema}}.target SET state = 'live' WHERE state = 'restoring' AND incarnation = p_incarnation;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the target is not restoring or lives another life than %', p_incarnation USING ERRCODE = 'TM003';
  END IF;
  PERFORM {{schema}}.advance(p_flow, p_topics, p_partitions, p_from, p_next, p_record_times, p_incarnation);
  UPDATE {{schema}}.target SET state = 'restoring';
END
$replay$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION {{schema}}.replay(text, text[], integer[], bigint[], bigint[], timestamptz[], uuid);
