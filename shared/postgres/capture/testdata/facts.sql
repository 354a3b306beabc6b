-- What two equal databases have in common, asked without the package under test. One line a fact, no numbers of objects.
WITH facts (kind, name, fact) AS (
  SELECT 'class', c.oid::regclass::text, concat_ws(' ', c.relkind, c.relpersistence, c.reloptions, x.reloptions, c.relrowsecurity,
         c.relforcerowsecurity, c.relreplident, c.relispartition, c.relispopulated, c.reloftype::regtype,
         pg_get_expr(c.relpartbound, c.oid), pg_get_partkeydef(c.oid), pg_get_userbyid(c.relowner), m.amname,
         c.relhasrules, c.relhassubclass)
    FROM pg_class AS c LEFT JOIN pg_class AS x ON x.oid = c.reltoastrelid LEFT JOIN pg_am AS m ON m.oid = c.relam
   WHERE c.relkind <> 't'
  UNION ALL
  SELECT 'attribute', a.attrelid::regclass || '.' || a.attname, concat_ws(' ',
         row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum), format_type(a.atttypid, a.atttypmod), a.attnotnull,
         a.attidentity, a.attgenerated, a.attcollation::regcollation, a.attstorage, a.attcompression, a.attstattarget,
         a.attislocal, a.attinhcount, a.attoptions, pg_get_expr(d.adbin, d.adrelid))
    FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    JOIN pg_class AS c ON c.oid = a.attrelid
   WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind <> 't'
  UNION ALL
  SELECT 'constraint', concat_ws(' ', nullif(k.conrelid, 0)::regclass, nullif(k.contypid, 0)::regtype, k.conname),
         concat_ws(' ', pg_get_constraintdef(k.oid), k.convalidated, k.conislocal, k.coninhcount, k.connoinherit AND k.contype = 'c')
    FROM pg_constraint AS k
  UNION ALL
  SELECT 'index', i.indexrelid::regclass::text, concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisclustered,
         i.indisreplident, i.indisunique, i.indisprimary, i.indimmediate,
         (SELECT h.inhparent::regclass FROM pg_inherits AS h WHERE h.inhrelid = i.indexrelid))
    FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_class AS t ON t.oid = i.indrelid WHERE t.relkind <> 't'
  UNION ALL
  SELECT 'inherits', h.inhrelid::regclass::text, concat_ws(' ', h.inhparent::regclass, h.inhseqno) FROM pg_inherits AS h
  UNION ALL
  SELECT 'trigger', t.tgrelid::regclass || ' ' || t.tgname, concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled, t.tgparentid <> 0)
    FROM pg_trigger AS t WHERE NOT t.tgisinternal
  UNION ALL
  SELECT 'rule', r.ev_class::regclass || ' ' || r.rulename, concat_ws(' ', pg_get_ruledef(r.oid), r.ev_enabled) FROM pg_rewrite AS r
  UNION ALL
  SELECT 'policy', p.polrelid::regclass || ' ' || p.polname, concat_ws(' ', p.polcmd, p.polpermissive,
         (SELECT array_agg(pg_get_userbyid(u.role) ORDER BY 1) FROM unnest(p.polroles) AS u (role)),
         pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
    FROM pg_policy AS p
  UNION ALL
  SELECT 'routine', p.oid::regprocedure::text, concat_ws(' ', pg_get_userbyid(p.proowner),
         CASE WHEN p.prokind <> 'a' AND p.oid >= 16384 THEN pg_get_functiondef(p.oid) END)
    FROM pg_proc AS p WHERE p.oid >= 16384
  UNION ALL
  SELECT 'type', t.oid::regtype::text, concat_ws(' ', t.typtype, t.typcategory, t.typbasetype::regtype, t.typnotnull, t.typdefault,
         t.typcollation::regcollation, pg_get_userbyid(t.typowner),
         (SELECT array_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE e.enumtypid = t.oid),
         (SELECT concat_ws(' ', r.rngsubtype::regtype, r.rngmultitypid::regtype, r.rngcollation::regcollation,
                           r.rngsubdiff::regproc, o.opcname) FROM pg_range AS r JOIN pg_opclass AS o ON o.oid = r.rngsubopc
           WHERE r.rngtypid = t.oid))
    FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace WHERE n.nspname <> 'pg_toast'
  UNION ALL
  SELECT 'sequence', s.seqrelid::regclass::text, concat_ws(' ', s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax,
         s.seqcache, s.seqcycle, (SELECT concat_ws(' ', d.refobjid::regclass, d.refobjsubid > 0, d.deptype) FROM pg_depend AS d
                                   WHERE d.objid = s.seqrelid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')))
    FROM pg_sequence AS s
  UNION ALL
  SELECT 'collation', c.oid::regcollation::text, concat_ws(' ', c.collprovider, c.collisdeterministic, c.collcollate, c.collctype,
         to_jsonb(c) ->> 'colliculocale') FROM pg_collation AS c WHERE c.oid >= 16384
  UNION ALL
  SELECT 'statistics', s.stxname, concat_ws(' ', pg_get_statisticsobjdef(s.oid), s.stxstattarget, pg_get_userbyid(s.stxowner))
    FROM pg_statistic_ext AS s
  UNION ALL
  SELECT 'extension', e.extname, concat_ws(' ', e.extnamespace::regnamespace, e.extversion) FROM pg_extension AS e
  UNION ALL
  SELECT 'namespace', n.nspname, pg_get_userbyid(n.nspowner) FROM pg_namespace AS n
  UNION ALL
  SELECT 'comment', concat_ws(' ', i.type, i.identity), d.description
    FROM pg_description AS d, pg_identify_object(d.classoid, d.objoid, d.objsubid) AS i
   WHERE d.objoid >= 16384 OR d.classoid = 'pg_namespace'::regclass
  UNION ALL
  SELECT 'right', t.name, concat_ws(' ', CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(e.grantee) END,
         e.privilege_type, e.is_grantable, pg_get_userbyid(e.grantor))
    FROM (SELECT c.oid::regclass::text AS name, coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END,
                                                                              c.relowner)) AS acl FROM pg_class AS c
            WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S')
          UNION ALL SELECT a.attrelid::regclass || '.' || a.attname, a.attacl FROM pg_attribute AS a
          UNION ALL SELECT p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner)) FROM pg_proc AS p
          UNION ALL SELECT y.oid::regtype::text, coalesce(y.typacl, acldefault('T', y.typowner)) FROM pg_type AS y
                     JOIN pg_namespace AS n ON n.oid = y.typnamespace WHERE n.nspname <> 'pg_toast'
          UNION ALL SELECT n.nspname, coalesce(n.nspacl, acldefault('n', n.nspowner)) FROM pg_namespace AS n
          UNION ALL SELECT concat_ws(' ', 'default', pg_get_userbyid(d.defaclrole), d.defaclnamespace::regnamespace, d.defaclobjtype),
                           d.defaclacl FROM pg_default_acl AS d) AS t, aclexplode(t.acl) AS e
)
SELECT kind, name, fact FROM facts WHERE name !~ '^(pg_toast|pg_temp)' ORDER BY kind COLLATE "C", name COLLATE "C", fact COLLATE "C"
