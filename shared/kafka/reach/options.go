package reach

import (
	"cmp"
	"context"
	"net"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tidemark/shared/fault"
)

// Options says where the brokers are and how to reach them.
type Options struct {
	Brokers []string // HOST:PORT of some of the brokers
	TLS     *TLS     // nil: in the clear
	SASL    *SASL    // nil: nobody logs in
	// Development allows connections in the clear to other machines.
	Development bool

	// Timeout bounds one question with all its attempts. 0: 30 s.
	Timeout time.Duration
}

// TLS is how connections are encrypted. The zero value trusts the machine's authorities.
type TLS struct {
	CAFile            string // authorities to trust instead, as PEM
	CertFile, KeyFile string // the client's own certificate, as PEM; read anew for each connection
	ServerName        string // what the brokers' certificates say, if it is not their address
}

// SASL is how clients log in. Secrets are asked for at each connection, so a rotated one is met without a restart.
type SASL struct {
	Mechanism Mechanism
	User      string
	Password  func(ctx context.Context) (string, error)
	// Credentials sign for MSKIAM, for the region in the broker's name.
	Credentials aws.CredentialsProvider
}

// Mechanism is a way to log in.
type Mechanism string

// The mechanisms.
const (
	SCRAM256 Mechanism = "SCRAM-SHA-256"
	SCRAM512 Mechanism = "SCRAM-SHA-512"
	Plain    Mechanism = "PLAIN"
	MSKIAM   Mechanism = "AWS_MSK_IAM"
)

const (
	defaultTimeout  = 30 * time.Second
	shortestTimeout = time.Second
	longestTimeout  = 10 * time.Minute
)

// WithDefaults fills in what was left out.
func (o Options) WithDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	return o
}

func (o Options) validate() error {
	if len(o.Brokers) == 0 {
		return fault.New(fault.Misconfigured, "no Kafka broker is named")
	}
	if o.Timeout < shortestTimeout || o.Timeout > longestTimeout {
		return fault.New(fault.Misconfigured, "a timeout of %s: want %s to %s", o.Timeout, shortestTimeout, longestTimeout)
	}
	for _, address := range o.Brokers {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" || port == "" {
			return fault.New(fault.Misconfigured, "broker %q: want HOST:PORT", address)
		}
		if err := o.mayDial(host); err != nil {
			return err
		}
	}
	if o.TLS != nil && (o.TLS.CertFile == "") != (o.TLS.KeyFile == "") {
		return fault.New(fault.Misconfigured, "a client's certificate and its key come together: one of the two files is not named")
	}
	return o.SASL.validate(o.TLS != nil)
}

// mayDial is asked for each address that is dialled, those that brokers give included: a tunnel's near end is on
// loopback and what it leads to is not.
func (o Options) mayDial(host string) error {
	if o.TLS != nil || o.Development || isLoopback(host) {
		return nil
	}
	return fault.New(fault.Misconfigured, "broker %s is another machine and the connection has no TLS", host).
		WithHint("turn TLS on; records in the clear are for development alone, which has to be said")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (s *SASL) validate(encrypted bool) error {
	if s == nil {
		return nil
	}
	switch s.Mechanism {
	case SCRAM256, SCRAM512:
	case Plain, MSKIAM:
		if !encrypted {
			return fault.New(fault.Misconfigured, "%s shows its secret or what it signed to whoever listens: it needs TLS", s.Mechanism)
		}
	default:
		return fault.New(fault.Misconfigured, "login %q: want one of %s, %s, %s, %s", s.Mechanism, SCRAM256, SCRAM512, Plain, MSKIAM)
	}
	if s.Mechanism == MSKIAM {
		if s.Credentials == nil || s.User != "" || s.Password != nil {
			return fault.New(fault.Misconfigured, "%s takes credentials, and no user and password", MSKIAM)
		}
		return nil
	}
	if s.User == "" || s.Password == nil || s.Credentials != nil {
		return fault.New(fault.Misconfigured, "%s takes a user and a password alone", s.Mechanism)
	}
	return nil
}
