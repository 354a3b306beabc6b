package recovering

import (
	"context"
	"time"

	"tidemark/shared/config/brokers"
	"tidemark/shared/kafka"
	"tidemark/shared/kafka/awslogin"
	"tidemark/shared/kafka/groups"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/wiring/login"
)

// OpenLog reaches the brokers. The caller closes the log.
//
// Errors: fault.Misconfigured, also for what the brokers refuse; fault.Retryable when none of them answers, or a service that
// keeps the password does not.
func OpenLog(ctx context.Context, c *brokers.Kafka, now func() time.Time) (*kafka.Log, error) {
	options, err := reachOf(ctx, c, now)
	if err != nil {
		return nil, err
	}
	return kafka.Open(ctx, kafka.Options{Reach: options})
}

// OpenGroups reaches the brokers' consumer groups. The caller closes them. Errors: as OpenLog's; it asks nothing yet.
func OpenGroups(ctx context.Context, c *brokers.Kafka, now func() time.Time) (*groups.Groups, error) {
	options, err := reachOf(ctx, c, now)
	if err != nil {
		return nil, err
	}
	return groups.Open(options)
}

// reachOf is how the configuration says that the brokers are reached.
func reachOf(ctx context.Context, c *brokers.Kafka, now func() time.Time) (reach.Options, error) {
	options := reach.Options{Brokers: c.Addresses, Development: c.Development, Timeout: c.Timeout}
	if c.TLS {
		options.TLS = &reach.TLS{CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, ServerName: c.ServerName}
	}
	switch c.Mechanism {
	case "":
	case brokers.IAM:
		credentials, err := awslogin.Credentials(ctx)
		if err != nil {
			return options, err
		}
		options.SASL = &reach.SASL{Mechanism: reach.MSKIAM, Credentials: credentials}
	default:
		user, password, err := login.Kafka(ctx, c, now)
		if err != nil {
			return options, err
		}
		options.SASL = &reach.SASL{Mechanism: reach.Mechanism(c.Mechanism), User: user, Password: password}
	}
	return options, nil
}
