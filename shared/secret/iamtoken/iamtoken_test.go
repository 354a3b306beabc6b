package iamtoken_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/secret/iamtoken"
)

func now() time.Time { return time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC) }

func signer(region string) *iamtoken.Signer {
	return iamtoken.New(iamtoken.Options{Now: now, Settings: &aws.Config{
		Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKID", "hunter2", "SESSION"),
	}})
}

func TestToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ host, region, signedFor string }{
		"ForTheRegionOfTheDatabase": {"shop.abc.eu-central-1.rds.amazonaws.com", "us-east-1", "eu-central-1"},
		"ForTheRegionOfTheProcess":  {"10.0.0.1", "us-east-1", "us-east-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := signer(c.region).Token(t.Context(), c.host, 5432, "tide mark")
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := url.Parse("https://" + got)
			if err != nil || parsed.Host != c.host+":5432" || parsed.Path != "/" {
				t.Fatalf("got %s, %v", got, err)
			}
			query := parsed.Query()
			if len(query.Get("X-Amz-Signature")) != 64 || strings.Contains(got, "hunter2") {
				t.Errorf("got %s, want it signed and without the key", got)
			}
			query.Del("X-Amz-Signature")
			if diff := cmp.Diff(url.Values{
				"Action": {"connect"}, "DBUser": {"tide mark"}, "X-Amz-Expires": {"900"}, "X-Amz-Algorithm": {"AWS4-HMAC-SHA256"},
				"X-Amz-Credential": {"AKID/20260701/" + c.signedFor + "/rds-db/aws4_request"}, "X-Amz-Date": {"20260701T100000Z"},
				"X-Amz-SignedHeaders": {"host"}, "X-Amz-Security-Token": {"SESSION"},
			}, query); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("NeedsARegion", func(t *testing.T) {
		t.Parallel()
		_, err := signer("").Token(t.Context(), "db", 5432, "u")
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "AWS_REGION") {
			t.Errorf("got %v, want it misconfigured", err)
		}
	})
	t.Run("NeedsCredentials", func(t *testing.T) {
		t.Parallel()
		none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("none") })
		_, err := iamtoken.New(iamtoken.Options{Now: now, Settings: &aws.Config{Region: "eu-central-1", Credentials: none}}).
			Token(t.Context(), "db", 5432, "u")
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "log in again") {
			t.Errorf("got %v, want it misconfigured", err)
		}
	})
}
