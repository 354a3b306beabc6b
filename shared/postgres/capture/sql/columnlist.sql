SELECT c.oid, n.nspname, c.relname,
       a.attname, format_type(a.atttypid, a.atttypmod), a.atttypid,
       CASE a.attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' ELSE '' END
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
 WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence <> 't'
 ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
