SELECT c.oid, coalesce(pg_relation_size(c.oid), 0) / current_setting('block_size')::bigint,
       coalesce(pg_relation_size(c.oid), 0) + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0)
  FROM pg_class AS c WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence <> 't'
