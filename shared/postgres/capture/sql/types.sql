SELECT 'pg_type'::regclass::oid AS class, t.oid AS object, true AS creates, 'before' AS phase, 0 AS stage,
       'enum' AS kind, n.nspname AS schema, t.typname AS name, '' AS table_schema, '' AS table_name, 0 AS part,
       format('CREATE TYPE %s AS ENUM (%s)', t.oid::regtype,
              (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
                 FROM pg_enum AS e WHERE e.enumtypid = t.oid)) AS sql
  FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
 WHERE t.oid >= 16384 AND n.nspname !~ '^pg_temp_' AND t.typtype = 'e'
UNION ALL
SELECT 'pg_type'::regclass, t.oid, true, 'before', 0, 'composite type', n.nspname, t.typname, '', '', 0,
       format('CREATE TYPE %s AS (%s)', t.oid::regtype,
              (SELECT string_agg(format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                                        CASE WHEN a.attcollation <> y.typcollation
                                             THEN ' COLLATE ' || a.attcollation::regcollation END), ', ' ORDER BY a.attnum)
                 FROM pg_attribute AS a JOIN pg_type AS y ON y.oid = a.atttypid
                WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped))
  FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace JOIN pg_class AS c ON c.oid = t.typrelid
 WHERE t.oid >= 16384 AND n.nspname !~ '^pg_temp_' AND t.typtype = 'c' AND c.relkind = 'c'
UNION ALL
-- A canonical function takes the type that it is a part of: such a range needs a shell and C code, and is named instead.
SELECT 'pg_type'::regclass, t.oid, true, 'before', 0, 'range type', n.nspname, t.typname, '', '', 0,
       format('CREATE TYPE %s AS RANGE (SUBTYPE = %s, SUBTYPE_OPCLASS = %s%s%s, MULTIRANGE_TYPE_NAME = %s)', t.oid::regtype,
              format_type(r.rngsubtype, -1), format('%I.%I', o.nspname, p.opcname),
              CASE WHEN r.rngcollation <> 0 THEN ', COLLATION = ' || r.rngcollation::regcollation END,
              CASE WHEN r.rngsubdiff <> 0 THEN ', SUBTYPE_DIFF = ' || r.rngsubdiff::regproc END, r.rngmultitypid::regtype)
  FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace JOIN pg_range AS r ON r.rngtypid = t.oid
  JOIN pg_opclass AS p ON p.oid = r.rngsubopc JOIN pg_namespace AS o ON o.oid = p.opcnamespace
 WHERE t.oid >= 16384 AND n.nspname !~ '^pg_temp_' AND t.typtype = 'r' AND r.rngcanonical = 0
UNION ALL
SELECT 'pg_type'::regclass, t.oid, true, 'before', 0, 'domain', n.nspname, t.typname, '', '', 0,
       format('CREATE DOMAIN %s AS %s%s%s%s', t.oid::regtype, format_type(t.typbasetype, t.typtypmod),
              CASE WHEN t.typcollation <> b.typcollation THEN ' COLLATE ' || t.typcollation::regcollation END,
              CASE WHEN t.typdefaultbin IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(t.typdefaultbin, 0)
                   WHEN t.typdefault IS NOT NULL THEN ' DEFAULT ' || quote_literal(t.typdefault) END,
              CASE WHEN t.typnotnull THEN ' NOT NULL' END)
  FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace JOIN pg_type AS b ON b.oid = t.typbasetype
 WHERE t.oid >= 16384 AND n.nspname !~ '^pg_temp_' AND t.typtype = 'd'
UNION ALL
-- While a column holds arrays of the domain only a constraint that is not validated can be added, so the others come
-- before the tables.
SELECT 'pg_constraint'::regclass, k.oid, true, CASE WHEN k.convalidated THEN 'before' ELSE 'keys' END, 0,
       'domain check', n.nspname, t.typname || ' ' || k.conname, '', '', 0,
       format('ALTER DOMAIN %s ADD CONSTRAINT %I %s', t.oid::regtype, k.conname, pg_get_constraintdef(k.oid))
  FROM pg_constraint AS k JOIN pg_type AS t ON t.oid = k.contypid JOIN pg_namespace AS n ON n.oid = t.typnamespace
 WHERE t.oid >= 16384 AND n.nspname !~ '^pg_temp_' AND k.contype = 'c'
UNION ALL
-- The names of a collation's parts changed over the versions of PostgreSQL.
SELECT 'pg_collation'::regclass, o.oid, true, 'before', 0, 'collation', n.nspname, o.collname, '', '', 0,
       format('CREATE COLLATION %s (PROVIDER = %s%s%s, DETERMINISTIC = %s)', o.oid::regcollation,
              CASE o.collprovider WHEN 'i' THEN 'icu' WHEN 'c' THEN 'libc' ELSE 'builtin' END,
              coalesce(', LOCALE = ' || quote_literal(coalesce(j.one ->> 'colliculocale', j.one ->> 'colllocale')),
                       format(', LC_COLLATE = %L, LC_CTYPE = %L', o.collcollate, o.collctype)),
              ', RULES = ' || quote_literal(j.one ->> 'collicurules'), o.collisdeterministic::text)
  FROM pg_collation AS o JOIN pg_namespace AS n ON n.oid = o.collnamespace, LATERAL (SELECT to_jsonb(o) AS one) AS j
 WHERE o.oid >= 16384 AND n.nspname !~ '^pg_temp_' AND o.collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))
