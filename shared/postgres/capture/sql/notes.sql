-- What is a property of something else, or of the whole database, and is not captured.
SELECT format('tablespace %I of %s', s.spcname, c.oid::regclass)
  FROM pg_class AS c JOIN pg_tablespace AS s ON s.oid = c.reltablespace WHERE c.oid >= 16384 AND c.relpersistence <> 't'
UNION ALL
SELECT format('subscription %I', s.subname)
  FROM pg_subscription AS s JOIN pg_database AS d ON d.oid = s.subdbid WHERE d.datname = current_database()
UNION ALL
SELECT format('large objects %s', count(*)) FROM pg_largeobject_metadata HAVING count(*) > 0
UNION ALL
SELECT format('security label of %s %s', i.type, i.identity)
  FROM pg_seclabel AS s, pg_identify_object(s.classoid, s.objoid, s.objsubid) AS i
UNION ALL
SELECT format('setting %s of %s', u.setting,
              coalesce('role ' || quote_ident(pg_get_userbyid(nullif(s.setrole, 0))), 'the database'))
  FROM pg_db_role_setting AS s JOIN pg_database AS d ON d.oid = s.setdatabase, unnest(s.setconfig) AS u (setting)
 WHERE d.datname = current_database()
UNION ALL
SELECT 'comment of the database' FROM pg_shdescription AS s JOIN pg_database AS d ON d.oid = s.objoid
 WHERE s.classoid = 'pg_database'::regclass AND d.datname = current_database()
   AND s.description <> 'default administrative connection database' -- initdb's own
UNION ALL
SELECT 'rights on the database' FROM pg_database AS d
 WHERE d.datname = current_database() AND d.datacl IS NOT NULL AND EXISTS (
         SELECT e.* FROM aclexplode(d.datacl) AS e EXCEPT SELECT e.* FROM aclexplode(acldefault('d', d.datdba)) AS e)
UNION ALL
-- The triggers that keep a foreign key, switched off by a superuser.
SELECT format('switched-off constraint %I of %s', k.conname, k.conrelid::regclass)
  FROM pg_constraint AS k WHERE EXISTS (
         SELECT FROM pg_trigger AS t WHERE t.tgconstraint = k.oid AND t.tgisinternal AND t.tgparentid = 0 AND t.tgenabled <> 'O')
UNION ALL
SELECT format('half-way detachment of partition %s', i.inhrelid::regclass) FROM pg_inherits AS i WHERE i.inhdetachpending
UNION ALL
SELECT format('rows of %s, a table of extension %I', c.oid::regclass, e.extname)
  FROM pg_class AS c JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
  JOIN pg_extension AS e ON e.oid = d.refobjid WHERE c.relkind = 'r' AND pg_relation_size(c.oid) > 0
UNION ALL
-- Rights on what the server or an extension made, given or taken by hand. The server keeps no record of what the objects of
-- information_schema began with: there, it is what was given to a role that tells.
SELECT format('rights on %s %s', i.type, i.identity)
  FROM (SELECT 'pg_class'::regclass AS class, c.oid, 0 AS sub, c.relacl AS acl, c.relowner AS owner,
               CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END AS kind FROM pg_class AS c
         UNION ALL SELECT 'pg_class'::regclass, a.attrelid, a.attnum, a.attacl, c.relowner, 'c'
                     FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid WHERE a.attacl IS NOT NULL
         UNION ALL SELECT 'pg_proc'::regclass, p.oid, 0, p.proacl, p.proowner, 'f' FROM pg_proc AS p
         UNION ALL SELECT 'pg_type'::regclass, t.oid, 0, t.typacl, t.typowner, 'T' FROM pg_type AS t
         UNION ALL SELECT 'pg_language'::regclass, l.oid, 0, l.lanacl, l.lanowner, 'l' FROM pg_language AS l
         UNION ALL SELECT 'pg_namespace'::regclass, n.oid, 0, n.nspacl, n.nspowner, 'n' FROM pg_namespace AS n
                    WHERE n.nspname <> 'public') AS t
  LEFT JOIN pg_init_privs AS p ON p.classoid = t.class AND p.objoid = t.oid AND p.objsubid = t.sub
  CROSS JOIN LATERAL pg_identify_object(t.class, t.oid, t.sub) AS i
 WHERE (t.oid < 16384 OR EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = t.class AND d.objid = t.oid AND d.deptype = 'e'))
   AND coalesce(t.acl, acldefault(t.kind, t.owner)) IS DISTINCT FROM coalesce(p.initprivs, acldefault(t.kind, t.owner))
   AND (i.identity !~ '^information_schema($|\.)' OR EXISTS (
          SELECT FROM aclexplode(t.acl) AS e WHERE e.grantee NOT IN (0, t.owner)))
UNION ALL
SELECT format('grantor %I of rights on %s', pg_get_userbyid(e.grantor), t.called)
  FROM (SELECT c.oid::regclass::text AS called, c.relacl AS acl, c.relowner AS owner FROM pg_class AS c
           WHERE c.oid >= 16384 AND c.relpersistence <> 't'
         UNION ALL SELECT format('%s.%I', c.oid::regclass, a.attname), a.attacl, c.relowner
                     FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
                    WHERE c.oid >= 16384 AND c.relpersistence <> 't'
         UNION ALL SELECT p.oid::regprocedure::text, p.proacl, p.proowner FROM pg_proc AS p WHERE p.oid >= 16384
         UNION ALL SELECT t.oid::regtype::text, t.typacl, t.typowner FROM pg_type AS t WHERE t.oid >= 16384
         UNION ALL SELECT quote_ident(n.nspname), n.nspacl, n.nspowner FROM pg_namespace AS n WHERE n.oid >= 16384) AS t,
       LATERAL (SELECT DISTINCT grantor FROM aclexplode(t.acl)) AS e WHERE e.grantor <> t.owner
UNION ALL
-- No statement makes a column that is there only because of a parent again, where the order of columns says that the
-- parent got it later.
SELECT format('inheritance %s.%I', a.attrelid::regclass, a.attname)
  FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
 WHERE c.oid >= 16384 AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped AND a.attinhcount > 0 AND NOT a.attislocal
   AND a.attrelid = ANY ($1::oid[])
