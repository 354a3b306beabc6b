// Package kmskey owns signing by AWS KMS: asymmetric keys of Ed25519 or of ECDSA on P-256, whose private half never leaves
// the service.
//
// A key is asked for its public half when it is opened; verifying needs that half alone and never the service. It refuses
// keys of other kinds and, with every signature, one that the public half does not verify: an alias that has been moved, or
// a service that is broken, would make a backup that nobody can trust. Errors carry the class of a table (errors.go).
// A Key is immutable and may be shared between goroutines.
package kmskey

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

// Client is what a key needs of kms.Client.
type Client interface {
	GetPublicKey(ctx context.Context, in *kms.GetPublicKeyInput, options ...func(*kms.Options)) (*kms.GetPublicKeyOutput, error)
	Sign(ctx context.Context, in *kms.SignInput, options ...func(*kms.Options)) (*kms.SignOutput, error)
}

// callTimeout bounds a call with the client's own retries: the client waits for an answer for ever.
const callTimeout = 30 * time.Second

// Key is a key in the service and signs with it.
type Key struct {
	client Client
	arn    string
	public signing.PublicKey
}

// Open asks the service for the key that keyID names: an id, an ARN, or an alias, which is resolved here and for good.
//
// Errors: fault.Misconfigured for a key that cannot sign for Tidemark or that this process may not use; fault.Retryable
// when the service is away; fault.Corrupt when its answer contradicts itself.
func Open(ctx context.Context, client Client, keyID string) (*Key, error) {
	if keyID == "" {
		return nil, fault.New(fault.Misconfigured, "open KMS key: none is named").WithHint("give the key's ARN")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := client.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: aws.String(keyID)})
	if err != nil {
		return nil, classify("open KMS key "+keyID, err)
	}
	return fromReply(client, keyID, out)
}

func fromReply(client Client, keyID string, out *kms.GetPublicKeyOutput) (*Key, error) {
	algorithm, err := algorithmOf(out)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "open KMS key %s: %w", keyID, err).
			WithHint("make a key for signing: aws kms create-key --key-usage SIGN_VERIFY --key-spec ECC_NIST_EDWARDS25519, " +
				"or ECC_NIST_P256 where that is not offered")
	}
	key := &Key{client: client, arn: aws.ToString(out.KeyId)}
	if key.arn == "" {
		key.arn = keyID
	}
	parsed, err := x509.ParsePKIXPublicKey(out.PublicKey)
	if err == nil {
		key.public, err = signing.NewPublicKey(parsed)
	}
	if err == nil && key.public.Algorithm() != algorithm {
		err = errors.New("it is of another kind than the service says")
	}
	if err != nil {
		return nil, fault.New(fault.Corrupt, "open KMS key %s: read its public key: %w", keyID, err)
	}
	return key, nil
}

// algorithmOf is how a key signs, as the service says.
func algorithmOf(out *kms.GetPublicKeyOutput) (signing.Algorithm, error) {
	if out.KeyUsage != types.KeyUsageTypeSignVerify {
		return "", errors.New("its usage is " + string(out.KeyUsage) + ", want SIGN_VERIFY")
	}
	switch out.KeySpec { //nolint:exhaustive // a closed list of what is taken
	case types.KeySpecEccNistEdwards25519:
		return signing.Ed25519, nil
	case types.KeySpecEccNistP256:
		return signing.P256, nil
	}
	return "", errors.New("its kind is " + string(out.KeySpec) + ", want ECC_NIST_EDWARDS25519 or ECC_NIST_P256")
}

// ARN names the key in the service.
func (k *Key) ARN() string { return k.arn }

// Key is the public half, as it was when the key was opened.
func (k *Key) Key() signing.PublicKey { return k.public }

// Sign has the service sign message.
//
// Errors: fault.Bug above signing.MaxMessage bytes; fault.Corrupt for a signature that the public half does not verify;
// else as Open's.
func (k *Key) Sign(ctx context.Context, message []byte) ([]byte, error) {
	if len(message) > signing.MaxMessage {
		return nil, fault.New(fault.Bug, "message of %d bytes, at most %d", len(message), signing.MaxMessage)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := k.client.Sign(ctx, k.request(message))
	if err != nil {
		return nil, classify("sign with KMS key "+k.arn, err)
	}
	if !k.public.Verifies(message, out.Signature) {
		return nil, fault.New(fault.Corrupt, "sign with KMS key %s: the signature is not by the key that was opened", k.arn).
			WithHint("if the key was exchanged on purpose, pin the new public key (tidemark keys show --kms) and start again")
	}
	return out.Signature, nil
}

// request is what the service is asked. Of the two forms of Ed25519 in the service only the one that takes the message
// itself is the standard one, which verifies elsewhere.
func (k *Key) request(message []byte) *kms.SignInput {
	if k.public.Algorithm() == signing.Ed25519 {
		return &kms.SignInput{
			KeyId: aws.String(k.arn), Message: message, MessageType: types.MessageTypeRaw,
			SigningAlgorithm: types.SigningAlgorithmSpecEd25519Sha512,
		}
	}
	sum := sha256.Sum256(message)
	return &kms.SignInput{
		KeyId: aws.String(k.arn), Message: sum[:], MessageType: types.MessageTypeDigest,
		SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	}
}
