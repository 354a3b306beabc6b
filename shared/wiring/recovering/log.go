package recovering

import (
	"context"
	"time"

	"tidemark/shared/config/brokers"
	"tidemark/shared/kafka"
	"tidemark/shared/kafka/awslogin"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/wiring/login"
)

// OpenLog reaches the brokers. The caller closes the log.
//
// Errors: fault.Misconfigured, also for what the brokers refuse; fault.Retryable when none of them answers, or a service that
// keeps the password does not.
func OpenLog(ctx context.Context, c *brokers.Kafka, now func() time.Time) (*kafka.Log, error) {
	options := reach.Options{Brokers: c.Addresses, Development: c.Development, Timeout: c.Timeout}
	if c.TLS {
		options.TLS = &reach.TLS{CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, ServerName: c.ServerName}
	}
	switch c.Mechanism {
	case "":
	case brokers.IAM:
		credentials, err := awslogin.Credentials(ctx)
		if err != nil {
			return nil, err
		}
		options.SASL = &reach.SASL{Mechanism: reach.MSKIAM, Credentials: credentials}
	default:
		user, password, err := login.Kafka(ctx, c, now)
		if err != nil {
			return nil, err
		}
		options.SASL = &reach.SASL{Mechanism: reach.Mechanism(c.Mechanism), User: user, Password: password}
	}
	return kafka.Open(ctx, kafka.Options{Reach: options})
}
