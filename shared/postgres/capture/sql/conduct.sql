-- What acts when rows are read or written. Partitions get the triggers of their parents; each keeps its own state.
WITH relation AS (
  SELECT c.*, n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
   WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v') AND c.relpersistence <> 't'
)
SELECT 'pg_trigger'::regclass::oid AS class, t.oid AS object, true AS creates, 'after' AS phase, 0 AS stage,
       'trigger' AS kind, c.nspname AS schema, t.tgname AS name, c.nspname AS table_schema, c.relname AS table_name, 0 AS part,
       pg_get_triggerdef(t.oid) AS sql
  FROM relation AS c JOIN pg_trigger AS t ON t.tgrelid = c.oid WHERE NOT t.tgisinternal AND t.tgparentid = 0
UNION ALL
SELECT 'pg_trigger'::regclass, t.oid, false, 'after', 1, 'trigger state', c.nspname, t.tgname, c.nspname, c.relname, 0,
       format('ALTER TABLE ONLY %s %s TRIGGER %I', c.oid::regclass,
              CASE t.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, t.tgname)
  FROM relation AS c JOIN pg_trigger AS t ON t.tgrelid = c.oid
 WHERE t.tgenabled <> 'O' AND (NOT t.tgisinternal OR EXISTS (
         SELECT FROM pg_trigger AS p WHERE p.oid = t.tgparentid AND NOT p.tgisinternal))
UNION ALL
SELECT 'pg_rewrite'::regclass, r.oid, true, 'after', 0, 'rule', c.nspname, r.rulename, c.nspname, c.relname, 0,
       rtrim(pg_get_ruledef(r.oid), ';')
  FROM relation AS c JOIN pg_rewrite AS r ON r.ev_class = c.oid WHERE r.rulename <> '_RETURN'
UNION ALL
SELECT 'pg_rewrite'::regclass, r.oid, false, 'after', 1, 'rule state', c.nspname, r.rulename, c.nspname, c.relname, 0,
       format('ALTER TABLE %s %s RULE %I', c.oid::regclass,
              CASE r.ev_enabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, r.rulename)
  FROM relation AS c JOIN pg_rewrite AS r ON r.ev_class = c.oid WHERE r.rulename <> '_RETURN' AND r.ev_enabled <> 'O'
UNION ALL
SELECT 'pg_policy'::regclass, p.oid, true, 'after', 0, 'policy', c.nspname, p.polname, c.nspname, c.relname, 0,
       format('CREATE POLICY %I ON %s AS %s FOR %s TO %s%s%s', p.polname, c.oid::regclass,
              CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
              CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
                   ELSE 'ALL' END,
              (SELECT string_agg(CASE u.role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(u.role)) END, ', '
                                 ORDER BY pg_get_userbyid(u.role)) FROM unnest(p.polroles) AS u (role)),
              ' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')',
              ' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')
  FROM relation AS c JOIN pg_policy AS p ON p.polrelid = c.oid
UNION ALL
SELECT 'pg_class'::regclass, c.oid, false, 'after', 1, 'row security', c.nspname, c.relname, c.nspname, c.relname, 0,
       format('ALTER TABLE ONLY %s ENABLE ROW LEVEL SECURITY', c.oid::regclass)
  FROM relation AS c WHERE c.relrowsecurity
UNION ALL
SELECT 'pg_class'::regclass, c.oid, false, 'after', 1, 'row security', c.nspname, c.relname, c.nspname, c.relname, 1,
       format('ALTER TABLE ONLY %s FORCE ROW LEVEL SECURITY', c.oid::regclass)
  FROM relation AS c WHERE c.relforcerowsecurity
