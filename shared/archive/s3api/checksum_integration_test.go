//go:build integration

package s3api_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3bucket"
	"tidemark/shared/fault"
)

// wrongSum sends the checksum of something else, signed as if it were right.
func wrongSum(stack *middleware.Stack) error {
	return stack.Build.Add(middleware.BuildMiddlewareFunc("WrongSum", func(
		ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler,
	) (middleware.BuildOutput, middleware.Metadata, error) {
		if request, ok := in.Request.(*smithyhttp.Request); ok && request.Header.Get("X-Amz-Checksum-Sha256") != "" {
			request.Header.Set("X-Amz-Checksum-Sha256", s3api.Upload{}.Base64Sum())
		}
		return next.HandleBuild(ctx, in)
	}), middleware.After)
}

// refusesAWrongChecksum shows that the store compares: a checksum that is only kept proves nothing.
func refusesAWrongChecksum(t *testing.T, s store) {
	t.Helper()
	o := s.options
	loaded, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(o.Region), config.WithCredentialsProvider(
		credentials.NewStaticCredentialsProvider(o.Credentials.AccessKey, o.Credentials.SecretKey, "")))
	if err != nil {
		t.Fatal(err)
	}
	o.Prefix = "wrong"
	bucket, err := s3bucket.New(s3.NewFromConfig(loaded, func(c *s3.Options) {
		c.BaseEndpoint, c.UsePathStyle = aws.String(o.Endpoint), true
		c.APIOptions = append(c.APIOptions, wrongSum)
	}), o)
	if err != nil {
		t.Fatal(err)
	}
	err = bucket.Create(t.Context(), "k", []byte("content"))
	refused, ok := errors.AsType[*s3api.AnswerError](err)
	if !ok || refused.Status != 400 || !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v (%s), want it refused with 400", err, fault.ClassOf(err))
	}
	if info, err := bucket.Stat(t.Context(), "k"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("got %+v, %v, want nothing there", info, err)
	}
}
