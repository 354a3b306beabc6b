package s3api

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// Options says which bucket is meant and how it is reached.
type Options struct {
	Bucket string
	Prefix string // of every key, such as "team/archive"; empty: the whole bucket

	Region   string // of signatures; stores of one's own usually are in us-east-1
	Endpoint string // such as https://minio.example:9000; empty: AWS
	// PathStyle puts the bucket's name into the path: for stores without a name of their own for each bucket.
	PathStyle   bool
	Credentials Credentials    // zero: whatever the environment of the process offers
	RootCAs     *x509.CertPool // who vouches for the store; nil: the machine's authorities

	SSEKMSKeyID string // the key that new objects are encrypted with; empty: as the bucket is set
	Retention   Mode   // of what Retain locks; empty: Governance

	Attempts int           // of a request that may be repeated, at most; 0: 3
	Timeout  time.Duration // of one call with its repetitions, listings apart; 0: 5 minutes
}

// Credentials sign requests. They are printed as REDACTED.
type Credentials struct {
	AccessKey, SecretKey, SessionToken string
}

// IsZero says whether there are none.
func (c Credentials) IsZero() bool { return c == Credentials{} }

// Format prints no part of them, whatever the verb.
func (Credentials) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, redacted) // fmt keeps no error of a state's writer
}

// LogValue shows no part of them.
func (Credentials) LogValue() slog.Value { return slog.StringValue(redacted) }

const (
	redacted = "REDACTED"

	defaultAttempts = 3
	defaultTimeout  = 5 * time.Minute
	// A store that took a request and says nothing for a minute is given up, so that a try that may be repeated is.
	answerTimeout = time.Minute
)

// Checked fills in what is not set and refuses what cannot be.
func (o Options) Checked() (Options, error) {
	if o.Retention == "" {
		o.Retention = Governance
	}
	if o.Attempts == 0 {
		o.Attempts = defaultAttempts
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	return o, o.validate()
}

func (o Options) validate() error {
	switch {
	case o.Bucket == "" || strings.Contains(o.Bucket, "/"):
		return refuse("bucket %q: want the name of a bucket", o.Bucket)
	case o.Prefix != "" && archive.CheckKey(o.Prefix) != nil:
		return refuse("prefix %q: want words of a-z, 0-9, '_', '.' and '-' between slashes, none at either end", o.Prefix)
	case o.Region == "":
		return refuse("bucket %s: no region is set", o.Bucket).
			WithHint("set the region that the bucket is in; stores of one's own usually are in us-east-1")
	case o.Retention != Governance && o.Retention != Compliance:
		return refuse("retention %q: want %s or %s", o.Retention, Governance, Compliance)
	case o.Attempts < 0 || o.Timeout < 0:
		return refuse("%d attempts within %s: want more than none", o.Attempts, o.Timeout)
	case o.Credentials.AccessKey == "" && !o.Credentials.IsZero(), o.Credentials.AccessKey != "" && o.Credentials.SecretKey == "":
		return refuse("bucket %s: want both an access key and its secret, or neither", o.Bucket)
	}
	_, err := o.Address()
	return err
}

func refuse(format string, args ...any) *fault.Error {
	return fault.New(fault.Misconfigured, format, args...)
}

// Address is the endpoint, nil when none is set. A name and a password in it would be signed by nobody, a path is not the
// API's: both are refused.
func (o Options) Address() (*url.URL, error) {
	if o.Endpoint == "" {
		return nil, nil //nolint:nilnil // no endpoint is a choice, not an error
	}
	address, err := url.Parse(o.Endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" || address.User != nil ||
		strings.Trim(address.Path, "/") != "" || address.RawQuery != "" {
		return nil, refuse("endpoint: want http or https, a host and nothing else, such as https://minio.example:9000")
	}
	return address, nil
}

// Transport is how both clients reach the store. Compression is off because the length of an answer is checked.
func (o Options) Transport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		ResponseHeaderTimeout: answerTimeout,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   64,
		DisableCompression:    true,
	}
}
