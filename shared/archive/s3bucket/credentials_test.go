package s3bucket_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3bucket"
	"tidemark/shared/fault"
)

// clientOf is a client of somebody else's making, which repeats what fails.
func clientOf(endpoint string, keys aws.CredentialsProvider) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", UsePathStyle: true, RetryMaxAttempts: 5, Credentials: aws.NewCredentialsCache(keys),
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("AsksForKeysAnewAfterExpiry", func(t *testing.T) {
		t.Parallel()
		var asked, requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if requests.Add(1) == 1 {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte("<Error><Code>ExpiredToken</Code></Error>"))
			}
		}))
		t.Cleanup(server.Close)
		bucket, err := s3bucket.New(clientOf(server.URL, aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			asked.Add(1)
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "s"}, nil
		})), s3api.Options{Bucket: "backups"})
		if err != nil {
			t.Fatal(err)
		}
		if err := bucket.Create(t.Context(), "k", []byte("content")); !fault.Is(err, fault.Retryable) || requests.Load() != 1 {
			t.Errorf("got %v after %d requests, want a retryable error after one", err, requests.Load())
		}
		for range 2 {
			if err := bucket.Create(t.Context(), "k", []byte("content")); err != nil {
				t.Error(err)
			}
		}
		if got := asked.Load(); got != 2 {
			t.Errorf("keys were asked for %d times, want once more than once", got)
		}
	})
	t.Run("SendsNothingWithoutKeys", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("something was sent") }))
		t.Cleanup(server.Close)
		reason := errors.New("no role")
		bucket, err := s3bucket.New(clientOf(server.URL, aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, reason
		})), s3api.Options{Bucket: "backups", Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		err = bucket.Create(t.Context(), "k", nil)
		if !fault.Is(err, fault.Retryable) || !errors.Is(err, reason) || !errors.Is(err, s3api.ErrNoCredentials) || fault.HintOf(err) == "" {
			t.Errorf("got %v (%s), want a retryable error with a hint", err, fault.ClassOf(err))
		}
	})
	t.Run("RefusesOptionsThatCannotBe", func(t *testing.T) {
		t.Parallel()
		if _, err := s3bucket.New(clientOf("http://127.0.0.1:1", nil), s3api.Options{}); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("New: got %v, want it misconfigured", err)
		}
		if _, err := s3bucket.Open(t.Context(), s3api.Options{Bucket: "backups"}); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("Open: got %v, want it misconfigured", err)
		}
	})
}
