//go:build integration

package s3api_test

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"tidemark/localstack/aws"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/fault"
)

func TestLocalStack(t *testing.T) {
	server, err := aws.StartLocalStack(t.Context(), aws.Options{})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	client := s3.NewFromConfig(server.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	for name, locked := range map[string]bool{"plain": false, "versioned": false, "locked": true} {
		_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
			Bucket: &name, ObjectLockEnabledForBucket: &locked,
			CreateBucketConfiguration: &types.CreateBucketConfiguration{
				LocationConstraint: types.BucketLocationConstraint(server.Region()),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = client.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: sdk.String("versioned"), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := store{
		options: s3api.Options{
			Bucket: "plain", Region: server.Region(), Endpoint: server.Endpoint(), PathStyle: true,
			Credentials: s3api.Credentials{AccessKey: aws.AccessKey, SecretKey: aws.SecretKey},
		},
		versioned: "versioned", locked: "locked", takesAnySecret: true,
	}
	t.Run("RefusesAWrongChecksum", func(t *testing.T) { refusesAWrongChecksum(t, s) })
	for adapter, open := range adapters() {
		s.brief = adapter == "MinIO" // it is AWS that LocalStack stands in for
		t.Run(adapter, func(t *testing.T) { s.exercise(t, open) })
	}
}
