package aws_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"tidemark/localstack/aws"
	"tidemark/localstack/child/childtest"
	"tidemark/shared/fault"
)

const deadline = 30 * time.Second

func start(
	t *testing.T, start func(context.Context, aws.Options) (*aws.Server, error), options aws.Options,
) *aws.Server {
	t.Helper()
	s, err := start(t.Context(), options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// createsOnlyOnce checks that an object store takes no object in the place of another one.
func createsOnlyOnce(t *testing.T, s *aws.Server) {
	t.Helper()
	client := s3.NewFromConfig(s.Config())
	_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: sdk.String("once"), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
			LocationConstraint: s3types.BucketLocationConstraint(s.Region()),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"first", "second"} {
		_, err = client.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: sdk.String("once"), Key: sdk.String("object"), Body: bytes.NewReader([]byte(content)), IfNoneMatch: sdk.String("*"),
		})
		if content == "first" && err != nil {
			t.Fatal(err)
		}
	}
	refused, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || refused.HTTPStatusCode() != http.StatusPreconditionFailed {
		t.Errorf("got %v, want status 412 for an object that is there", err)
	}
	found, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: sdk.String("once"), Key: sdk.String("object")})
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(found.Body)
	if err := errors.Join(err, found.Body.Close()); err != nil || string(content) != "first" {
		t.Errorf("got %q, %v, want what came first", content, err)
	}
}

// listensOnLoopbackOnly dials a second address of this machine, at which a server would answer that listens everywhere.
func listensOnLoopbackOnly(t *testing.T, s *aws.Server) {
	t.Helper()
	address, err := url.Parse(s.Endpoint())
	if err != nil || address.Hostname() != "127.0.0.1" {
		t.Fatalf("got the address %s, want one of 127.0.0.1", s.Endpoint())
	}
	conn, err := (&net.Dialer{Timeout: deadline}).DialContext(t.Context(), "tcp4", net.JoinHostPort("127.0.0.2", address.Port()))
	if err == nil {
		_ = conn.Close()
		t.Error("it listens at all addresses")
	}
}

func TestMiniStack(t *testing.T) {
	t.Parallel()
	s := start(t, aws.StartMiniStack, aws.Options{Region: "eu-west-1"})
	if got := s.Region(); got != "eu-west-1" {
		t.Errorf("got region %s, want the one that was named", got)
	}
	createsOnlyOnce(t, s)
	listensOnLoopbackOnly(t, s)
}

// TestMiniStackSignsWithEd25519 is why there is a second stand-in: LocalStack has no such keys.
func TestMiniStackSignsWithEd25519(t *testing.T) {
	t.Parallel()
	client := kms.NewFromConfig(start(t, aws.StartMiniStack, aws.Options{}).Config())
	key, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{
		KeySpec: kmstypes.KeySpecEccNistEdwards25519, KeyUsage: kmstypes.KeyUsageTypeSignVerify,
	})
	if err != nil {
		t.Fatal(err)
	}
	message := []byte("what is signed")
	signed, err := client.Sign(t.Context(), &kms.SignInput{
		KeyId: key.KeyMetadata.KeyId, Message: message, MessageType: kmstypes.MessageTypeRaw,
		SigningAlgorithm: kmstypes.SigningAlgorithmSpecEd25519Sha512,
	})
	if err != nil {
		t.Fatal(err)
	}
	public, err := client.GetPublicKey(t.Context(), &kms.GetPublicKeyInput{KeyId: key.KeyMetadata.KeyId})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParsePKIXPublicKey(public.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	if verifier, ok := parsed.(ed25519.PublicKey); !ok || !ed25519.Verify(verifier, message, signed.Signature) {
		t.Errorf("got a key of type %T, whose signature does not hold", parsed)
	}
}

func TestServerStop(t *testing.T) {
	t.Parallel()
	s := start(t, aws.StartMiniStack, aws.Options{})
	named := start(t, aws.StartLocalStack, aws.Options{Endpoint: s.Endpoint() + "/"})
	if named.Endpoint() != s.Endpoint() || named.Region() != aws.Region {
		t.Errorf("got %s in %s, want the address that was named", named.Endpoint(), named.Region())
	}
	if err := named.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	createsOnlyOnce(t, named) // still there
	dir := aws.DirOf(s)
	for range 2 {
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for its folder after Stop, want none", err)
	}
	if answers(t, s.Endpoint()) {
		t.Error("it answers after Stop")
	}
}

// TestMiniStackDiesWithItsProcess kills a process that has a stand-in, which then has nobody to stop it.
func TestMiniStackDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	diesWithItsProcess(t, aws.StartMiniStack)
}

func diesWithItsProcess(t *testing.T, starts func(context.Context, aws.Options) (*aws.Server, error)) {
	t.Helper()
	childtest.DiesWithItsProcess(t, func() (address, path string) {
		s := start(t, starts, aws.Options{})
		return s.Endpoint(), aws.DirOf(s)
	}, func(address string) bool { return !answers(t, address) })
}

func answers(t *testing.T, endpoint string) bool {
	t.Helper()
	address, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address.Host)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}
