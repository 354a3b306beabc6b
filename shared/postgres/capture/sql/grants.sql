-- Rights are told as what differs from those that an object of this owner has when it is made. PUBLIC may use the schema
-- public of a new database.
WITH thing AS (
  SELECT 'pg_namespace'::regclass::oid AS class, n.oid AS object, 0 AS sub, n.nspowner AS owner,
         coalesce(n.nspacl, acldefault('n', n.nspowner)) AS acl,
         acldefault('n', n.nspowner) || CASE n.nspname WHEN 'public' THEN ARRAY[makeaclitem(0, n.nspowner, 'USAGE', false)]
                                        ELSE '{}' END AS base,
         '' AS schema, n.nspname::text AS name, '' AS table_name, format('SCHEMA %I', n.nspname) AS called,
         format('SCHEMA %I', n.nspname) AS owned, '' AS col
    FROM pg_namespace AS n WHERE n.oid >= 16384 AND n.nspname !~ '^pg_' OR n.nspname = 'public'
   UNION ALL
  -- A sequence that belongs to a column has the owner of its table.
  SELECT 'pg_class'::regclass, c.oid, 0, c.relowner, c.relacl,
         acldefault(CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, c.relowner), n.nspname, c.relname,
         CASE WHEN c.relkind IN ('r', 'p') THEN c.relname ELSE '' END,
         format('%s %s', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass),
         CASE WHEN c.relkind = 'S' AND EXISTS (SELECT FROM pg_depend AS d
                WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
                  AND d.deptype IN ('a', 'i')) THEN NULL
              ELSE format('%s %s', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW'
                                   WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, c.oid::regclass) END, ''
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
   WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relpersistence <> 't'
   UNION ALL
  SELECT 'pg_class'::regclass, c.oid, a.attnum, c.relowner, a.attacl, NULL, n.nspname, c.relname,
         CASE WHEN c.relkind IN ('r', 'p') THEN c.relname ELSE '' END, format('TABLE %s', c.oid::regclass), NULL,
         format(' (%I)', a.attname)
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_attribute AS a ON a.attrelid = c.oid
   WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm') AND c.relpersistence <> 't' AND a.attacl IS NOT NULL
     AND a.attnum > 0 AND NOT a.attisdropped
   UNION ALL
  SELECT 'pg_proc'::regclass, p.oid, 0, p.proowner, p.proacl, acldefault('f', p.proowner), n.nspname,
         format('%s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)), '',
         format('%s %s', CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, p.oid::regprocedure),
         format('ROUTINE %s', p.oid::regprocedure), ''
    FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
   WHERE p.oid >= 16384 AND n.nspname !~ '^pg_temp_'
     AND NOT EXISTS (SELECT FROM pg_depend AS d
                      WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'i')
   UNION ALL
  SELECT 'pg_type'::regclass, t.oid, 0, t.typowner, t.typacl, acldefault('T', t.typowner), n.nspname, t.typname, '',
         format('TYPE %s', t.oid::regtype), format('TYPE %s', t.oid::regtype), ''
    FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
   WHERE t.oid >= 16384 AND (t.typtype IN ('e', 'd', 'r')
      OR t.typtype = 'c' AND (SELECT c.relkind FROM pg_class AS c WHERE c.oid = t.typrelid) = 'c')
   UNION ALL
  SELECT 'pg_collation'::regclass, o.oid, 0, o.collowner, NULL, NULL, n.nspname, o.collname, '', NULL,
         format('COLLATION %s', o.oid::regcollation), ''
    FROM pg_collation AS o JOIN pg_namespace AS n ON n.oid = o.collnamespace WHERE o.oid >= 16384
   UNION ALL
  SELECT 'pg_statistic_ext'::regclass, s.oid, 0, s.stxowner, NULL, NULL, n.nspname, s.stxname, '', NULL,
         format('STATISTICS %I.%I', n.nspname, s.stxname), ''
    FROM pg_statistic_ext AS s JOIN pg_namespace AS n ON n.oid = s.stxnamespace
), standing AS (
  -- Whoever granted it, the owner grants it again; it is named among what is not captured.
  SELECT DISTINCT t.class, t.object, t.sub, e.grantee, e.privilege_type, e.is_grantable
    FROM thing AS t, aclexplode(t.acl) AS e
), initial AS (
  SELECT DISTINCT t.class, t.object, t.sub, e.grantee, e.privilege_type, e.is_grantable
    FROM thing AS t, aclexplode(t.base) AS e WHERE t.acl IS NOT NULL
), change AS (
  SELECT 1 AS granted, x.* FROM (TABLE standing EXCEPT TABLE initial) AS x
   UNION ALL SELECT 0, x.* FROM (TABLE initial EXCEPT TABLE standing) AS x
)
SELECT t.class AS class, t.object AS object, false AS creates, 'after' AS phase, 4 AS stage,
       'grant' AS kind, t.schema AS schema, t.name AS name,
       CASE t.table_name WHEN '' THEN '' ELSE t.schema END AS table_schema, t.table_name AS table_name, c.granted AS part,
       format(CASE c.granted WHEN 1 THEN 'GRANT %s TO %s%s' ELSE 'REVOKE %s FROM %s' END,
              string_agg(c.privilege_type || t.col, ', ' ORDER BY c.privilege_type) || ' ON ' || t.called,
              CASE c.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(c.grantee)) END,
              CASE WHEN c.is_grantable THEN ' WITH GRANT OPTION' END) AS sql
  FROM change AS c JOIN thing AS t USING (class, object, sub)
 GROUP BY t.class, t.object, t.sub, t.schema, t.name, t.table_name, t.called, t.col, c.granted, c.grantee, c.is_grantable
UNION ALL
SELECT t.class, t.object, false, 'after', 3, 'owner', t.schema, t.name,
       CASE t.table_name WHEN '' THEN '' ELSE t.schema END, t.table_name, 0,
       format('ALTER %s OWNER TO %I', t.owned, pg_get_userbyid(t.owner))
  FROM thing AS t WHERE t.owned IS NOT NULL
