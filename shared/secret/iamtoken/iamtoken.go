// Package iamtoken owns how IAM vouches for a user of a database of RDS or Aurora: by a signed request that is sent in place of
// a password.
//
// A token is signed here and asks nobody but the source of credentials. It is good for 15 minutes and only for making a
// connection, so each connection has its own and nothing is kept. Settings are read at the first token. Safe for concurrent
// use.
package iamtoken

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"tidemark/shared/fault"
	"tidemark/shared/fault/awscode"
)

// Options configures a Signer. Now is required.
type Options struct {
	// Settings are what signs. Nil: what the SDK finds, in variables AWS_*, in files of the home folder, by the role of the
	// machine.
	Settings *aws.Config
	Now      func() time.Time
}

// Signer signs tokens.
type Signer struct {
	options Options

	mu       sync.Mutex
	settings *aws.Config
}

// New makes a signer. It reads and asks nothing.
func New(options Options) *Signer { return &Signer{options: options, settings: options.Settings} }

const (
	validSeconds = 15 * 60
	// noContent is the SHA-256 of nothing.
	noContent = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// Token is what the user sends in place of a password. Host is the database's own name at RDS: an alias is not what the
// database checks.
//
// Errors: fault.Misconfigured for credentials and a region that are not there; fault.Retryable when ctx ends before.
func (s *Signer) Token(ctx context.Context, host string, port uint16, user string) (string, error) {
	settings, err := s.load(ctx)
	if err != nil {
		return "", err
	}
	region := settings.Region
	if named := regexp.MustCompile(`\.([a-z0-9-]+)\.rds\.amazonaws\.com(?:\.cn)?$`).FindStringSubmatch(host); named != nil {
		region = named[1]
	}
	if region == "" || settings.Credentials == nil {
		return "", fault.New(fault.Misconfigured, "sign a token for %s at %s: no region is set", user, host).
			WithHint("name the database by its address at RDS, or set AWS_REGION; " + awscode.LogIn)
	}
	credentials, err := settings.Credentials.Retrieve(ctx)
	if err != nil && ctx.Err() != nil {
		return "", fault.New(fault.Retryable, "sign a token for %s at %s: %w", user, host, err)
	}
	if err != nil {
		return "", fault.New(fault.Misconfigured, "sign a token for %s at %s: %w", user, host, err).WithHint("%s", awscode.LogIn)
	}
	asked := url.URL{
		Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port))), Path: "/",
		RawQuery: url.Values{"Action": {"connect"}, "DBUser": {user}, "X-Amz-Expires": {strconv.Itoa(validSeconds)}}.Encode(),
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, asked.String(), http.NoBody)
	if err != nil {
		return "", fault.New(fault.Misconfigured, "sign a token: the database's address is none")
	}
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, noContent, "rds-db", region, s.options.Now())
	if err != nil {
		return "", fault.New(fault.Misconfigured, "sign a token for %s at %s: %w", user, host, err)
	}
	return strings.TrimPrefix(signed, "https://"), nil
}

func (s *Signer) load(ctx context.Context) (*aws.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings != nil {
		return s.settings, nil
	}
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "read the settings for AWS: %w", err).
			WithHint("correct the variables AWS_* or the files that they name")
	}
	s.settings = &settings
	return s.settings, nil
}
