-- The schema public always gets its comment, because a new database's has one.
WITH comment AS (
  SELECT d.classoid, d.objoid, d.objsubid, d.description FROM pg_description AS d
   WHERE d.objoid >= 16384 AND d.classoid IN (
           'pg_class'::regclass, 'pg_type'::regclass, 'pg_proc'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass,
           'pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_namespace'::regclass, 'pg_extension'::regclass,
           'pg_statistic_ext'::regclass, 'pg_collation'::regclass)
      OR d.objoid = (SELECT e.oid FROM pg_extension AS e WHERE e.extname = 'plpgsql')
   UNION ALL
  SELECT 'pg_namespace'::regclass, n.oid, 0, d.description
    FROM pg_namespace AS n LEFT JOIN pg_description AS d ON d.objoid = n.oid AND d.classoid = 'pg_namespace'::regclass
   WHERE n.nspname = 'public' AND n.oid < 16384
)
SELECT c.classoid AS class, c.objoid AS object, false AS creates, 'after' AS phase, 2 AS stage,
       'comment' AS kind, coalesce(r.nspname, '') AS schema, i.identity AS name,
       coalesce(r.nspname, '') AS table_schema, coalesce(r.relname, '') AS table_name, c.objsubid AS part,
       format('COMMENT ON %s %s IS %s',
              CASE WHEN i.type LIKE '% column' THEN 'COLUMN'
                   WHEN i.type LIKE '% constraint' THEN 'CONSTRAINT'
                   WHEN i.type = 'composite type' THEN 'TYPE'
                   WHEN i.type = 'statistics object' THEN 'STATISTICS'
                   ELSE upper(i.type) END,
              CASE i.type WHEN 'domain constraint' THEN (
                SELECT format('%I ON DOMAIN %s', k.conname, k.contypid::regtype) FROM pg_constraint AS k WHERE k.oid = c.objoid)
                   ELSE i.identity END,
              quote_nullable(c.description)) AS sql
  FROM comment AS c CROSS JOIN LATERAL pg_identify_object(c.classoid, c.objoid, c.objsubid) AS i
  LEFT JOIN LATERAL (SELECT n.nspname, t.relname FROM pg_class AS t JOIN pg_namespace AS n ON n.oid = t.relnamespace
                      WHERE t.relkind IN ('r', 'p') AND t.oid = CASE c.classoid
                        WHEN 'pg_class'::regclass THEN c.objoid
                        WHEN 'pg_trigger'::regclass THEN (SELECT tgrelid FROM pg_trigger AS o WHERE o.oid = c.objoid)
                        WHEN 'pg_policy'::regclass THEN (SELECT polrelid FROM pg_policy AS o WHERE o.oid = c.objoid)
                        WHEN 'pg_rewrite'::regclass THEN (SELECT ev_class FROM pg_rewrite AS o WHERE o.oid = c.objoid)
                        WHEN 'pg_constraint'::regclass THEN (SELECT conrelid FROM pg_constraint AS o WHERE o.oid = c.objoid)
                      END) AS r ON true
 WHERE i.type IS NOT NULL AND coalesce(r.nspname, i.schema, '') !~ '^pg_temp_'
   -- A partition's part of a foreign key is named by the server when it is made again.
   AND NOT EXISTS (SELECT FROM pg_constraint AS k JOIN pg_constraint AS p ON p.oid = k.conparentid
                    WHERE c.classoid = 'pg_constraint'::regclass AND k.oid = c.objoid AND k.contype = 'f' AND k.conname <> p.conname)
