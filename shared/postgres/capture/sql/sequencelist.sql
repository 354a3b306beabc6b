SELECT c.oid, n.nspname, c.relname, s.seqincrement, coalesce(o.nspname, ''), coalesce(t.relname, ''), coalesce(a.attname, ''),
       format('SELECT %s, last_value, is_called FROM %s', c.oid, c.oid::regclass)
  FROM pg_sequence AS s JOIN pg_class AS c ON c.oid = s.seqrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
  LEFT JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
                          AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
  LEFT JOIN pg_class AS t ON t.oid = d.refobjid LEFT JOIN pg_namespace AS o ON o.oid = t.relnamespace
  LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
 WHERE c.oid >= 16384 AND c.relpersistence <> 't' ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
