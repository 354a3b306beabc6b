-- A materialized view that has rows is filled when all else stands.
WITH relation AS (
  SELECT c.*, n.nspname, ' WITH (' || (
           SELECT string_agg(format('%I = %L', split_part(u.option, '=', 1), substr(u.option, strpos(u.option, '=') + 1)), ', '
                             ORDER BY u.place)
             FROM unnest(c.reloptions) WITH ORDINALITY AS u (option, place)) || ')' AS options,
         rtrim(pg_get_viewdef(c.oid), ';') AS query
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
   WHERE c.oid >= 16384 AND c.relkind IN ('v', 'm') AND c.relpersistence <> 't'
)
SELECT 'pg_class'::regclass::oid AS class, c.oid AS object, true AS creates, 'after' AS phase, 0 AS stage,
       CASE c.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END AS kind, c.nspname AS schema, c.relname AS name,
       '' AS table_schema, '' AS table_name, 0 AS part,
       CASE c.relkind WHEN 'v' THEN format('CREATE VIEW %s%s AS%s', c.oid::regclass, c.options, E'\n' || c.query)
            ELSE format('CREATE MATERIALIZED VIEW %s%s%s AS%s%s', c.oid::regclass,
                        ' USING ' || quote_ident(nullif(m.amname, 'heap')), c.options, E'\n' || c.query,
                        E'\nWITH NO DATA') END AS sql
  FROM relation AS c LEFT JOIN pg_am AS m ON m.oid = c.relam
UNION ALL
SELECT 'pg_class'::regclass, c.oid, false, 'after', 8, 'refresh', c.nspname, c.relname, '', '', 0,
       format('REFRESH MATERIALIZED VIEW %s', c.oid::regclass)
  FROM relation AS c WHERE c.relkind = 'm' AND c.relispopulated
