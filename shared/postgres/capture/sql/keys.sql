-- The best index for an order of rows: the primary key, else few columns, else the first name.
SELECT DISTINCT ON (i.indrelid) i.indrelid,
       ARRAY(SELECT a.attname::text FROM unnest((i.indkey::smallint[])[0:i.indnkeyatts - 1]) WITH ORDINALITY AS u (number, place)
               JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = u.number ORDER BY u.place),
       ARRAY(SELECT CASE o.oid WHEN 'pg_catalog."default"'::regcollation THEN
                           format('the database''s %s', coalesce(d.version, 'without version'))
                         ELSE format('%s %s', format('%I.%I', s.nspname, o.collname),
                                     coalesce(pg_collation_actual_version(o.oid), 'without version')) END
               FROM unnest((i.indcollation::oid[])[0:i.indnkeyatts - 1]) WITH ORDINALITY AS u (number, place)
               JOIN pg_collation AS o ON o.oid = u.number JOIN pg_namespace AS s ON s.oid = o.collnamespace ORDER BY u.place)
  FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid JOIN pg_class AS x ON x.oid = i.indexrelid,
       (SELECT concat_ws(' ', b.datlocprovider, b.datcollate, to_jsonb(b) ->> 'daticulocale', to_jsonb(b) ->> 'datlocale',
                         pg_database_collation_actual_version(b.oid)) AS version
          FROM pg_database AS b WHERE b.datname = current_database()) AS d
 WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence <> 't' AND i.indisunique AND i.indisvalid AND i.indisready
   AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
   AND NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND NOT a.attnotnull
                      AND a.attnum = ANY ((i.indkey::smallint[])[0:i.indnkeyatts - 1]))
 ORDER BY i.indrelid, i.indisprimary DESC, i.indnkeyatts, x.relname COLLATE "C"
