-- Children and partitions get inherited checks, and the foreign keys of a partitioned table, from their parents. Keys and
-- indexes are made one by one, so that each keeps its name, and attached to their parents afterwards.
WITH relation AS (
  SELECT c.*, n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
   WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'm') AND c.relpersistence <> 't'
), index AS (
  SELECT i.*, x.relname AS name, x.relkind AS kind, x.reloptions AS options, k.contype, k.oid AS constraint_oid,
         CASE c.relkind WHEN 'm' THEN 'after' ELSE 'keys' END AS phase, c.oid AS table_oid, c.nspname, c.relname
    FROM relation AS c JOIN pg_index AS i ON i.indrelid = c.oid JOIN pg_class AS x ON x.oid = i.indexrelid
    LEFT JOIN pg_constraint AS k ON k.conindid = i.indexrelid AND k.conrelid = c.oid AND k.contype IN ('p', 'u', 'x')
), validated_here AS (
  -- A child may have validated what its parent has not. A constraint that is validated does not join such a parent's.
  SELECT k.oid FROM pg_constraint AS k
   WHERE k.contype = 'c' AND k.coninhcount > 0 AND k.convalidated AND NOT EXISTS (
           SELECT FROM pg_constraint AS p JOIN pg_inherits AS h ON h.inhparent = p.conrelid AND h.inhrelid = k.conrelid
            WHERE p.contype = 'c' AND p.conname = k.conname AND p.convalidated)
), own AS (
  SELECT k.oid, k.conname, k.contype, k.conrelid, d.definition, i.options, c.nspname, c.relname, c.relkind, k.connoinherit,
         CASE WHEN k.contype IN ('p', 'u') AND i.options IS NOT NULL THEN
                CASE WHEN k.condeferrable THEN ' DEFERRABLE' ELSE '' END
                  || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END END AS ending
    FROM pg_constraint AS k JOIN relation AS c ON c.oid = k.conrelid LEFT JOIN index AS i ON i.constraint_oid = k.oid,
         LATERAL (SELECT concat(pg_get_constraintdef(k.oid),
                                CASE WHEN k.oid IN (TABLE validated_here) THEN ' NOT VALID' END) AS definition) AS d
   WHERE k.contype IN ('p', 'u', 'x') OR k.contype = 'c' AND k.conislocal OR k.contype = 'f' AND k.conparentid = 0
), with_options AS (
  SELECT i.indexrelid, string_agg(format('%I = %L', split_part(u.option, '=', 1),
                                         substr(u.option, strpos(u.option, '=') + 1)), ', ' ORDER BY u.place) AS list
    FROM index AS i, unnest(i.options) WITH ORDINALITY AS u (option, place) GROUP BY i.indexrelid
)
SELECT 'pg_constraint'::regclass::oid AS class, k.oid AS object, true AS creates,
       CASE k.contype WHEN 'f' THEN 'references' ELSE 'keys' END AS phase, 0 AS stage,
       CASE k.contype WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' WHEN 'x' THEN 'exclusion' WHEN 'c' THEN 'check'
            ELSE 'foreign key' END AS kind, k.nspname AS schema, k.conname AS name, k.nspname AS table_schema,
       k.relname AS table_name, 0 AS part,
       format('ALTER TABLE %s%s ADD CONSTRAINT %I %s',
              CASE WHEN k.contype = 'c' AND NOT k.connoinherit OR k.contype = 'f' AND k.relkind = 'p' THEN '' ELSE 'ONLY ' END,
              k.conrelid::regclass, k.conname,
              CASE WHEN k.ending IS NULL THEN k.definition
                   ELSE left(k.definition, length(k.definition) - length(k.ending))
                     || (SELECT format(' WITH (%s)', o.list) FROM with_options AS o JOIN index AS i USING (indexrelid)
                          WHERE i.constraint_oid = k.oid) || k.ending END) AS sql
  FROM own AS k
UNION ALL
SELECT 'pg_constraint'::regclass, k.oid, NOT k.conislocal, 'keys', 2, 'check', c.nspname, k.conname, c.nspname, c.relname, 0,
       format('ALTER TABLE %s VALIDATE CONSTRAINT %I', c.oid::regclass, k.conname)
  FROM pg_constraint AS k JOIN relation AS c ON c.oid = k.conrelid WHERE k.oid IN (TABLE validated_here)
UNION ALL
SELECT 'pg_class'::regclass, i.indexrelid, true, i.phase, 0, 'index', i.nspname, i.name, i.nspname, i.relname, 0,
       pg_get_indexdef(i.indexrelid)
  FROM index AS i WHERE i.constraint_oid IS NULL AND (i.indisvalid AND i.indisready AND i.indislive OR i.kind = 'I')
UNION ALL
SELECT 'pg_class'::regclass, i.indexrelid, false, i.phase, 1, 'index partition', i.nspname, i.name, i.nspname, i.relname, 0,
       format('ALTER INDEX %s ATTACH PARTITION %s', h.inhparent::regclass, i.indexrelid::regclass)
  FROM index AS i JOIN pg_inherits AS h ON h.inhrelid = i.indexrelid
UNION ALL
SELECT 'pg_class'::regclass, i.indexrelid, false, i.phase, 3, 'index options', i.nspname, i.name, i.nspname, i.relname, 0,
       format('ALTER INDEX %s SET (%s)', i.indexrelid::regclass, o.list)
  FROM index AS i JOIN with_options AS o ON o.indexrelid = i.indexrelid WHERE i.contype = 'x'
UNION ALL
SELECT 'pg_class'::regclass, i.indexrelid, false, i.phase, 3, 'index column', i.nspname, i.name, i.nspname, i.relname, a.attnum,
       format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s', i.indexrelid::regclass, a.attnum, a.attstattarget)
  FROM index AS i JOIN pg_attribute AS a ON a.attrelid = i.indexrelid AND a.attnum > 0 AND a.attstattarget >= 0
UNION ALL
SELECT 'pg_class'::regclass, i.indexrelid, false, 'after', 1, 'cluster', i.nspname, i.name, i.nspname, i.relname, 0,
       format('ALTER TABLE %s CLUSTER ON %I', i.table_oid::regclass, i.name)
  FROM index AS i WHERE i.indisclustered
UNION ALL
SELECT 'pg_class'::regclass, c.oid, false, 'after', 1, 'replica identity', c.nspname, c.relname, c.nspname, c.relname, 0,
       format('ALTER TABLE ONLY %s REPLICA IDENTITY %s', c.oid::regclass,
              CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING'
                   ELSE 'USING INDEX ' || quote_ident((SELECT i.name FROM index AS i
                                                        WHERE i.indrelid = c.oid AND i.indisreplident)) END)
  FROM relation AS c
 WHERE c.relreplident IN ('f', 'n')
    OR c.relreplident = 'i' AND EXISTS (SELECT FROM index AS i WHERE i.indrelid = c.oid AND i.indisreplident)
UNION ALL
SELECT 'pg_statistic_ext'::regclass, s.oid, true, 'after', 0, 'statistics', n.nspname, s.stxname, c.nspname, c.relname, 0,
       pg_get_statisticsobjdef(s.oid)
  FROM pg_statistic_ext AS s JOIN relation AS c ON c.oid = s.stxrelid JOIN pg_namespace AS n ON n.oid = s.stxnamespace
UNION ALL
SELECT 'pg_statistic_ext'::regclass, s.oid, false, 'after', 1, 'statistics target', n.nspname, s.stxname, c.nspname, c.relname,
       0, format('ALTER STATISTICS %I.%I SET STATISTICS %s', n.nspname, s.stxname, s.stxstattarget)
  FROM pg_statistic_ext AS s JOIN relation AS c ON c.oid = s.stxrelid JOIN pg_namespace AS n ON n.oid = s.stxnamespace
 WHERE s.stxstattarget >= 0
