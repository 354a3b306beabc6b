SELECT d.datname, current_setting('server_version_num')::integer, pg_encoding_to_char(d.encoding),
       concat_ws(' ', d.datlocprovider, d.datcollate, to_jsonb(d) ->> 'daticulocale', to_jsonb(d) ->> 'datlocale',
                 pg_database_collation_actual_version(d.oid)),
       (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END)::text,
       statement_timestamp(),
       has_function_privilege('pg_control_system()', 'EXECUTE')
  FROM pg_database AS d WHERE d.datname = current_database()
