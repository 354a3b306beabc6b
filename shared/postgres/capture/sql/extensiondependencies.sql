-- ALTER ... DEPENDS ON EXTENSION.
SELECT d.classid AS class, d.objid AS object, false AS creates, 'after' AS phase, 6 AS stage,
       'depends on extension' AS kind, coalesce(i.schema, '') AS schema, i.identity AS name,
       '' AS table_schema, '' AS table_name, 0 AS part,
       format('ALTER %s %s DEPENDS ON EXTENSION %I', upper(i.type), i.identity, e.extname) AS sql
  FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid,
       pg_identify_object(d.classid, d.objid, 0) AS i
 WHERE d.deptype = 'x'
