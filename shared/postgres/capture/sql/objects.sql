-- Everything that somebody made in this database. Numbers below 16384 are the server's own. What a table or a type makes
-- for itself is here, too, except where nothing in pg_depend leads from it to its maker.
WITH temporary AS (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname ~ '^pg_temp_')
SELECT 'pg_class'::regclass::oid, c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.oid >= 16384 AND c.relpersistence <> 't' AND n.nspname <> 'pg_toast'
UNION ALL SELECT 'pg_type'::regclass, t.oid FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
 WHERE t.oid >= 16384 AND n.nspname !~ '^pg_(temp_|toast)'
UNION ALL SELECT 'pg_proc'::regclass, p.oid FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
 WHERE p.oid >= 16384 AND n.nspname !~ '^pg_temp_'
UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint AS k JOIN pg_namespace AS n ON n.oid = k.connamespace
 WHERE k.oid >= 16384 AND n.nspname !~ '^pg_temp_' AND k.contype IN ('c', 'f', 'p', 'u', 'x')
   AND NOT (k.contype = 'c' AND k.contypid = 0 AND NOT k.conislocal)
UNION ALL SELECT 'pg_trigger'::regclass, t.oid FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
 WHERE NOT t.tgisinternal AND c.relpersistence <> 't'
UNION ALL SELECT 'pg_rewrite'::regclass, r.oid FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = r.ev_class
 WHERE r.oid >= 16384 AND c.relpersistence <> 't'
UNION ALL SELECT 'pg_attrdef'::regclass, d.oid FROM pg_attrdef AS d JOIN pg_class AS c ON c.oid = d.adrelid
 WHERE c.relpersistence <> 't'
UNION ALL SELECT 'pg_policy'::regclass, p.oid FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid
 WHERE c.relpersistence <> 't'
UNION ALL SELECT 'pg_namespace'::regclass, oid FROM pg_namespace WHERE oid >= 16384 AND nspname !~ '^pg_'
UNION ALL SELECT 'pg_extension'::regclass, oid FROM pg_extension
UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid FROM pg_statistic_ext AS s JOIN pg_class AS c ON c.oid = s.stxrelid
 WHERE c.relpersistence <> 't'
UNION ALL SELECT 'pg_default_acl'::regclass, oid FROM pg_default_acl
UNION ALL SELECT 'pg_collation'::regclass, oid FROM pg_collation WHERE oid >= 16384 AND collnamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_operator'::regclass, oid FROM pg_operator WHERE oid >= 16384 AND oprnamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_opclass'::regclass, oid FROM pg_opclass WHERE oid >= 16384 AND opcnamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_opfamily'::regclass, oid FROM pg_opfamily WHERE oid >= 16384 AND opfnamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_am'::regclass, oid FROM pg_am WHERE oid >= 16384
UNION ALL SELECT 'pg_cast'::regclass, oid FROM pg_cast WHERE oid >= 16384
UNION ALL SELECT 'pg_conversion'::regclass, oid FROM pg_conversion WHERE oid >= 16384 AND connamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_language'::regclass, oid FROM pg_language WHERE oid >= 16384
UNION ALL SELECT 'pg_transform'::regclass, oid FROM pg_transform
UNION ALL SELECT 'pg_ts_config'::regclass, oid FROM pg_ts_config WHERE oid >= 16384 AND cfgnamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_ts_dict'::regclass, oid FROM pg_ts_dict WHERE oid >= 16384 AND dictnamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_ts_parser'::regclass, oid FROM pg_ts_parser WHERE oid >= 16384 AND prsnamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_ts_template'::regclass, oid FROM pg_ts_template WHERE oid >= 16384 AND tmplnamespace NOT IN (TABLE temporary)
UNION ALL SELECT 'pg_foreign_data_wrapper'::regclass, oid FROM pg_foreign_data_wrapper
UNION ALL SELECT 'pg_foreign_server'::regclass, oid FROM pg_foreign_server
UNION ALL SELECT 'pg_user_mapping'::regclass, umid FROM pg_user_mappings
UNION ALL SELECT 'pg_publication'::regclass, oid FROM pg_publication
UNION ALL SELECT 'pg_event_trigger'::regclass, oid FROM pg_event_trigger
