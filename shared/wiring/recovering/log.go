package recovering

import (
	"context"

	"tidemark/shared/config/brokers"
	"tidemark/shared/kafka"
	"tidemark/shared/kafka/awslogin"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/secret"
)

// OpenLog reaches the brokers. The caller closes the log.
//
// Errors: fault.Misconfigured, also for what the brokers refuse; fault.Retryable when none of them answers.
func OpenLog(ctx context.Context, c *brokers.Kafka) (*kafka.Log, error) {
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
		options.SASL = &reach.SASL{Mechanism: reach.Mechanism(c.Mechanism), User: c.User, Password: fixed(c.Password)}
	}
	return kafka.Open(ctx, kafka.Options{Reach: options})
}

// fixed is a password that does not change while the process lives: the environment does not either.
func fixed(password secret.Text) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return password.Reveal(), nil }
}
