CREATE SCHEMA shop;
CREATE SCHEMA "Odd ""schema"" 🐘";
CREATE SCHEMA ext;
CREATE EXTENSION hstore WITH SCHEMA ext;
CREATE EXTENSION btree_gist WITH SCHEMA ext;
COMMENT ON SCHEMA shop IS 'It''s a \ shop';
COMMENT ON EXTENSION hstore IS 'changed';

-- Types
CREATE TYPE shop.mood AS ENUM ('sad', 'it''s "complicated"', 'happy');
ALTER TYPE shop.mood ADD VALUE 'ok' BEFORE 'happy';
CREATE COLLATION shop.folded (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE COLLATION shop.plain (LC_COLLATE = 'C', LC_CTYPE = 'POSIX');
CREATE FUNCTION shop.is_short(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$SELECT length($1) < 10$$;
CREATE DOMAIN shop.code AS varchar(12) COLLATE "C" DEFAULT 'x' NOT NULL CONSTRAINT short CHECK (shop.is_short(VALUE));
CREATE DOMAIN shop.codes AS shop.code[];
CREATE DOMAIN shop.late AS integer;
ALTER DOMAIN shop.late ADD CONSTRAINT positive CHECK (VALUE > 0) NOT VALID;
COMMENT ON DOMAIN shop.code IS 'a code';
COMMENT ON CONSTRAINT short ON DOMAIN shop.code IS 'a check of a domain';
CREATE TYPE shop.address AS (street text COLLATE "C", "no." integer, codes shop.code[]);
COMMENT ON TYPE shop.address IS 'where';
COMMENT ON COLUMN shop.address.street IS 'a part';
CREATE FUNCTION shop.distance(float8, float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$SELECT $1 - $2$$;
CREATE TYPE shop.span AS RANGE (SUBTYPE = float8, SUBTYPE_DIFF = shop.distance, MULTIRANGE_TYPE_NAME = shop.spans);
CREATE TYPE shop.words AS RANGE (SUBTYPE = text, COLLATION = "C", SUBTYPE_OPCLASS = text_pattern_ops);

-- Functions
CREATE SEQUENCE shop.words_seq AS smallint START 5 INCREMENT -3 MINVALUE -100 MAXVALUE 50 CACHE 4 CYCLE;
CREATE FUNCTION shop.twice(a integer, b integer DEFAULT 2, VARIADIC rest integer[] DEFAULT '{}') RETURNS integer
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 7 SET search_path = pg_catalog, shop AS $f$BEGIN RETURN a * b; END$f$;
CREATE FUNCTION shop."Next Word"() RETURNS text LANGUAGE sql VOLATILE AS $$SELECT 'w' || nextval('shop.words_seq')::text$$;
CREATE FUNCTION shop.add(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
CREATE AGGREGATE shop.total(integer) (SFUNC = shop.add, STYPE = integer, INITCOND = '0', COMBINEFUNC = shop.add, PARALLEL = SAFE,
  MSFUNC = int4pl, MINVFUNC = int4mi, MSTYPE = integer, FINALFUNC = int4abs, FINALFUNC_MODIFY = SHAREABLE);
CREATE AGGREGATE shop.largest(integer) (SFUNC = int4larger, STYPE = integer, SORTOP = >);
COMMENT ON AGGREGATE shop.total(integer) IS 'sums';
GRANT EXECUTE ON FUNCTION shop.total TO pg_monitor;
CREATE PROCEDURE shop.tidy(IN a integer, INOUT b text) LANGUAGE plpgsql AS $$BEGIN b := a::text; END$$;
COMMENT ON FUNCTION shop.twice(integer, integer, integer[]) IS 'doubles';
COMMENT ON PROCEDURE shop.tidy(integer, text) IS 'tidies';
COMMENT ON SEQUENCE shop.words_seq IS 'words';
CREATE SEQUENCE shop.never;
CREATE SEQUENCE shop.moved START 10; SELECT setval('shop.moved', 77, false);
SELECT nextval('shop.words_seq');
CREATE UNLOGGED SEQUENCE shop.light;

-- Tables
CREATE TABLE shop.customer (
  id bigint GENERATED ALWAYS AS IDENTITY (START 100 INCREMENT 10) PRIMARY KEY WITH (fillfactor = 70),
  dropped text,
  name text COLLATE shop.folded NOT NULL DEFAULT shop."Next Word"(),
  code shop.code NOT NULL, codes shop.codes, mood shop.mood DEFAULT 'sad', home shop.address, late shop.late,
  attributes ext.hstore DEFAULT 'a=>1', span shop.span,
  doubled integer GENERATED ALWAYS AS (shop.twice(age)) STORED,
  age integer DEFAULT 18 CHECK (age > 0),
  parent bigint REFERENCES shop.customer DEFERRABLE INITIALLY DEFERRED,
  email varchar(100) UNIQUE DEFERRABLE INITIALLY DEFERRED,
  "select" timestamp(3) with time zone DEFAULT '2020-01-01 12:00:00.5+02',
  price numeric(10, 2)[] DEFAULT '{1.50}',
  CONSTRAINT "Name is ""short""" CHECK (shop.is_short(name) OR length(name) > 2)
) WITH (fillfactor = 80, toast.autovacuum_enabled = false);
ALTER TABLE shop.customer DROP COLUMN dropped;
ALTER TABLE shop.customer ADD CONSTRAINT maybe CHECK (age < 200) NOT VALID;
ALTER TABLE shop.customer ALTER name SET STORAGE EXTERNAL, ALTER email SET COMPRESSION pglz,
  ALTER age SET STATISTICS 300, ALTER age SET (n_distinct = -0.5, n_distinct_inherited = 7);
ALTER TABLE shop.customer ADD UNIQUE NULLS NOT DISTINCT (code) INCLUDE (age) WITH (fillfactor = 60) DEFERRABLE;
CREATE INDEX customer_lower ON shop.customer (lower(name) COLLATE "C" DESC NULLS LAST, shop.twice(age)) INCLUDE (mood)
  WITH (fillfactor = 50) WHERE mood <> 'sad';
ALTER INDEX shop.customer_lower ALTER COLUMN 1 SET STATISTICS 77;
CREATE UNIQUE INDEX "customer by email" ON shop.customer (code);
CREATE INDEX ON shop.customer USING gin (attributes);
CREATE INDEX ON shop.customer USING brin (age) WITH (pages_per_range = 16);
ALTER TABLE shop.customer CLUSTER ON customer_pkey;
ALTER TABLE shop.customer REPLICA IDENTITY USING INDEX "customer by email";
CREATE STATISTICS shop.age_mood (ndistinct, dependencies) ON age, mood FROM shop.customer;
CREATE STATISTICS shop.expressions ON (age + 1), (lower(name)) FROM shop.customer;
ALTER STATISTICS shop.age_mood SET STATISTICS 55;
COMMENT ON STATISTICS shop.age_mood IS 'statistics';
COMMENT ON TABLE shop.customer IS E'two\nlines';
COMMENT ON COLUMN shop.customer."select" IS 'reserved';
COMMENT ON CONSTRAINT maybe ON shop.customer IS 'not valid';
COMMENT ON INDEX shop.customer_lower IS 'an expression';
COMMENT ON INDEX shop.customer_pkey IS 'a key';

CREATE TABLE shop.serial_one (id serial PRIMARY KEY, other bigserial, by_default integer GENERATED BY DEFAULT AS IDENTITY);
CREATE TABLE shop.a (id integer PRIMARY KEY, b integer);
CREATE TABLE shop.b (id integer PRIMARY KEY, a integer REFERENCES shop.a ON DELETE CASCADE ON UPDATE SET NULL);
ALTER TABLE shop.a ADD FOREIGN KEY (b) REFERENCES shop.b MATCH FULL NOT VALID;
CREATE TABLE shop.nothing ();
CREATE TABLE shop.no_key (a integer, b text);
ALTER TABLE shop.no_key REPLICA IDENTITY FULL;
CREATE TABLE shop.nothing_said (id integer PRIMARY KEY);
ALTER TABLE shop.nothing_said REPLICA IDENTITY NOTHING;
CREATE UNLOGGED TABLE shop.light_table (id integer GENERATED ALWAYS AS IDENTITY, v text UNIQUE NOT NULL);
CREATE TABLE shop.typed OF shop.address (PRIMARY KEY (street));
CREATE TABLE shop.booking (
  room integer, during tstzrange, since timestamptz,
  CONSTRAINT "one at a time" EXCLUDE USING gist (room WITH =, during WITH &&) WITH (fillfactor = 90) WHERE (room > 0)
    DEFERRABLE INITIALLY DEFERRED
);

-- Partitions
CREATE TABLE shop.event (
  at timestamptz NOT NULL, region text NOT NULL DEFAULT 'eu', id bigint NOT NULL, payload jsonb, owner bigint REFERENCES shop.customer,
  CHECK (id > 0)
) PARTITION BY RANGE (at);
CREATE TABLE shop.event_2020 PARTITION OF shop.event FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') PARTITION BY LIST (region);
CREATE TABLE shop.event_2020_eu PARTITION OF shop.event_2020 (payload DEFAULT '{}', CONSTRAINT own CHECK (region <> 'x'))
  FOR VALUES IN ('eu', NULL) PARTITION BY HASH (id);
CREATE TABLE shop.event_2020_eu_0 PARTITION OF shop.event_2020_eu FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE UNLOGGED TABLE shop.event_2020_eu_1 PARTITION OF shop.event_2020_eu FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE shop.event_2020_rest PARTITION OF shop.event_2020 DEFAULT;
CREATE TABLE shop.event_other (extra text, payload jsonb, id bigint NOT NULL, region text NOT NULL, at timestamptz NOT NULL, owner bigint,
  CONSTRAINT event_id_check CHECK (id > 0));
ALTER TABLE shop.event_other DROP COLUMN extra;
ALTER TABLE shop.event ATTACH PARTITION shop.event_other DEFAULT;
ALTER TABLE shop.event ADD PRIMARY KEY (at, region, id);
CREATE INDEX "event payload" ON shop.event USING gin (payload);
CREATE INDEX only_here ON ONLY shop.event (region);
CREATE INDEX own_index ON shop.event_other (owner);
CREATE TABLE shop.event_note (at timestamptz, region text, id bigint, FOREIGN KEY (at, region, id) REFERENCES shop.event);

ALTER TABLE shop.event_other ADD CONSTRAINT only_mine FOREIGN KEY (owner) REFERENCES shop.serial_one;
CREATE UNIQUE INDEX event_unique ON shop.event (at, region, id, owner);
COMMENT ON CONSTRAINT event_owner_fkey ON shop.event_other IS 'a part';
COMMENT ON INDEX shop.event_other_pkey IS 'a key of a partition';
CREATE TABLE shop.made (id integer GENERATED BY DEFAULT AS IDENTITY, d integer DEFAULT 4, g integer GENERATED ALWAYS AS (d * 2) STORED)
  PARTITION BY LIST (abs(d));
CREATE TABLE shop.made_1 PARTITION OF shop.made FOR VALUES IN (1) WITH (fillfactor = 33);
CREATE TABLE shop.of_rows (id integer, customers shop.customer[], one shop.a, amount money DEFAULT '-1234.5');
CREATE TABLE shop.constants (a date DEFAULT '2020-02-01', b interval DEFAULT '-1 day 02:03', c float8 DEFAULT 0.1::float4::float8,
  d bytea DEFAULT 'a\000b', e text DEFAULT '\', f timestamptz DEFAULT '2020-02-01 00:00+00', g xml DEFAULT 'text');

-- Inheritance
CREATE TABLE shop.animal (id integer NOT NULL DEFAULT 1, name text, CONSTRAINT named CHECK (name <> ''), CONSTRAINT mine CHECK (id < 9) NO INHERIT);
CREATE TABLE shop.legs (legs integer, name text, twice_legs integer GENERATED ALWAYS AS (legs * 2) STORED);
CREATE TABLE shop.dog (breed text, name text NOT NULL, CONSTRAINT named CHECK (name <> '')) INHERITS (shop.animal, shop.legs);
CREATE TABLE shop.puppy (age integer PRIMARY KEY) INHERITS (shop.dog);
ALTER TABLE shop.puppy ALTER id DROP NOT NULL, ALTER id SET DEFAULT 7, ALTER breed SET NOT NULL;
ALTER TABLE ONLY shop.animal ADD CONSTRAINT late_check CHECK (id > -5) NO INHERIT;
ALTER TABLE shop.animal ADD CONSTRAINT unchecked CHECK (id > -9) NOT VALID;
ALTER TABLE shop.puppy VALIDATE CONSTRAINT unchecked;
CREATE TABLE shop.stray (breed text, id integer NOT NULL, name text, CONSTRAINT named CHECK (name <> ''));
ALTER TABLE shop.stray ADD CONSTRAINT unchecked CHECK (id > -9) NOT VALID;
ALTER TABLE shop.stray VALIDATE CONSTRAINT unchecked;
ALTER TABLE shop.stray INHERIT shop.animal;

-- Views
CREATE VIEW shop.adults WITH (security_barrier = true) AS SELECT id, name AS "Full Name", age FROM shop.customer WHERE age >= 18
  WITH CASCADED CHECK OPTION;
CREATE VIEW public.a_view AS SELECT id, "Full Name" FROM shop.adults;
CREATE VIEW public.grouped AS SELECT c.id, c.name, count(*) FROM shop.customer AS c JOIN shop.a ON a.b = c.id GROUP BY c.id;
ALTER VIEW public.a_view ALTER COLUMN id SET DEFAULT 3;
COMMENT ON VIEW public.a_view IS 'a view';
COMMENT ON COLUMN public.a_view.id IS 'its column';
CREATE MATERIALIZED VIEW shop.zz_counts AS SELECT mood, count(*) AS n FROM shop.customer GROUP BY mood;
CREATE UNIQUE INDEX zz_counts_mood ON shop.zz_counts (mood);
CREATE MATERIALIZED VIEW shop.aa_counts WITH (fillfactor = 71) AS SELECT sum(n) AS total FROM shop.zz_counts;
CREATE MATERIALIZED VIEW shop.empty AS SELECT * FROM shop.aa_counts WITH NO DATA;
COMMENT ON MATERIALIZED VIEW shop.aa_counts IS 'counted';
CREATE FUNCTION shop.of_view(v public.a_view) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT v."Full Name"; END;
CREATE FUNCTION shop.of_grouped() RETURNS SETOF public.grouped LANGUAGE sql BEGIN ATOMIC SELECT * FROM public.grouped; END;
CREATE FUNCTION shop.next_id() RETURNS integer LANGUAGE sql BEGIN ATOMIC SELECT max(id) + 1 FROM shop.a; END;
ALTER TABLE shop.a ALTER id SET DEFAULT shop.next_id();

-- What acts
CREATE FUNCTION shop.stamp() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE OF name ON shop.customer FOR EACH ROW WHEN (NEW.age > 3) EXECUTE FUNCTION shop.stamp('a', 'b''c');
CREATE TRIGGER "off" AFTER DELETE ON shop.customer REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION shop.stamp();
ALTER TABLE shop.customer DISABLE TRIGGER "off";
CREATE TRIGGER always AFTER INSERT ON shop.customer FOR EACH ROW EXECUTE FUNCTION shop.stamp();
ALTER TABLE shop.customer ENABLE ALWAYS TRIGGER always;
CREATE CONSTRAINT TRIGGER checked AFTER INSERT ON shop.customer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shop.stamp();
CREATE TRIGGER on_event AFTER INSERT ON shop.event FOR EACH ROW EXECUTE FUNCTION shop.stamp();
ALTER TABLE shop.event_other DISABLE TRIGGER on_event;
ALTER TABLE ONLY shop.event ENABLE REPLICA TRIGGER on_event;
CREATE TRIGGER instead INSTEAD OF INSERT ON public.a_view FOR EACH ROW EXECUTE FUNCTION shop.stamp();
CREATE RULE over_view AS ON DELETE TO public.a_view DO INSTEAD NOTHING;
ALTER FUNCTION shop.stamp() DEPENDS ON EXTENSION hstore;
COMMENT ON TRIGGER stamp ON shop.customer IS 'stamps';
CREATE RULE twice AS ON UPDATE TO shop.no_key DO ALSO (INSERT INTO shop.nothing_said VALUES (NEW.a); NOTIFY x);
ALTER TABLE shop.no_key DISABLE RULE twice;
COMMENT ON RULE twice ON shop.no_key IS 'a rule';
ALTER TABLE shop.customer ENABLE ROW LEVEL SECURITY;
ALTER TABLE shop.customer FORCE ROW LEVEL SECURITY;
CREATE POLICY mine ON shop.customer FOR SELECT TO pg_monitor, pg_read_all_data USING (age > (SELECT count(*) FROM shop.no_key));
CREATE POLICY "all of it" ON shop.customer AS RESTRICTIVE USING (true) WITH CHECK (name <> '');
COMMENT ON POLICY mine ON shop.customer IS 'a policy';

-- Rights
GRANT USAGE ON SCHEMA shop TO PUBLIC;
GRANT SELECT, INSERT ON shop.customer TO PUBLIC;
GRANT UPDATE (name, "select"), REFERENCES (id) ON shop.customer TO pg_monitor WITH GRANT OPTION;
GRANT ALL ON shop.a TO pg_monitor WITH GRANT OPTION;
REVOKE ALL ON shop.b FROM CURRENT_USER;
REVOKE EXECUTE ON FUNCTION shop.stamp() FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE shop.tidy TO pg_read_all_data;
REVOKE USAGE ON TYPE shop.mood FROM PUBLIC;
GRANT USAGE ON DOMAIN shop.code TO pg_monitor;
GRANT USAGE ON SEQUENCE shop.words_seq TO pg_monitor;
GRANT SELECT ON SEQUENCE shop.serial_one_id_seq, shop.customer_id_seq TO pg_monitor;
GRANT SELECT ON public.a_view, shop.zz_counts TO pg_monitor;
GRANT CREATE ON SCHEMA public TO pg_monitor;
REVOKE USAGE ON SCHEMA public FROM PUBLIC;
COMMENT ON SCHEMA public IS NULL;
ALTER TABLE shop.serial_one OWNER TO pg_monitor;
ALTER TABLE shop.nothing OWNER TO pg_monitor;
ALTER VIEW public.a_view OWNER TO pg_monitor;
GRANT SELECT ON shop.no_key TO pg_monitor;
ALTER MATERIALIZED VIEW shop.zz_counts OWNER TO pg_monitor;
ALTER FUNCTION shop.twice OWNER TO pg_monitor;
ALTER TYPE shop.mood OWNER TO pg_monitor;
ALTER STATISTICS shop.age_mood OWNER TO pg_monitor;
ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO pg_monitor WITH GRANT OPTION;
ALTER DEFAULT PRIVILEGES FOR ROLE pg_monitor REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE pg_monitor GRANT USAGE ON SCHEMAS TO pg_read_all_data;

-- Names
CREATE TABLE "Odd ""schema"" 🐘"."order by; -- 'q' ""x""" (
  "a""b" integer PRIMARY KEY, "sp ace" text DEFAULT 'a''b\c', "🐘" text UNIQUE, "user" text,
  "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz_63_bytes_lo" integer, "%s %I" text CHECK ("%s %I" LIKE '%s%%')
);
CREATE TABLE "Odd ""schema"" 🐘"."abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz_63_bytes_lo" (id serial PRIMARY KEY);
CREATE INDEX "idx ""🐘""" ON "Odd ""schema"" 🐘"."order by; -- 'q' ""x""" ("🐘", ("a""b" % 3));
COMMENT ON COLUMN "Odd ""schema"" 🐘"."order by; -- 'q' ""x"""."a""b" IS '%s %I $1';
GRANT SELECT ("%s %I") ON "Odd ""schema"" 🐘"."order by; -- 'q' ""x""" TO PUBLIC;
CREATE FUNCTION "Odd ""schema"" 🐘"."f(x" ("a b" text) RETURNS text LANGUAGE sql AS $_$SELECT $1 || '$$'$_$;
DO $$ BEGIN
  EXECUTE 'CREATE TABLE shop.wide (' || (SELECT string_agg(format('c%s integer', i), ', ') FROM generate_series(1, 1600) AS i) || ')';
END $$;
