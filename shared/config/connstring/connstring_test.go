package connstring_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/config/connstring"
	"tidemark/shared/secret"
)

func TestSecure(t *testing.T) {
	t.Parallel()
	const full = "sslmode=verify-full"
	for given, want := range map[string]string{ //nolint:gosec // the passwords open nothing
		// Another machine, nothing said: verify-full.
		"postgres://h":                       "postgres://h?" + full,
		"postgres://h?":                      "postgres://h?" + full,
		"postgresql://u:p@h:5432/d":          "postgresql://u:p@h:5432/d?" + full,
		"postgres://u:p%40%2F%3F@h/d":        "postgres://u:p%40%2F%3F@h/d?" + full,
		"postgres://u:p?x@h/d":               "postgres://u:p?x@h/d?" + full,
		"postgres://h/d?application_name=a":  "postgres://h/d?application_name=a&" + full,
		"postgres://h/d?application_name=a&": "postgres://h/d?application_name=a&" + full,
		"postgres://h1:1,h2:2/d":             "postgres://h1:1,h2:2/d?" + full,
		"postgres://localhost,h/d":           "postgres://localhost,h/d?" + full,
		"postgres://localhost/d?host=h":      "postgres://localhost/d?host=h&" + full,
		"postgres://localhost%2Ch/d":         "postgres://localhost%2Ch/d?" + full,
		"postgres://[2001:db8::1]:5432/d":    "postgres://[2001:db8::1]:5432/d?" + full,
		"postgres://localhost.example.com/d": "postgres://localhost.example.com/d?" + full,
		"host=h":                             "host='h' sslmode='verify-full'",
		"host = h password='a b\\'c'":        `host='h' password='a b\'c' sslmode='verify-full'`,
		`host=h password=a\`:                 `host='h' password='a' sslmode='verify-full'`,
		"host=localhost,h":                   "host='localhost,h' sslmode='verify-full'",
		"host=localhost host=h":              "host='localhost' host='h' sslmode='verify-full'",
		// Another machine, a mode with TLS: as it is.
		"postgres://h/d?sslmode=verify-full": "postgres://h/d?sslmode=verify-full",
		"postgres://h/d?sslmode=verify-ca":   "postgres://h/d?sslmode=verify-ca",
		"host=h sslmode=require":             "host='h' sslmode='require'",
		// This machine: as it is.
		"postgres://localhost/d":                   "postgres://localhost/d",
		"postgres://localhost/d?sslmode=disable":   "postgres://localhost/d?sslmode=disable",
		"postgres://127.0.0.1,[::1]/d":             "postgres://127.0.0.1,[::1]/d",
		"postgres://127.8.9.1/d?sslmode=prefer":    "postgres://127.8.9.1/d?sslmode=prefer",
		"postgres:///d?host=/var/run/postgresql":   "postgres:///d?host=/var/run/postgresql",
		"postgres://%2Fvar%2Frun%2Fpostgresql/d":   "postgres://%2Fvar%2Frun%2Fpostgresql/d",
		"host=/tmp sslmode=allow":                  "host='/tmp' sslmode='allow'",
		"postgres://h/d?host=localhost":            "postgres://h/d?host=localhost",
		"postgres://h/d?host=%31%32%37.0.0.1&port": "",
	} {
		got, err := connstring.Secure(given)
		if (err == nil) != (want != "") || got.Reveal() != want {
			t.Errorf("%q: got %q, %v; want %q", given, got.Reveal(), err, want)
		}
	}
}

func TestSecureRefuses(t *testing.T) {
	t.Parallel()
	for given, why := range map[string]string{
		"": "names no host", "postgres://": "names no host", "postgres:///d": "names no host",
		"postgres://u@/d": "names no host",
		"postgres://h,/d": "names no host", "postgres://h/d?host=": "names no host", "user=u": "names no host",
		"host=":       "names no host",
		"mysql://h/d": "another scheme", "h": "is neither", "h:5432/d": "is neither", "a b=c": "is neither",
		"=h":      "is neither",
		"host='h": "closing quote", `host='h\'`: "closing quote",
		"postgres://u:p@q@h/d": "write @ as %40", "postgres://u:p/q@h/d": "write @ as %40",
		"postgres://h/d@e":   "write @ as %40",
		"postgres://u:p/q/d": "port", "postgres://h:0/d": "port", "postgres://h:65536/d": "port", "postgres://h:x/d": "port",
		"postgres://h:1:2/d": "port", "postgres://[::1/d": "bracketed", "postgres://[h]/d": "bracketed",
		"postgres://[::1]x/d":  "bracketed",
		"postgres://u:%zz@h/d": "write % as %25", "postgres://h%/d": "write % as %25", "postgres://h/%0": "write % as %25",
		"postgres://h/d?a=%x": "write % as %25", "postgres://u:%00@h/d": "write % as %25",
		"postgres://h/d?a": "name=value", "postgres://h/d?a=b=c": "name=value", "postgres://h/d?&": "name=value",
		"postgres://h/d?=b": "name=value",
		"postgres://h/a b":  "%20", "postgres://h/d\n": "%20", "host=h\x00": "zero byte",
		"postgres://h/d?sslmode=disable": "without TLS", "postgres://h/d?sslmode=allow": "without TLS",
		"host=h sslmode=prefer":                          "without TLS",
		"postgres://localhost,h/d?sslmode=disable":       "without TLS",
		"postgres://localhost/d?host=h&sslmode=disable":  "without TLS",
		"postgres://h/d?sslmode=require&sslmode=disable": "without TLS",
		"host=h sslmode=require sslmode=disable":         "without TLS",
		"postgres://h/d?sslmode=":                        "unknown sslmode", "postgres://h/d?sslmode=full": "unknown sslmode",
		"host=/tmp sslmode=no":    "unknown",
		"postgres://h/d?ssl=true": "write sslmode",
	} {
		got, err := connstring.Secure(given)
		if err == nil || !strings.Contains(err.Error(), why) || !got.IsZero() {
			t.Errorf("%q: got %q, %v; want an error that says %q", given, got.Reveal(), err, why)
		}
	}
}

func TestWithPassword(t *testing.T) {
	t.Parallel()
	const password = `p@ss/w?o&r=d% +'\#"ü ` + "\t"
	for _, given := range []string{
		"postgres://h/d", "postgres://u:old@h/d", "postgres://u@h/d?password=old&", "postgres://localhost", "host=localhost",
		"host=h password=old", `host=h password='old' user=u`, `host=h user=u\`,
	} {
		secured, err := connstring.Secure(given)
		if err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		complete, err := connstring.WithPassword(secured, password)
		if err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		if got := parsed(t, complete).Password; got != password {
			t.Errorf("%q: pgx reads the password %q of %q", given, got, complete.Reveal())
		}
	}
	if got, err := connstring.WithPassword(secret.Text{}, "p"); err == nil || !got.IsZero() {
		t.Errorf("without a connection string: got %q", got.Reveal())
	}
}

func TestWithDatabase(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"postgres://h/d", "postgres://u:p@h/d?sslmode=require", "host=h dbname=d", "postgres://localhost"} {
		secured, err := connstring.Secure(given)
		if err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		other, err := connstring.WithDatabase(secured, "o d")
		if err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		want, got := parsed(t, secured), parsed(t, other)
		if got.Database != "o d" || got.Host != want.Host || got.User != want.User || got.Password != want.Password {
			t.Errorf("%q: pgx reads database %q at %s of %q", given, got.Database, got.Host, other.Reveal())
		}
	}
	if got, err := connstring.WithDatabase(secret.Text{}, "d"); err == nil || !got.IsZero() {
		t.Errorf("without a connection string: got %q", got.Reveal())
	}
}

// FuzzSecure: what is returned sends nothing in the clear to another machine, as pgx reads it.
func FuzzSecure(f *testing.F) {
	for _, given := range []string{
		"postgres://u:p@h:5432/d?sslmode=disable", "postgres://a,b/d", "postgres://[::1]/d?host=h",
		"host=h sslmode = disable",
		`host='h' password='a\' sslmode=disable`, "postgres://localhost%2Ch/?x=y&", "host=h\\ sslmode=prefer",
		"host=localhost\vhost=h",
		"postgres://u@h?sslmode=require&sslmode=prefer", "postgres://%68/d?ssl%6Dode=disable", "postgres://h?%73sl=true",
	} {
		f.Add(given, "pass word")
	}
	f.Fuzz(func(t *testing.T, given, password string) {
		if strings.Contains(given, "service") || strings.Contains(given, "pass") || strings.Contains(given, "ssl") &&
			!strings.Contains(given, "sslmode") {
			return // pgx would read files
		}
		secured, err := connstring.Secure(given)
		if err != nil {
			return
		}
		stated := strings.Contains(given, "mode") || strings.Contains(given, "%")
		checkTLS(t, secured, stated)
		if password == "" || strings.ContainsRune(password, 0) {
			return
		}
		complete, err := connstring.WithPassword(secured, password)
		if err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		checkTLS(t, complete, stated)
		if config, err := pgconn.ParseConfig(complete.Reveal()); err == nil && config.Password != password {
			t.Errorf("%q: pgx reads the password %q, want %q", given, config.Password, password)
		}
	})
}

func checkTLS(t *testing.T, secured secret.Text, stated bool) {
	t.Helper()
	config, err := pgconn.ParseConfig(secured.Reveal())
	if err != nil {
		return // parameters that pgx does not know
	}
	ends := append([]*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	local := true
	for _, end := range ends {
		address, err := netip.ParseAddr(end.Host)
		local = local && (strings.HasPrefix(end.Host, "/") || end.Host == "localhost" || err == nil && address.IsLoopback())
	}
	for _, end := range ends {
		switch isSocket := strings.HasPrefix(end.Host, "/"); {
		case local || isSocket:
		case end.TLSConfig == nil:
			t.Errorf("%q: pgx connects to %q without TLS", secured.Reveal(), end.Host)
		case !stated && (end.TLSConfig.InsecureSkipVerify || end.TLSConfig.ServerName != end.Host):
			t.Errorf("%q: pgx does not verify %q", secured.Reveal(), end.Host)
		}
	}
}

func parsed(t *testing.T, secured secret.Text) *pgconn.Config {
	t.Helper()
	config, err := pgconn.ParseConfig(secured.Reveal())
	if err != nil {
		t.Fatalf("pgx refuses %q: %v", secured.Reveal(), err)
	}
	return config
}
