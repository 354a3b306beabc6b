-- Which table's foreign keys point to which.
SELECT DISTINCT n.nspname, c.relname, m.nspname, r.relname
  FROM pg_catalog.pg_constraint AS k
  JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_class AS r ON r.oid = k.confrelid JOIN pg_catalog.pg_namespace AS m ON m.oid = r.relnamespace
 WHERE k.contype = 'f'
