-- Columns that a sequence fills: its owner's, and those whose default is its next value. A sequence that goes round gives
-- out what a row may have: where it stands is kept.
WITH RECURSIVE base AS (
  SELECT t.oid AS type, t.oid AS base FROM pg_catalog.pg_type AS t
  UNION ALL
  SELECT b.type, t.typbasetype FROM base AS b JOIN pg_catalog.pg_type AS t ON t.oid = b.base WHERE t.typtype = 'd'
), filled AS (
  SELECT d.objid AS sequence, d.refobjid AS relation, d.refobjsubid AS number FROM pg_catalog.pg_depend AS d
   WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
  UNION
  SELECT d.refobjid, f.adrelid, f.adnum
    FROM pg_catalog.pg_depend AS d JOIN pg_catalog.pg_attrdef AS f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
   WHERE d.refclassid = 'pg_class'::regclass
     AND pg_get_expr(f.adbin, f.adrelid) ~ '^nextval\(''([^'']|'''')*''::regclass\)(::[a-z]+)?$'
)
SELECT s.seqrelid::regclass::text, c.oid::regclass::text, quote_ident(a.attname), s.seqincrement, s.seqmin, s.seqmax
  FROM filled AS f JOIN pg_catalog.pg_sequence AS s ON s.seqrelid = f.sequence
  JOIN pg_catalog.pg_class AS c ON c.oid = f.relation
  JOIN pg_catalog.pg_attribute AS a ON a.attrelid = f.relation AND a.attnum = f.number
  JOIN base AS b ON b.type = a.atttypid
 WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND NOT s.seqcycle
   AND b.base IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'numeric'::regtype)
 ORDER BY 1, 2, 3
