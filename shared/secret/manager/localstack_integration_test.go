//go:build integration

package manager_test

import (
	"context"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"tidemark/localstack/aws"
	"tidemark/shared/fault"
	"tidemark/shared/secret"
	"tidemark/shared/secret/manager"
)

// TestManagerInAStandIn rotates a secret in a service that somebody else wrote.
func TestManagerInAStandIn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server, err := aws.StartLocalStack(ctx, aws.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	settings := server.Config()
	client := secretsmanager.NewFromConfig(settings)
	made, err := client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{
		Name: sdk.String("shop/database"), SecretString: sdk.String(`{"username":"shop","password":"first"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"shop/database", *made.ARN} {
		name, err := secret.ParseName(id)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		source := secret.NewSource(secret.Options{
			Fetch: manager.New(manager.Options{Settings: &settings}, name).Fetch, Now: func() time.Time { return now },
		})
		expect(t, source, "shop", "first")
		rotate(t, client, `{"username":"shop_clone","password":"second"}`)
		expect(t, source, "shop", "first")
		now = now.Add(10 * time.Second)
		source.Refused(secret.New("first"))
		expect(t, source, "shop_clone", "second")
		rotate(t, client, `{"username":"shop","password":"first"}`)
	}
	_, err = manager.New(manager.Options{Settings: &settings}, secret.Name{ID: "nobodys"}).Fetch(ctx)
	classed(t, err, fault.Misconfigured, "name a secret that is there")
}

func rotate(t *testing.T, client *secretsmanager.Client, text string) {
	t.Helper()
	_, err := client.PutSecretValue(t.Context(), &secretsmanager.PutSecretValueInput{
		SecretId: sdk.String("shop/database"), SecretString: sdk.String(text),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, source *secret.Source, user, password string) {
	t.Helper()
	got, err := source.Current(t.Context())
	if err != nil || got.User != user || got.Password.Reveal() != password {
		t.Errorf("got %q, %q, %v, want %q, %q", got.User, got.Password.Reveal(), err, user, password)
	}
}
