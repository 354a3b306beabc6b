-- A question for everything that may hold what somebody put there: its name, if it does. What an extension brings is its own.
SELECT format('SELECT %L WHERE EXISTS (SELECT FROM ONLY %s)', 'table ' || c.oid::regclass, c.oid::regclass)
  FROM pg_class AS c
 WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence <> 't' AND NOT EXISTS (
         SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
UNION ALL
SELECT 'SELECT ''large objects'' WHERE EXISTS (SELECT FROM pg_largeobject_metadata)'
