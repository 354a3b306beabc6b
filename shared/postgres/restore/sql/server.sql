-- The collation as a snapshot words it.
SELECT current_setting('server_version_num')::integer, pg_encoding_to_char(d.encoding),
       concat_ws(' ', d.datlocprovider, d.datcollate, to_jsonb(d) ->> 'daticulocale', to_jsonb(d) ->> 'datlocale',
                 pg_database_collation_actual_version(d.oid))
  FROM pg_database AS d WHERE d.datname = current_database()
