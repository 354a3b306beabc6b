-- Rows for rich.sql, also such as constraints that are not validated or deferred let in.
INSERT INTO shop.customer (name, code, codes, home, attributes, span, age, email, price, parent)
  SELECT 'n' || i, 'c' || i, ARRAY['a', 'b']::shop.codes, ROW('street', i, '{x}')::shop.address, 'k=>v', '[1,2.5)', i,
         i || '@x', '{1.25,NULL}', nullif(100 + 10 * (i - 2), 90) FROM generate_series(1, 50) AS i;
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE shop.customer DROP CONSTRAINT maybe;
INSERT INTO shop.customer (name, code, age) VALUES ('old', 'x', 300);
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE shop.customer ADD CONSTRAINT maybe CHECK (age < 200) NOT VALID;
INSERT INTO shop.serial_one (other) SELECT i FROM generate_series(1, 9) AS i;
INSERT INTO shop.a VALUES (1, NULL);
INSERT INTO shop.b VALUES (1, 1);
INSERT INTO shop.event (at, region, id, payload)
  SELECT timestamptz '2019-12-01 00:00Z' + i * interval '5 days', CASE i % 3 WHEN 0 THEN 'eu' WHEN 1 THEN 'us' ELSE 'x' END, i + 1,
         jsonb_build_object('i', i) FROM generate_series(0, 99) AS i WHERE i % 3 < 2;
INSERT INTO shop.event_note SELECT at, region, id FROM shop.event;
INSERT INTO shop.made (d) VALUES (1), (-1);
INSERT INTO shop.animal VALUES (3, 'cat');
INSERT INTO shop.dog (id, name, breed, legs) VALUES (4, 'rex', 'pug', 4);
INSERT INTO shop.puppy (id, name, breed, legs, age) VALUES (5, 'bit', 'pug', 4, 1);
INSERT INTO shop.stray VALUES ('mix', 6, 'joe');
INSERT INTO shop.booking VALUES (1, '[2020-01-01,2020-01-02)');
INSERT INTO shop.of_rows SELECT 1, ARRAY(SELECT c FROM shop.customer AS c ORDER BY id LIMIT 2), a FROM shop.a;
INSERT INTO shop.no_key VALUES (1, E'tab\t and \\ and NULL'), (NULL, NULL);
INSERT INTO shop.wide (c1, c1600) VALUES (1, 2);
INSERT INTO shop.nothing DEFAULT VALUES;
INSERT INTO "Odd ""schema"" 🐘"."order by; -- 'q' ""x""" ("a""b", "%s %I") VALUES (1, '%s!');
REFRESH MATERIALIZED VIEW shop.zz_counts;
REFRESH MATERIALIZED VIEW shop.aa_counts;
