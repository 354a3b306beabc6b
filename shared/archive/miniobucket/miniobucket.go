// Package miniobucket keeps an archive's objects in MinIO, and in stores that speak the S3 API, by way of MinIO's client.
//
// It owns how the client is asked; what answers mean is in package s3api, which makes the archive.Bucket. Two of the client's
// ways are refused: it repeats what fails, so a Create has a client of its own that tries once; and it makes up reasons
// where an answer has none, so answers are looked at before it sees them. A put is one request with its checksum in a header,
// whatever its size. The region is given, never asked for. Safe for concurrent use.
package miniobucket

import (
	"errors"
	"net/http"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"tidemark/shared/archive/s3api"
	"tidemark/shared/fault"
)

// Open makes a bucket. Where options name no credentials, it takes the environment's, those of shared files or the role of
// the platform. It asks the store nothing.
//
// Errors: fault.Misconfigured.
func Open(options s3api.Options) (*s3api.Bucket, error) {
	options, err := options.Checked()
	if err != nil {
		return nil, err
	}
	if options.Endpoint == "" {
		return nil, fault.New(fault.Misconfigured, "bucket %s: no endpoint is set", options.Bucket).
			WithHint("set the address of the store, such as https://minio.example:9000")
	}
	if err := s3utils.CheckValidBucketName(options.Bucket); err != nil {
		return nil, fault.New(fault.Misconfigured, "bucket %q: %w", options.Bucket, err)
	}
	keys := keysOf(options.Credentials)
	wire := &wire{inner: options.Transport()}
	once, err := connect(options, keys, wire, 1)
	if err != nil {
		return nil, err
	}
	again, err := connect(options, keys, wire, options.Attempts)
	if err != nil {
		return nil, err
	}
	c := &client{
		once: minio.Core{Client: once}, again: minio.Core{Client: again},
		bucket: options.Bucket, kmsKey: options.SSEKMSKeyID, keys: keys,
	}
	return s3api.New(c, c, c, options), nil
}

// client is one bucket as MinIO's client sees it.
type client struct {
	once   minio.Core // tries once
	again  minio.Core // repeats
	bucket string
	kmsKey string
	keys   *credentials.Credentials
}

func connect(options s3api.Options, keys *credentials.Credentials, wire http.RoundTripper, tries int) (*minio.Client, error) {
	address, err := options.Address()
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupDNS
	if options.PathStyle {
		lookup = minio.BucketLookupPath
	}
	made, err := minio.New(address.Host, &minio.Options{
		Creds: keys, Secure: address.Scheme == "https", Transport: wire,
		Region: options.Region, BucketLookup: lookup, MaxRetries: tries,
	})
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "reach bucket %s: %w", options.Bucket, err)
	}
	return made, nil
}

func keysOf(given s3api.Credentials) *credentials.Credentials {
	if !given.IsZero() {
		return credentials.NewStaticV4(given.AccessKey, given.SecretKey, given.SessionToken)
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	})
}

// refusal turns an error of the client into the store's answer, if there was one. The client makes errors of the same type
// itself, without a status or before anything was sent.
func (c *client) refusal(err error) error {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok || answer.StatusCode < http.StatusMultipleChoices {
		return err
	}
	code := answer.Code
	if code == unknownCode {
		code = ""
	}
	if code == "ExpiredToken" || code == "ExpiredTokenException" {
		c.keys.Expire()
	}
	return &s3api.AnswerError{Status: answer.StatusCode, Code: code, Message: answer.Message, RequestID: answer.RequestID, Err: err}
}
