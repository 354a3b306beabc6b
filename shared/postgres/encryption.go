package postgres

import (
	"net"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/fault"
)

// CheckEncryption refuses an address that leaves this machine without a word on encryption: what the driver does then is to
// try it and to go on without, and to believe any certificate. The configuration writes verify-full into such an address.
//
// Errors: fault.Misconfigured.
func CheckEncryption(address string, config *pgconn.Config) error {
	if saysEncryption(address) {
		return nil
	}
	hosts := []string{config.Host}
	for _, f := range config.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); strings.HasPrefix(host, "/") || host == "localhost" || ip != nil && ip.IsLoopback() {
			continue
		}
		return fault.New(fault.Misconfigured, "the database is on another machine and its address does not say how the connection is encrypted").
			WithHint("add sslmode=verify-full, with sslrootcert where no public authority signed the server's certificate")
	}
	return nil
}

// saysEncryption looks behind the question mark of a URL, where no password stands.
func saysEncryption(address string) bool {
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		_, address, _ = strings.Cut(address, "?")
	}
	return regexp.MustCompile(`(?:^|[&\s])sslmode\s*=`).MatchString(address)
}
