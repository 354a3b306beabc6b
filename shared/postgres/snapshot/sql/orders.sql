-- The indexes that could order a table's rows, the best first, as the key was chosen when the schema was captured. Types
-- are those under domains, whose checks a bound need not pass, and without modifiers, which would cut a bound short.
WITH RECURSIVE base AS (
  SELECT t.oid AS type, t.oid AS under FROM pg_type AS t
   UNION ALL
  SELECT b.type, t.typbasetype FROM base AS b JOIN pg_type AS t ON t.oid = b.under WHERE t.typtype = 'd'
)
SELECT i.indrelid, k.names, k.types, k.collations,
       -- whether following the index gives the rows in the order that ORDER BY names
       coalesce(k.plain AND (k.forward OR k.backward), false),
       s.correlation
  FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid JOIN pg_class AS x ON x.oid = i.indexrelid
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL (
         SELECT array_agg(a.attname::text ORDER BY u.place) AS names,
                array_agg(format_type(b.under, -1) ORDER BY u.place) AS types,
                array_agg(coalesce(quote_ident(y.nspname) || '.' || quote_ident(o.collname), '') ORDER BY u.place) AS collations,
                bool_and(u.option & 1 = 0) AS forward, bool_and(u.option & 1 = 1) AS backward,
                bool_and(p.opcdefault AND b.under::regtype::text !~ '^reg') AS plain
           FROM unnest((i.indkey::smallint[])[0:i.indnkeyatts - 1], (i.indcollation::oid[])[0:i.indnkeyatts - 1],
                       (i.indclass::oid[])[0:i.indnkeyatts - 1], (i.indoption::smallint[])[0:i.indnkeyatts - 1])
                WITH ORDINALITY AS u (number, coll, class, option, place)
           JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = u.number
           JOIN base AS b ON b.type = a.atttypid JOIN pg_type AS t ON t.oid = b.under AND t.typtype <> 'd'
           JOIN pg_opclass AS p ON p.oid = u.class
           LEFT JOIN pg_collation AS o ON o.oid = u.coll LEFT JOIN pg_namespace AS y ON y.oid = o.collnamespace) AS k
  LEFT JOIN pg_stats AS s ON s.schemaname = n.nspname AND s.tablename = c.relname AND NOT s.inherited AND s.attname = k.names[1]
 WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence <> 't' AND i.indisunique AND i.indisvalid AND i.indisready
   AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
 ORDER BY i.indrelid, i.indisprimary DESC, i.indnkeyatts, x.relname COLLATE "C"
