-- Tables of extensions come with their CREATE EXTENSION. A foreign table's rows are elsewhere.
SELECT c.oid, n.nspname, c.relname,
       NOT coalesce(has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'), true),
       c.relkind = 'r' AND row_security_active(c.oid),
       c.relpersistence = 'u' AND pg_is_in_recovery()
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
   AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0
                      AND d.deptype = 'e')
 ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
