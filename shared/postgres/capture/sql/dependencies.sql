-- What hangs on what, and how: a member of an extension came with it; a part is made by what makes the whole; what is kept
-- goes with its table, and with the extension that has it; all else needs what it names. Of the server's own objects only
-- members of extensions are here.
SELECT d.classid, d.objid, d.refclassid, d.refobjid,
       CASE WHEN d.deptype = 'e' THEN 'member'
            WHEN d.deptype IN ('i', 'P') OR d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass THEN 'part'
            WHEN d.deptype = 'a' AND (
                   d.classid IN ('pg_constraint'::regclass, 'pg_trigger'::regclass, 'pg_rewrite'::regclass, 'pg_policy'::regclass)
                   OR d.classid = 'pg_class'::regclass AND EXISTS (
                        SELECT FROM pg_class AS c WHERE c.oid = d.objid AND c.relkind IN ('i', 'I'))) THEN 'kept'
            ELSE 'needs' END
  FROM pg_depend AS d WHERE d.objid >= 16384 AND d.deptype <> 'x' OR d.deptype = 'e'
