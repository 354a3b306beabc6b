package kmskey

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"tidemark/shared/fault"
	"tidemark/shared/fault/awscode"
)

// Options says where the service is. The zero value leaves that to the key's ARN and to the SDK's own settings: variables
// AWS_*, files in the home folder, the role of the machine.
type Options struct {
	Region   string // for a key that is not named by an ARN
	Endpoint string // of a stand-in
}

// Dial opens a key with a client that the process's AWS settings describe. Errors: as Open's.
func Dial(ctx context.Context, options Options, keyID string) (*Key, error) {
	if named, err := arn.Parse(keyID); err == nil && named.Region != "" {
		options.Region = named.Region // the service knows the keys of its own region alone
	}
	settings, err := config.LoadDefaultConfig(ctx, func(o *config.LoadOptions) error {
		o.Region = options.Region
		return nil
	})
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "read the settings for AWS: %w", err).
			WithHint("correct the variables AWS_* or the files that they name")
	}
	if settings.Region == "" {
		return nil, fault.New(fault.Misconfigured, "open KMS key %s: no region is set", keyID).
			WithHint("name the key by its ARN, or set AWS_REGION")
	}
	// Here, because the client's error for the lack of them cannot be told from one of the network.
	if _, err := settings.Credentials.Retrieve(ctx); err != nil {
		return nil, fault.New(fault.Misconfigured, "open KMS key %s: %w", keyID, err).WithHint("%s", awscode.LogIn)
	}
	client := kms.NewFromConfig(settings, func(o *kms.Options) {
		if options.Endpoint != "" {
			o.BaseEndpoint = aws.String(options.Endpoint)
		}
	})
	return Open(ctx, client, keyID)
}
