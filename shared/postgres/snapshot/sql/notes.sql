-- Columns whose values another database could not read, or not as what they are, from COPY's binary form. What a type is
-- made of is looked through: elements, attributes, what a domain or a range is over.
WITH RECURSIVE used AS (
  SELECT a.attrelid AS relation, a.attnum AS number, a.attname AS name, a.atttypid AS type
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
   WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence <> 't' AND a.attnum > 0 AND NOT a.attisdropped
     AND a.attgenerated = ''
), part (whole, type) AS (
  SELECT DISTINCT type, type FROM used
   UNION
  SELECT p.whole, u.type FROM part AS p JOIN pg_type AS t ON t.oid = p.type CROSS JOIN LATERAL (
         SELECT t.typbasetype WHERE t.typtype = 'd'
          UNION ALL SELECT t.typelem WHERE t.typcategory = 'A' AND t.typelem <> 0
          UNION ALL SELECT a.atttypid FROM pg_attribute AS a
                     WHERE a.attrelid = t.typrelid AND t.typrelid <> 0 AND a.attnum > 0 AND NOT a.attisdropped
          UNION ALL SELECT r.rngsubtype FROM pg_range AS r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)) AS u (type)
), note AS (
  SELECT p.whole, bool_or(t.typsend = 0 OR t.typreceive = 0) AS unreadable, bool_or(t.oid::regtype::text ~ '^reg') AS numbered
    FROM part AS p JOIN pg_type AS t ON t.oid = p.type GROUP BY p.whole
)
SELECT u.relation, n.unreadable,
       format('rows of %s: column %I is of type %s, which %s', u.relation::regclass, u.name, format_type(u.type, -1),
              CASE WHEN n.unreadable THEN 'has no binary form' ELSE 'holds numbers of this database' END)
  FROM used AS u JOIN note AS n ON n.whole = u.type WHERE n.unreadable OR n.numbered
