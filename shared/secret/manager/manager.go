// Package manager owns how a login is fetched from AWS Secrets Manager.
//
// It makes its client at the first fetch, so that a process that starts costs nothing for it. It refuses a secret without a
// text, and tells in no error what a secret holds. It keeps nothing that it fetched: package secret does. Safe for concurrent
// use.
package manager

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"tidemark/shared/fault"
	"tidemark/shared/fault/awscode"
	"tidemark/shared/secret"
)

// Options says how the service is reached.
type Options struct {
	// Settings are what the client is made of. Nil: what the SDK finds, in variables AWS_*, in files of the home folder, by the
	// role of the machine.
	Settings *aws.Config
}

// Manager fetches one secret.
type Manager struct {
	options Options
	name    secret.Name

	mu     sync.Mutex
	client *secretsmanager.Client
}

// New says which secret is fetched. It reads and asks nothing.
func New(options Options, name secret.Name) *Manager { return &Manager{options: options, name: name} }

// Fetch gives what the secret holds now.
//
// Errors: fault.Misconfigured for rights that are missing, a secret that is not there or holds no password; fault.Retryable
// when the service is away or busy.
func (m *Manager) Fetch(ctx context.Context) (secret.Login, error) {
	client, err := m.dial(ctx)
	if err != nil {
		return secret.Login{}, err
	}
	// Here, because the client's error for the lack of them cannot be told from one of the network.
	if _, err := client.Options().Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return secret.Login{}, fault.New(fault.Retryable, "fetch secret %s: %w", m.name.ID, err)
		}
		return secret.Login{}, fault.New(fault.Misconfigured, "fetch secret %s: %w", m.name.ID, err).WithHint("%s", awscode.LogIn)
	}
	answer, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String(m.name.ID)})
	if err != nil {
		return secret.Login{}, classify("fetch secret "+m.name.ID, err)
	}
	if answer.SecretString == nil {
		return secret.Login{}, fault.New(fault.Misconfigured, "secret %s holds bytes and no text", m.name.ID).
			WithHint("keep the password in it as text, or as JSON")
	}
	login, err := secret.ParseLogin(secret.New(*answer.SecretString), m.name.Key)
	if err != nil {
		return secret.Login{}, fault.New(fault.ClassOf(err), "read secret %s: %w", m.name.ID, err).WithHint("%s", fault.HintOf(err))
	}
	return login, nil
}

func (m *Manager) dial(ctx context.Context) (*secretsmanager.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		return m.client, nil
	}
	settings, err := m.settings(ctx)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "read the settings for AWS: %w", err).
			WithHint("correct the variables AWS_* or the files that they name")
	}
	if named, err := arn.Parse(m.name.ID); err == nil {
		settings.Region = named.Region // the service knows the secrets of its own region alone
	}
	if settings.Region == "" {
		return nil, fault.New(fault.Misconfigured, "fetch secret %s: no region is set", m.name.ID).
			WithHint("name the secret by its ARN, or set AWS_REGION")
	}
	m.client = secretsmanager.NewFromConfig(settings)
	return m.client, nil
}

func (m *Manager) settings(ctx context.Context) (aws.Config, error) {
	if m.options.Settings != nil {
		return *m.options.Settings, nil
	}
	return config.LoadDefaultConfig(ctx)
}
