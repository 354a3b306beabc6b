-- Every new database has a schema public, whose owner and rights "grants" and "owners" bring to where they were.
SELECT 'pg_namespace'::regclass::oid AS class, n.oid AS object, true AS creates, 'before' AS phase, 0 AS stage,
       'schema' AS kind, '' AS schema, n.nspname AS name, '' AS table_schema, '' AS table_name, 0 AS part,
       format('CREATE SCHEMA %s%I', CASE n.nspname WHEN 'public' THEN 'IF NOT EXISTS ' END, n.nspname) AS sql
  FROM pg_namespace AS n
 WHERE n.oid >= 16384 AND n.nspname !~ '^pg_' OR n.nspname = 'public'
UNION ALL
SELECT 'pg_namespace'::regclass, 0, true, 'before', 0, 'schema', '', 'public', '', '', 0, 'DROP SCHEMA IF EXISTS public'
 WHERE NOT EXISTS (SELECT FROM pg_namespace AS n WHERE n.nspname = 'public')
UNION ALL
SELECT 'pg_extension'::regclass, e.oid, true, 'before', 0, 'extension', n.nspname, e.extname, '', '', 0,
       format('CREATE EXTENSION IF NOT EXISTS %I WITH SCHEMA %I', e.extname, n.nspname)
  FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
