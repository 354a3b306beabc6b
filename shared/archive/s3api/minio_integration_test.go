//go:build integration

package s3api_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/lifecycle"

	"tidemark/localstack/minio"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/fault"
)

// startMinIO starts a server with a bucket of each kind.
func startMinIO(t *testing.T, options minio.Options) (*minio.Server, store) {
	t.Helper()
	server, err := minio.Start(t.Context(), options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for name, kind := range map[string]minio.BucketOptions{"plain": {}, "versioned": {Versioned: true}, "locked": {Locked: true}} {
		if err := server.NewBucket(t.Context(), name, kind); err != nil {
			t.Fatal(err)
		}
	}
	scheme := "http://"
	if server.TLS() {
		scheme = "https://"
	}
	return server, store{
		options: s3api.Options{
			Bucket: "plain", Region: "us-east-1", Endpoint: scheme + server.Endpoint(), PathStyle: true, RootCAs: server.CAPool(),
			Credentials: s3api.Credentials{AccessKey: server.AccessKey(), SecretKey: server.SecretKey()},
		},
		versioned: "versioned", locked: "locked",
	}
}

// TestMinIO exercises both adapters with MinIO, and over TLS.
func TestMinIO(t *testing.T) {
	_, plain := startMinIO(t, minio.Options{})
	_, secure := startMinIO(t, minio.Options{TLS: true})
	secure.versioned, secure.locked, secure.brief = "", "", true // what a bucket keeps does not depend on the line
	for adapter, open := range adapters() {
		t.Run(adapter+"/Plain", func(t *testing.T) { plain.exercise(t, open) })
		t.Run(adapter+"/TLS", func(t *testing.T) { secure.exercise(t, open) })
	}
	t.Run("RefusesAWrongChecksum", func(t *testing.T) { refusesAWrongChecksum(t, plain) })
}

func TestMinIODescribe(t *testing.T) {
	server, s := startMinIO(t, minio.Options{})
	client, err := sdk.New(server.Endpoint(), &sdk.Options{Creds: credentials.NewStaticV4(server.AccessKey(), server.SecretKey(), "")})
	if err != nil {
		t.Fatal(err)
	}
	rules := lifecycle.NewConfiguration()
	rules.Rules = []lifecycle.Rule{{
		ID: "old", Status: "Enabled", RuleFilter: lifecycle.Filter{Prefix: "team/"}, Expiration: lifecycle.Expiration{Days: 30},
	}}
	if err := client.SetBucketLifecycle(t.Context(), s.options.Bucket, rules); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]string{
		"team/archive": {`rule "old" deletes what begins with "team/" after 30 days`}, "other": nil,
	} {
		for adapter, open := range adapters() {
			o := s.options
			o.Prefix = prefix
			got, err := open(t, o).Describe(t.Context())
			if diff := cmp.Diff(want, got.LifecycleExpires); diff != "" || err != nil {
				t.Errorf("%s, %s: %v (-want +got):\n%s", adapter, prefix, err, diff)
			}
		}
	}
	o := s.options
	o.SSEKMSKeyID = "absent"
	for adapter, open := range adapters() {
		if err := open(t, o).Create(t.Context(), "k", nil); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("%s, a store without SSE-KMS: got %v (%s), want it misconfigured", adapter, err, fault.ClassOf(err))
		}
	}
}
