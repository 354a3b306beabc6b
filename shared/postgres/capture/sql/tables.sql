-- A partition is made alone and attached afterwards, so that its columns keep their order. A child of ordinary inheritance
-- is made as a child where that gives its columns the order that they have; else it is made alone, too.
WITH RECURSIVE parents AS (
  SELECT i.inhrelid, string_agg(i.inhparent::regclass::text, ', ' ORDER BY i.inhseqno) AS names
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
   WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition GROUP BY i.inhrelid
), inherited AS (
  SELECT i.inhrelid, p.attname, min(i.inhseqno * 10000 + p.attnum) AS place
    FROM pg_inherits AS i JOIN pg_attribute AS p ON p.attrelid = i.inhparent AND p.attnum > 0 AND NOT p.attisdropped
   WHERE i.inhrelid IN (SELECT inhrelid FROM parents) GROUP BY i.inhrelid, p.attname
), ancestor AS (
  SELECT i.inhrelid, i.inhparent FROM pg_inherits AS i WHERE i.inhrelid IN (SELECT inhrelid FROM parents)
   UNION SELECT a.inhrelid, i.inhparent FROM ancestor AS a JOIN pg_inherits AS i ON i.inhrelid = a.inhparent
), child AS (
  SELECT r.inhrelid, r.names
    FROM parents AS r JOIN pg_attribute AS a ON a.attrelid = r.inhrelid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN inherited AS h ON h.inhrelid = r.inhrelid AND h.attname = a.attname
   GROUP BY r.inhrelid, r.names
  HAVING array_agg(a.attname ORDER BY a.attnum) = array_agg(a.attname ORDER BY h.place NULLS LAST, a.attnum)
     AND NOT bool_or(a.attislocal AND a.attgenerated <> '' AND h.place IS NOT NULL)
), identity AS (
  SELECT d.refobjid AS attrelid, d.refobjsubid AS attnum,
         format('(SEQUENCE NAME %s START WITH %s INCREMENT BY %s MINVALUE %s MAXVALUE %s CACHE %s%s)', s.seqrelid::regclass,
                s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, CASE WHEN s.seqcycle THEN ' CYCLE' END) AS options
    FROM pg_sequence AS s JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid
     AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
), columns AS (
  SELECT a.attrelid,
         string_agg(format(E'\n  %I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || a.attcollation::regcollation END,
                CASE WHEN a.attgenerated <> '' THEN
                       format(' GENERATED ALWAYS AS (%s)%s', pg_get_expr(g.adbin, g.adrelid),
                              CASE a.attgenerated WHEN 's' THEN ' STORED' ELSE ' VIRTUAL' END)
                     WHEN i.options IS NOT NULL THEN
                       format(' GENERATED %s AS IDENTITY %s', CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END,
                              i.options) END,
                CASE WHEN a.attnotnull THEN ' NOT NULL' END), ',' ORDER BY a.attnum) AS list
    FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef AS g ON g.adrelid = a.attrelid AND g.adnum = a.attnum AND a.attgenerated <> ''
    LEFT JOIN identity AS i ON i.attrelid = a.attrelid AND i.attnum = a.attnum
   WHERE a.attrelid >= 16384 AND a.attnum > 0 AND NOT a.attisdropped
     AND (a.attislocal OR a.attrelid NOT IN (SELECT inhrelid FROM child))
   GROUP BY a.attrelid
), relation AS (
  SELECT c.*, n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
   WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
)
SELECT 'pg_class'::regclass::oid AS class, c.oid AS object, true AS creates, 'before' AS phase, 0 AS stage,
       'table' AS kind, c.nspname AS schema, c.relname AS name, '' AS table_schema, '' AS table_name, 0 AS part,
       format('CREATE %sTABLE %s (%s)%s%s%s%s', CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, c.oid::regclass, l.list,
              ' INHERITS (' || h.names || ')', ' PARTITION BY ' || pg_get_partkeydef(c.oid),
              ' USING ' || quote_ident(nullif(m.amname, 'heap')), ' WITH (' || o.list || ')') AS sql
  FROM relation AS c LEFT JOIN columns AS l ON l.attrelid = c.oid LEFT JOIN child AS h ON h.inhrelid = c.oid
  LEFT JOIN pg_am AS m ON m.oid = c.relam LEFT JOIN pg_class AS x ON x.oid = c.reltoastrelid,
  LATERAL (SELECT string_agg(format('%s%I = %L', u.prefix, split_part(u.option, '=', 1),
                                    substr(u.option, strpos(u.option, '=') + 1)), ', ' ORDER BY u.prefix, u.place) AS list
             FROM (SELECT '' AS prefix, p.* FROM unnest(c.reloptions) WITH ORDINALITY AS p (option, place)
                   UNION ALL SELECT 'toast.', p.* FROM unnest(x.reloptions) WITH ORDINALITY AS p (option, place)) AS u) AS o
UNION ALL
SELECT 'pg_class'::regclass, c.oid, false, 'before', 1, 'table type', c.nspname, c.relname, c.nspname, c.relname, 0,
       format('ALTER TABLE ONLY %s OF %s', c.oid::regclass, c.reloftype::regtype)
  FROM relation AS c WHERE c.reloftype <> 0
UNION ALL
SELECT 'pg_class'::regclass, c.oid, false, 'before', 2, 'partition', c.nspname, c.relname, c.nspname, c.relname, 0,
       format('ALTER TABLE ONLY %s ATTACH PARTITION %s %s', i.inhparent::regclass, c.oid::regclass,
              pg_get_expr(c.relpartbound, c.oid))
  FROM relation AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid WHERE c.relispartition
UNION ALL
SELECT 'pg_class'::regclass, c.oid, false, 'before', 2, 'inheritance', c.nspname, c.relname, c.nspname, c.relname, i.inhseqno,
       format('ALTER TABLE ONLY %s INHERIT %s', c.oid::regclass, i.inhparent::regclass)
  FROM relation AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid
 WHERE NOT c.relispartition AND c.oid NOT IN (SELECT inhrelid FROM child)
UNION ALL
-- A column that a child only inherits is as its parents' were when they were made, until this says otherwise.
SELECT 'pg_class'::regclass, c.oid, false, 'before', 1, 'not null', c.nspname, c.relname, c.nspname, c.relname, a.attnum,
       format('ALTER TABLE ONLY %s ALTER COLUMN %I %s NOT NULL', c.oid::regclass, a.attname,
              CASE WHEN a.attnotnull THEN 'SET' ELSE 'DROP' END)
  FROM relation AS c JOIN child AS h ON h.inhrelid = c.oid JOIN pg_attribute AS a ON a.attrelid = c.oid
 WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attinhcount > 0 AND (a.attnotnull AND NOT a.attislocal OR NOT a.attnotnull
       AND EXISTS (SELECT FROM ancestor AS r JOIN pg_attribute AS p ON p.attrelid = r.inhparent
                    WHERE r.inhrelid = c.oid AND p.attname = a.attname AND p.attnotnull))
