//go:build integration

package kmskey_test

import (
	"context"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"tidemark/localstack/aws"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
	"tidemark/shared/signing/kmskey"
)

// TestStandIns: what KMS signs is verified by the public key alone, also when KMS is down. LocalStack speaks for P-256,
// MiniStack for Ed25519.
func TestStandIns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start     func(context.Context, aws.Options) (*aws.Server, error)
		spec      types.KeySpec
		algorithm signing.Algorithm
	}{
		"P256":    {aws.StartLocalStack, types.KeySpecEccNistP256, signing.P256},
		"Ed25519": {aws.StartMiniStack, types.KeySpecEccNistEdwards25519, signing.Ed25519},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := c.start(t.Context(), aws.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { stop(t, server) })
			client := kms.NewFromConfig(server.Config(), func(o *kms.Options) { o.RetryMaxAttempts = 1 })
			key := create(t, client, c.spec)
			if key.Key().Algorithm() != c.algorithm {
				t.Errorf("algorithm: got %s, want %s", key.Key().Algorithm(), c.algorithm)
			}
			envelopes := [][]byte{seal(t, key, make([]byte, 4000)), seal(t, key, nil), seal(t, key, []byte("payload"))}
			refuseOthers(t, client, key)
			stop(t, server)
			pinned, err := signing.ParsePublicKey(key.Key().PEM())
			if err != nil {
				t.Fatal(err)
			}
			for _, encoded := range envelopes {
				if _, err := (signing.Keyring{{Key: pinned}}).Open("type", encoded); err != nil {
					t.Errorf("verify while KMS is down: %v", err)
				}
			}
			_, err = key.Sign(t.Context(), []byte("message"))
			classed(t, err, fault.Retryable, "network")
		})
	}
}

func stop(t *testing.T, server *aws.Server) {
	t.Helper()
	if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("stop the stand-in: %v", err)
	}
}

func create(t *testing.T, client *kms.Client, spec types.KeySpec) *kmskey.Key {
	t.Helper()
	made, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{KeySpec: spec, KeyUsage: types.KeyUsageTypeSignVerify})
	if err != nil {
		t.Fatal(err)
	}
	alias := "alias/" + t.Name()
	if _, err := client.CreateAlias(t.Context(), &kms.CreateAliasInput{
		AliasName: awssdk.String(alias), TargetKeyId: made.KeyMetadata.KeyId,
	}); err != nil {
		t.Fatal(err)
	}
	key, err := kmskey.Open(t.Context(), client, alias)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func seal(t *testing.T, key *kmskey.Key, payload []byte) []byte {
	t.Helper()
	encoded, err := signing.Seal(t.Context(), "type", payload, key)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// refuseOthers tries keys that are no use: one that is not there, one of another kind, one that is disabled, one that is to
// be deleted. The alias moves on while key is in use.
func refuseOthers(t *testing.T, client *kms.Client, key *kmskey.Key) {
	t.Helper()
	const absent = "00000000-0000-0000-0000-000000000000"
	_, err := kmskey.Open(t.Context(), client, absent)
	classed(t, err, fault.Misconfigured, absent, "a key that exists")
	large, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{
		KeySpec: types.KeySpecRsa2048, KeyUsage: types.KeyUsageTypeSignVerify,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.UpdateAlias(t.Context(), &kms.UpdateAliasInput{
		AliasName: awssdk.String("alias/" + t.Name()), TargetKeyId: large.KeyMetadata.KeyId,
	}); err != nil {
		t.Fatal(err)
	}
	_, err = kmskey.Open(t.Context(), client, "alias/"+t.Name())
	classed(t, err, fault.Misconfigured, "RSA_2048")
	seal(t, key, []byte("by the key that the alias meant"))

	id := awssdk.String(key.ARN())
	if _, err := client.DisableKey(t.Context(), &kms.DisableKeyInput{KeyId: id}); err != nil {
		t.Fatal(err)
	}
	_, err = key.Sign(t.Context(), []byte("message"))
	classed(t, err, fault.Misconfigured, "enable the key")
	if _, err := client.ScheduleKeyDeletion(t.Context(), &kms.ScheduleKeyDeletionInput{KeyId: id}); err != nil {
		t.Fatal(err)
	}
	_, err = key.Sign(t.Context(), []byte("message"))
	classed(t, err, fault.Misconfigured, "cancel its deletion")
}
