// Package awslogin owns where the credentials come from that sign for brokers of Amazon MSK.
//
// It takes what the AWS SDK finds and refuses to go on without any. What it returns may be used by several goroutines.
package awslogin

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"tidemark/shared/fault"
)

// Credentials are what the AWS SDK finds: variables of the environment, shared files, the role of the platform. They are
// renewed before they expire.
//
// Errors: fault.Misconfigured.
func Credentials(ctx context.Context) (aws.CredentialsProvider, error) {
	const hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role that may connect to the cluster"
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "read the settings for AWS: %w", err).WithHint(hint)
	}
	if _, err := settings.Credentials.Retrieve(ctx); err != nil { // later, it cannot be told from an error of the network
		return nil, fault.New(fault.Misconfigured, "find the credentials for AWS: %w", err).WithHint(hint)
	}
	return settings.Credentials, nil
}
