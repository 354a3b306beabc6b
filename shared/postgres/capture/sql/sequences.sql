-- Those of identity columns come with their column.
SELECT 'pg_class'::regclass::oid AS class, c.oid AS object, true AS creates, 'before' AS phase, 0 AS stage,
       'sequence' AS kind, n.nspname AS schema, c.relname AS name, '' AS table_schema, '' AS table_name, 0 AS part,
       format('CREATE %sSEQUENCE %s AS %s START WITH %s INCREMENT BY %s MINVALUE %s MAXVALUE %s CACHE %s%s',
              CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, c.oid::regclass, s.seqtypid::regtype,
              s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, CASE WHEN s.seqcycle THEN ' CYCLE' END) AS sql
  FROM pg_sequence AS s JOIN pg_class AS c ON c.oid = s.seqrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.oid >= 16384 AND c.relpersistence <> 't'
   AND NOT EXISTS (SELECT FROM pg_depend AS d
                    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i')
UNION ALL
SELECT 'pg_class'::regclass, c.oid, false, 'before', 3, 'owned by', n.nspname, c.relname, o.nspname, t.relname, 0,
       format('ALTER SEQUENCE %s OWNED BY %s.%I', c.oid::regclass, t.oid::regclass, a.attname)
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'a'
                     AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0
  JOIN pg_class AS t ON t.oid = d.refobjid JOIN pg_namespace AS o ON o.oid = t.relnamespace
  JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
 WHERE c.oid >= 16384 AND c.relkind = 'S' AND c.relpersistence <> 't'
