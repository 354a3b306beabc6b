// Package s3bucket keeps an archive's objects in Amazon S3, and in stores that speak its API, by way of the AWS SDK.
//
// It owns how the SDK is asked; what answers mean is in package s3api, which makes the archive.Bucket. It refuses the SDK's
// own ideas where they hurt: a Create is sent once, with its checksum in a header and never in a trailer, and redirects to
// other hosts are not followed. Reads and deletions are repeated by the SDK. Credentials are asked for at each try, and a
// store that calls them expired makes the SDK forget them. Safe for concurrent use.
package s3bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tidemark/shared/archive/s3api"
	"tidemark/shared/fault"
)

// Open makes a bucket from options alone. Where they name no credentials, it takes the SDK's own chain: variables of the
// environment, shared files, the role of the platform. It asks the store nothing.
//
// Errors: fault.Misconfigured.
func Open(ctx context.Context, options s3api.Options) (*s3api.Bucket, error) {
	options, err := options.Checked()
	if err != nil {
		return nil, err
	}
	load := []func(*config.LoadOptions) error{
		config.WithRegion(options.Region),
	}
	if given := options.Credentials; !given.IsZero() {
		load = append(load, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(given.AccessKey, given.SecretKey, given.SessionToken)))
	}
	loaded, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "read the settings of AWS: %w", err)
	}
	transport := options.Transport()
	if built, ok := loaded.HTTPClient.(*awshttp.BuildableClient); ok && options.RootCAs == nil {
		if tls := built.GetTransport().TLSClientConfig; tls != nil {
			transport.TLSClientConfig.RootCAs = tls.RootCAs // of AWS_CA_BUNDLE
		}
	}
	return New(s3.NewFromConfig(loaded, func(o *s3.Options) {
		o.HTTPClient = &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		if options.Endpoint != "" {
			o.BaseEndpoint = aws.String(options.Endpoint)
		}
		o.UsePathStyle = options.PathStyle
	}), options)
}

// New makes a bucket that is reached as the client is. Region, endpoint, credentials and authorities of options are not
// looked at.
//
// Errors: fault.Misconfigured.
func New(of *s3.Client, options s3api.Options) (*s3api.Bucket, error) {
	options.Region = of.Options().Region
	options, err := options.Checked()
	if err != nil {
		return nil, err
	}
	c := &client{bucket: options.Bucket, kmsKey: options.SSEKMSKeyID}
	c.api = s3.New(of.Options(), func(o *s3.Options) {
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) { s.MaxAttempts = options.Attempts })
		o.RetryMaxAttempts = 0 // it is the retryer's
		c.credentials, _ = o.Credentials.(*aws.CredentialsCache)
		if o.Credentials != nil {
			o.Credentials = named{o.Credentials}
		}
	})
	return s3api.New(c, c, c, options), nil
}

// client is one bucket as the SDK sees it.
type client struct {
	api         *s3.Client
	bucket      string
	kmsKey      string
	credentials *aws.CredentialsCache // nil when they are not kept
}

// once makes a call that the SDK sends one time.
func once(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

// named makes a provider's failure tell itself from one of the store.
type named struct{ aws.CredentialsProvider }

func (n named) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := n.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return found, fmt.Errorf("%w: %w", s3api.ErrNoCredentials, err)
	}
	return found, nil
}

// refusal turns an error of the SDK into the store's answer, if there was one. An answer that says yes and cannot be read
// is none.
func (c *client) refusal(err error) error {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || answer.Response == nil || answer.HTTPStatusCode() < http.StatusMultipleChoices {
		return err
	}
	refusal := &s3api.AnswerError{Status: answer.HTTPStatusCode(), Err: err}
	if named, ok := errors.AsType[interface {
		error
		ServiceRequestID() string
	}](err); ok {
		refusal.RequestID = named.ServiceRequestID()
	}
	if coded, ok := errors.AsType[smithy.APIError](err); ok {
		refusal.Code, refusal.Message = coded.ErrorCode(), coded.ErrorMessage()
	}
	if c.credentials != nil && isExpired(refusal.Code) {
		c.credentials.Invalidate()
	}
	return refusal
}

func isExpired(code string) bool { return code == "ExpiredToken" || code == "ExpiredTokenException" }
