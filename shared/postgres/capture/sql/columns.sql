-- Defaults stand alone: a default may call a function that needs the table.
WITH col AS (
  SELECT a.*, c.relkind, c.relname, n.nspname, t.typstorage, a.attrelid::regclass AS relation,
         CASE WHEN c.relkind IN ('v', 'm') THEN 'after' ELSE 'before' END AS phase,
         CASE WHEN c.relkind IN ('v', 'm') THEN '' ELSE 'ONLY ' END AS only_it
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_type AS t ON t.oid = a.atttypid
   WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'm', 'v') AND c.relpersistence <> 't'
     AND a.attnum > 0 AND NOT a.attisdropped
)
SELECT 'pg_attrdef'::regclass::oid AS class, d.oid AS object, true AS creates, a.phase AS phase, 0 AS stage,
       'default' AS kind, a.nspname AS schema, a.attname AS name, a.nspname AS table_schema, a.relname AS table_name,
       a.attnum::integer AS part,
       format('ALTER TABLE %s%s ALTER COLUMN %I SET DEFAULT %s', a.only_it, a.relation, a.attname,
              pg_get_expr(d.adbin, d.adrelid)) AS sql
  FROM col AS a JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attgenerated = ''
UNION ALL
SELECT 'pg_class'::regclass, a.attrelid, false, a.phase, 1, 'column', a.nspname, a.attname, a.nspname, a.relname, a.attnum,
       format('ALTER TABLE %s%s ALTER COLUMN %I %s', a.only_it, a.relation, a.attname, o.option)
  FROM col AS a, LATERAL (
    SELECT 'SET STORAGE ' || CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN'
                                  ELSE 'EXTENDED' END WHERE a.attstorage <> a.typstorage AND a.relkind <> 'v'
    UNION ALL SELECT 'SET COMPRESSION ' || CASE a.attcompression WHEN 'p' THEN 'pglz' ELSE 'lz4' END
     WHERE a.attcompression <> ''
    UNION ALL SELECT 'SET STATISTICS ' || a.attstattarget WHERE a.attstattarget >= 0 AND a.relkind <> 'v'
    UNION ALL SELECT format('SET (%s)', string_agg(format('%I = %L', split_part(u.option, '=', 1),
                            substr(u.option, strpos(u.option, '=') + 1)), ', ' ORDER BY u.place))
      FROM unnest(a.attoptions) WITH ORDINALITY AS u (option, place) WHERE a.attoptions IS NOT NULL HAVING count(*) > 0
  ) AS o (option)
