//go:build integration

package aws_test

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"path/filepath"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"tidemark/localstack/aws"
)

func TestLocalStack(t *testing.T) {
	t.Parallel()
	s := start(t, aws.StartLocalStack, aws.Options{})
	listensOnLoopbackOnly(t, s)
	t.Run("KMS", func(t *testing.T) {
		t.Parallel()
		signsWithP256(t, kms.NewFromConfig(s.Config()))
	})
	t.Run("SSM", func(t *testing.T) {
		t.Parallel()
		keepsAParameter(t, ssm.NewFromConfig(s.Config()))
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		createsOnlyOnce(t, s)
		if kept, err := filepath.Glob(filepath.Join(aws.DirOf(s), "*", "once")); err != nil || len(kept) != 1 {
			t.Errorf("got %q, %v, want the bucket's files in the stand-in's folder", kept, err)
		}
		other := start(t, aws.StartLocalStack, aws.Options{})
		buckets, err := s3.NewFromConfig(other.Config()).ListBuckets(t.Context(), &s3.ListBucketsInput{})
		if err != nil || len(buckets.Buckets) != 0 {
			t.Errorf("got %v, %v, want no bucket of another stand-in", buckets, err)
		}
		createsOnlyOnce(t, other)
	})
}

func signsWithP256(t *testing.T, client *kms.Client) {
	t.Helper()
	key, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{
		KeySpec: kmstypes.KeySpecEccNistP256, KeyUsage: kmstypes.KeyUsageTypeSignVerify,
	})
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte("what is signed"))
	signed, err := client.Sign(t.Context(), &kms.SignInput{
		KeyId: key.KeyMetadata.KeyId, Message: digest[:], MessageType: kmstypes.MessageTypeDigest,
		SigningAlgorithm: kmstypes.SigningAlgorithmSpecEcdsaSha256,
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
	if verifier, ok := parsed.(*ecdsa.PublicKey); !ok || !ecdsa.VerifyASN1(verifier, digest[:], signed.Signature) {
		t.Errorf("got a key of type %T, whose signature does not hold", parsed)
	}
}

func keepsAParameter(t *testing.T, client *ssm.Client) {
	t.Helper()
	const name, value = "/tidemark/password", "a secret"
	_, err := client.PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: sdk.String(name), Value: sdk.String(value), Type: ssmtypes.ParameterTypeSecureString,
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.GetParameter(t.Context(), &ssm.GetParameterInput{Name: sdk.String(name), WithDecryption: sdk.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	if got := sdk.ToString(found.Parameter.Value); got != value {
		t.Errorf("got %q, want %q", got, value)
	}
}

// TestLocalStackDiesWithItsProcess kills a process that has a stand-in, which then has nobody to stop it.
func TestLocalStackDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	diesWithItsProcess(t, aws.StartLocalStack)
}
