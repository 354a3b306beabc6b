-- What somebody made in this database: not the server's own, which has lower numbers, nor what came with an extension, nor what
-- a table or a type makes for itself. Of the schema public only its content counts.
WITH object AS (
  SELECT 'pg_class'::regclass AS class, oid FROM pg_class
   WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c') AND relpersistence <> 't' AND relnamespace <> 'pg_toast'::regnamespace
  UNION ALL SELECT 'pg_type', t.oid FROM pg_type AS t WHERE t.typnamespace <> ALL (
    SELECT n.oid FROM pg_namespace AS n WHERE n.nspname ~ '^pg_(temp_|toast)')
  UNION ALL SELECT 'pg_proc', oid FROM pg_proc
  UNION ALL SELECT 'pg_namespace', oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'public'
  UNION ALL SELECT 'pg_collation', oid FROM pg_collation
  UNION ALL SELECT 'pg_operator', oid FROM pg_operator
  UNION ALL SELECT 'pg_opclass', oid FROM pg_opclass
  UNION ALL SELECT 'pg_opfamily', oid FROM pg_opfamily
  UNION ALL SELECT 'pg_am', oid FROM pg_am
  UNION ALL SELECT 'pg_cast', oid FROM pg_cast
  UNION ALL SELECT 'pg_conversion', oid FROM pg_conversion
  UNION ALL SELECT 'pg_language', oid FROM pg_language
  UNION ALL SELECT 'pg_ts_config', oid FROM pg_ts_config
  UNION ALL SELECT 'pg_ts_dict', oid FROM pg_ts_dict
  UNION ALL SELECT 'pg_ts_parser', oid FROM pg_ts_parser
  UNION ALL SELECT 'pg_ts_template', oid FROM pg_ts_template
  UNION ALL SELECT 'pg_foreign_data_wrapper', oid FROM pg_foreign_data_wrapper
  UNION ALL SELECT 'pg_foreign_server', oid FROM pg_foreign_server
  UNION ALL SELECT 'pg_publication', oid FROM pg_publication
  UNION ALL SELECT 'pg_event_trigger', oid FROM pg_event_trigger
  UNION ALL SELECT 'pg_largeobject', oid FROM pg_largeobject_metadata
)
SELECT i.type || ' ' || i.identity
  FROM object AS o, LATERAL pg_identify_object(o.class, o.oid, 0) AS i
 WHERE (o.oid >= 16384 OR o.class = 'pg_largeobject'::regclass) AND i.type IS NOT NULL AND NOT EXISTS (
         SELECT FROM pg_depend AS d WHERE d.classid = o.class AND d.objid = o.oid AND d.deptype IN ('e', 'i', 'a'))
 ORDER BY o.class <> 'pg_class'::regclass, i.identity COLLATE "C" LIMIT 6
