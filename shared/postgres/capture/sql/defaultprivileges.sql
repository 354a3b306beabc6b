-- Those of a schema add to what is granted everywhere; those of the whole database stand in place of the built-in ones.
WITH standing AS (
  SELECT d.oid, e.grantee, e.privilege_type, e.is_grantable FROM pg_default_acl AS d, aclexplode(d.defaclacl) AS e
), initial AS (
  SELECT d.oid, e.grantee, e.privilege_type, e.is_grantable
    FROM pg_default_acl AS d, aclexplode(acldefault(CASE d.defaclobjtype WHEN 'S' THEN 's'::"char" ELSE d.defaclobjtype END,
                                                    d.defaclrole)) AS e
   WHERE d.defaclnamespace = 0
), change AS (
  SELECT 1 AS granted, x.* FROM (TABLE standing EXCEPT TABLE initial) AS x
   UNION ALL SELECT 0, x.* FROM (TABLE initial EXCEPT TABLE standing) AS x
)
SELECT 'pg_default_acl'::regclass::oid AS class, d.oid AS object, true AS creates, 'after' AS phase, 5 AS stage,
       'default privileges' AS kind, coalesce(n.nspname, '') AS schema, pg_get_userbyid(d.defaclrole) AS name,
       '' AS table_schema, '' AS table_name, c.granted AS part,
       format('ALTER DEFAULT PRIVILEGES FOR ROLE %I%s %s', pg_get_userbyid(d.defaclrole),
              ' IN SCHEMA ' || quote_ident(n.nspname),
              format(CASE c.granted WHEN 1 THEN 'GRANT %s ON %s TO %s%s' ELSE 'REVOKE %s ON %s FROM %s' END,
                     string_agg(c.privilege_type, ', ' ORDER BY c.privilege_type),
                     CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS'
                          WHEN 'T' THEN 'TYPES' ELSE 'SCHEMAS' END,
                     CASE c.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(c.grantee)) END,
                     CASE WHEN c.is_grantable THEN ' WITH GRANT OPTION' END)) AS sql
  FROM change AS c JOIN pg_default_acl AS d USING (oid) LEFT JOIN pg_namespace AS n ON n.oid = d.defaclnamespace
 WHERE d.defaclobjtype IN ('r', 'S', 'f', 'T', 'n')
 GROUP BY d.oid, d.defaclrole, d.defaclobjtype, n.nspname, c.granted, c.grantee, c.is_grantable
