-- What a type makes for itself, such as the constructors of a range, depends on it internally.
SELECT 'pg_proc'::regclass::oid AS class, p.oid AS object, true AS creates, 'before' AS phase, 0 AS stage,
       CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END AS kind, n.nspname AS schema,
       format('%s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) AS name,
       '' AS table_schema, '' AS table_name, 0 AS part, pg_get_functiondef(p.oid) AS sql
  FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
 WHERE p.oid >= 16384 AND p.prokind IN ('f', 'p', 'w') AND n.nspname !~ '^pg_temp_'
   AND NOT EXISTS (SELECT FROM pg_depend AS d
                    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'i')
UNION ALL
-- Ordered-set aggregates and those of no argument are named instead: each statement about them calls them differently.
SELECT 'pg_proc'::regclass, p.oid, true, 'before', 0, 'aggregate', n.nspname,
       format('%s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)), '', '', 0,
       format('CREATE AGGREGATE %I.%I(%s) (%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid),
              concat_ws(', ', 'SFUNC = ' || a.aggtransfn::regproc, 'STYPE = ' || format_type(a.aggtranstype, NULL),
                        'SSPACE = ' || nullif(a.aggtransspace, 0), 'FINALFUNC = ' || nullif(a.aggfinalfn, 0)::regproc,
                        CASE WHEN a.aggfinalextra THEN 'FINALFUNC_EXTRA' END,
                        'FINALFUNC_MODIFY = ' || CASE WHEN a.aggfinalfn <> 0 THEN f.modify ->> a.aggfinalmodify::text END,
                        'COMBINEFUNC = ' || nullif(a.aggcombinefn, 0)::regproc,
                        'SERIALFUNC = ' || nullif(a.aggserialfn, 0)::regproc,
                        'DESERIALFUNC = ' || nullif(a.aggdeserialfn, 0)::regproc, 'INITCOND = ' || quote_literal(a.agginitval),
                        'MSFUNC = ' || nullif(a.aggmtransfn, 0)::regproc, 'MINVFUNC = ' || nullif(a.aggminvtransfn, 0)::regproc,
                        'MSTYPE = ' || format_type(nullif(a.aggmtranstype, 0), NULL), 'MSSPACE = ' || nullif(a.aggmtransspace, 0),
                        'MFINALFUNC = ' || nullif(a.aggmfinalfn, 0)::regproc,
                        CASE WHEN a.aggmfinalextra THEN 'MFINALFUNC_EXTRA' END,
                        'MFINALFUNC_MODIFY = ' || CASE WHEN a.aggmfinalfn <> 0 THEN f.modify ->> a.aggmfinalmodify::text END,
                        'MINITCOND = ' || quote_literal(a.aggminitval),
                        'SORTOP = ' || (SELECT format('OPERATOR(%I.%s)', s.nspname, o.oprname) FROM pg_operator AS o
                                          JOIN pg_namespace AS s ON s.oid = o.oprnamespace WHERE o.oid = a.aggsortop),
                        'PARALLEL = ' || CASE p.proparallel WHEN 's' THEN 'SAFE' WHEN 'r' THEN 'RESTRICTED' ELSE 'UNSAFE' END))
  FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace JOIN pg_aggregate AS a ON a.aggfnoid = p.oid,
       (SELECT '{"r": "READ_ONLY", "s": "SHAREABLE", "w": "READ_WRITE"}'::jsonb AS modify) AS f
 WHERE p.oid >= 16384 AND p.pronargs > 0 AND a.aggkind = 'n' AND n.nspname !~ '^pg_temp_'
