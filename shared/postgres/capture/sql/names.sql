SELECT coalesce(i.type || ' ' || i.identity, format('object %s of %s', u.object, u.class::regclass))
  FROM unnest($1::oid[], $2::oid[]) AS u (class, object) LEFT JOIN LATERAL pg_identify_object(u.class, u.object, 0) AS i ON true
