-- Triggers of a person's that act on rows that come into a table or into its partitions, in these states.
SELECT g.tgrelid::regclass::text, quote_ident(g.tgname), g.tgenabled::text
  FROM pg_catalog.pg_trigger AS g
 WHERE g.tgrelid IN (SELECT $1::text::regclass UNION SELECT p.relid FROM pg_partition_tree($1::text::regclass) AS p)
   AND g.tgtype & 4 <> 0 AND g.tgenabled::text = ANY ($2::text[])
   AND (NOT g.tgisinternal OR EXISTS (SELECT FROM pg_catalog.pg_trigger AS p WHERE p.oid = g.tgparentid AND NOT p.tgisinternal))
 ORDER BY 1, 2
