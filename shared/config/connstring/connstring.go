// Package connstring owns how a PostgreSQL connection string is made safe: complete, and encrypted where it leaves
// this machine.
//
// It reads URIs and keyword=value pairs as libpq and pgx do, as far as hosts and parameters go, and refuses what
// those would read in another way than whoever wrote it meant: an unescaped @ or / in a password, a missing host. It
// connects to nothing and reads no environment. Values are immutable and may be shared between goroutines.
package connstring

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tidemark/shared/secret"
)

// Secure checks a postgres:// URI or keyword=value pairs and returns what pgx shall be given: with sslmode verify-full
// where the string says nothing and leaves this machine.
//
// Errors complete the sentence "the value …" and repeat no part of it: in a malformed string the password may stand
// anywhere (unescaped, "p/ss" puts a half of it where the port belongs).
func Secure(given string) (secret.Text, error) {
	c, err := parse(given)
	if err != nil {
		return secret.Text{}, err
	}
	if c, err = c.secured(); err != nil {
		return secret.Text{}, err
	}
	return c.render(), nil
}

// WithPassword is a string that Secure returned, with a password that overrules whatever it says.
func WithPassword(secured secret.Text, password string) (secret.Text, error) {
	c, err := parse(secured.Reveal())
	if err != nil {
		return secret.Text{}, err
	}
	return c.with("password", password).render(), nil
}

// WithDatabase is a string that Secure returned, for another database of the same server.
func WithDatabase(secured secret.Text, name string) (secret.Text, error) {
	c, err := parse(secured.Reveal())
	if err != nil {
		return secret.Text{}, err
	}
	return c.with("dbname", name).render(), nil
}

// conn is a connection string taken apart. It is never printed: the password may be in any part.
type conn struct {
	uri    string // the whole string where it is a URI, else empty
	hosts  []string
	params []param
}

type param struct{ name, value string }

func parse(given string) (conn, error) {
	if strings.ContainsRune(given, 0) {
		return conn{}, errors.New("holds a zero byte")
	}
	var c conn
	var err error
	switch scheme, rest, isURI := strings.Cut(given, "://"); {
	case isURI && (scheme == "postgres" || scheme == "postgresql"):
		c, err = parseURI(rest)
		c.uri = given
	case isURI && !strings.Contains(scheme, "="):
		return conn{}, errors.New("has another scheme than postgres://")
	default:
		c.params, err = parsePairs(given)
	}
	if err != nil {
		return conn{}, err
	}
	if host, ok := c.param("host"); ok {
		c.hosts = strings.Split(host, ",")
	}
	// Without a host libpq turns to PGHOST or to a local socket: whoever sets the environment would choose the database.
	if len(c.hosts) == 0 || slices.Contains(c.hosts, "") {
		return conn{}, errors.New("names no host")
	}
	return c, nil
}

// parseURI reads what follows the scheme. It takes several hosts, as libpq does and net/url does not.
func parseURI(rest string) (conn, error) {
	if strings.ContainsFunc(rest, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return conn{}, errors.New("holds a space or control character: write it as %20 and the like")
	}
	user := ""
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		user, rest = rest[:i], rest[i+1:]
	}
	if strings.Contains(rest, "@") {
		return conn{}, errors.New("has an @ that does not end the user and password: write @ as %40, / as %2F")
	}
	rest, query, _ := strings.Cut(rest, "?")
	network, database, _ := strings.Cut(rest, "/")
	if err := errors.Join(decodable(user), decodable(database)); err != nil {
		return conn{}, errEscape
	}
	hosts, err := parseHosts(network)
	if err != nil {
		return conn{}, err
	}
	params, err := parseQuery(query)
	return conn{hosts: hosts, params: params}, err
}

var (
	errEscape = errors.New("has a % that is not followed by two hexadecimal digits: write % as %25")
	errPort   = errors.New("has a port that is no number from 1 to 65535: in a password write / as %2F, : as %3A")
)

func decodable(part string) error {
	text, err := url.PathUnescape(part)
	if err != nil || strings.ContainsRune(text, 0) {
		return errEscape
	}
	return nil
}

func parseHosts(network string) ([]string, error) {
	var hosts []string
	for part := range strings.SplitSeq(network, ",") {
		host, port, _ := strings.Cut(part, ":")
		if inner, bracketed := strings.CutPrefix(part, "["); bracketed {
			address, after, closed := strings.Cut(inner, "]")
			if _, err := netip.ParseAddr(address); err != nil || !closed || after != "" && after[0] != ':' {
				return nil, errors.New("has a bracketed host that is no IPv6 address")
			}
			host, port = address, strings.TrimPrefix(after, ":")
		}
		if number, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || number == 0) {
			return nil, errPort
		}
		host, err := url.PathUnescape(host)
		if err != nil {
			return nil, errEscape
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

func parseQuery(query string) ([]param, error) {
	var params []param
	for pair := range strings.SplitSeq(strings.TrimSuffix(query, "&"), "&") {
		if query == "" {
			break
		}
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" || strings.Contains(value, "=") {
			return nil, errors.New("has a parameter that is not name=value: write = in a value as %3D")
		}
		if errors.Join(decodable(name), decodable(value)) != nil {
			return nil, errEscape
		}
		name, _ = url.PathUnescape(name)   // decodable
		value, _ = url.PathUnescape(value) // decodable
		params = append(params, param{name, value})
	}
	return params, nil
}

const blanks = " \t\n\r\v\f"

// parsePairs reads keyword=value pairs: values with blanks stand in single quotes, a backslash takes the next byte
// as it is.
func parsePairs(rest string) ([]param, error) {
	var params []param
	for rest = strings.TrimLeft(rest, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		name, after, found := strings.Cut(rest, "=")
		name = strings.Trim(name, blanks)
		if !found || name == "" || strings.ContainsAny(name, blanks) {
			return nil, errors.New("is neither a postgres:// URL nor name=value pairs")
		}
		value, tail, err := cutValue(strings.TrimLeft(after, blanks))
		if err != nil {
			return nil, err
		}
		params, rest = append(params, param{name, value}), tail
	}
	return params, nil
}

// cutValue takes one value off the front.
func cutValue(from string) (value, rest string, err error) {
	ends := blanks
	if quoted := strings.HasPrefix(from, "'"); quoted {
		from, ends = from[1:], "'"
	}
	var b strings.Builder
	for i := 0; i < len(from); i++ {
		switch {
		case strings.IndexByte(ends, from[i]) >= 0:
			return b.String(), from[i+1:], nil
		case from[i] == '\\' && i+1 < len(from):
			i++
			b.WriteByte(from[i])
		case from[i] != '\\':
			b.WriteByte(from[i])
		}
	}
	if ends == "'" {
		return "", "", errors.New("has a value whose closing quote is missing")
	}
	return b.String(), "", nil
}

// param is the value of a parameter; of several with one name the last counts.
func (c conn) param(name string) (string, bool) {
	for _, p := range slices.Backward(c.params) {
		if p.name == name {
			return p.value, true
		}
	}
	return "", false
}

// with is the connection with one more parameter, which overrules those before it and the user part of a URI.
func (c conn) with(name, value string) conn {
	c.params = append(slices.Clone(c.params), param{name, value})
	if c.uri == "" {
		return c
	}
	separator := "?"
	if _, query, found := strings.Cut(c.uri[strings.IndexByte(c.uri, '@')+1:], "?"); found {
		separator = "&"
		if query == "" || strings.HasSuffix(query, "&") {
			separator = ""
		}
	}
	// QueryEscape writes a blank as +, which libpq takes for a plus.
	c.uri += separator + name + "=" + strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	return c
}

// render is the connection string again.
func (c conn) render() secret.Text {
	if c.uri != "" {
		return secret.New(c.uri)
	}
	pairs := make([]string, len(c.params))
	for i, p := range c.params {
		pairs[i] = p.name + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p.value) + "'"
	}
	return secret.New(strings.Join(pairs, " "))
}

// secured is the connection with sslmode verify-full where it says nothing and leaves this machine. Modes that may send
// the password and the rows in the clear are for this machine alone.
func (c conn) secured() (conn, error) {
	if _, ok := c.param("ssl"); ok {
		return conn{}, errors.New("says ssl: write sslmode instead")
	}
	mode, stated := c.param("sslmode")
	switch mode {
	case "verify-full", "verify-ca", "require":
		return c, nil
	case "disable", "allow", "prefer":
		if !c.isLocal() {
			return conn{}, errors.New("allows a connection without TLS to another machine: " +
				"leave sslmode out, or set it to verify-full")
		}
		return c, nil
	}
	switch {
	case stated:
		return conn{}, errors.New("has an unknown sslmode")
	case c.isLocal():
		return c, nil
	}
	return c.with("sslmode", "verify-full"), nil
}

// isLocal says whether every host is this machine: a socket's directory, localhost or a loopback address.
func (c conn) isLocal() bool {
	return !slices.ContainsFunc(c.hosts, func(host string) bool {
		address, err := netip.ParseAddr(host)
		return !strings.HasPrefix(host, "/") && host != "localhost" && (err != nil || !address.IsLoopback())
	})
}
