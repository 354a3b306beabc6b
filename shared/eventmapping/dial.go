package eventmapping

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"tidemark/shared/fault"
	"tidemark/shared/fault/awscode"
)

// Options says where the service is. The zero value leaves that to the SDK's own settings: variables AWS_*, files in the
// home folder, the role of the machine.
type Options struct {
	Region   string
	Endpoint string // of a stand-in
}

// Dial is New with a client that the process's AWS settings describe. Errors: fault.Misconfigured.
func Dial(ctx context.Context, options Options) (*Mappings, error) {
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(options.Region))
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "read the settings for AWS: %w", err).
			WithHint("correct the variables AWS_* or the files that they name")
	}
	if settings.Region == "" {
		return nil, fault.New(fault.Misconfigured, "ask for event source mappings: no region is set").
			WithHint("set AWS_REGION to the region of the function")
	}
	// Here, because the client's error for the lack of them cannot be told from one of the network.
	if _, err := settings.Credentials.Retrieve(ctx); err != nil {
		return nil, fault.New(fault.Misconfigured, "ask for event source mappings: %w", err).WithHint("%s", awscode.LogIn)
	}
	return New(lambda.NewFromConfig(settings, func(o *lambda.Options) {
		if options.Endpoint != "" {
			o.BaseEndpoint = aws.String(options.Endpoint)
		}
	})), nil
}
