package manager_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"tidemark/shared/fault"
	"tidemark/shared/secret"
	"tidemark/shared/secret/manager"
)

const (
	arn   = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:shop-AbCdEf"
	torn  = `{"username":"shop","password":"hunter2"`
	whole = torn + "}"
)

// service answers as Secrets Manager does.
type service struct {
	t      *testing.T
	code   string // of a refusal
	status int
	body   map[string]any
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct{ SecretId string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.SecretId != arn {
		s.t.Errorf("asked for %q (%v), want %q", asked.SecretId, err, arn)
	}
	if got := r.Header.Get("X-Amz-Target"); got != "secretsmanager.GetSecretValue" {
		s.t.Errorf("asked %q", got)
	}
	if got := r.Header.Get("Authorization"); !strings.Contains(got, "/eu-central-1/secretsmanager/") {
		s.t.Errorf("signed %q, want it for the region of the ARN", got)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	body := s.body
	if s.code != "" {
		w.WriteHeader(s.status)
		body = map[string]any{"__type": s.code, "message": "refused"}
	}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.t.Error(err)
	}
}

func (s *service) fetch(key string) (secret.Login, error) {
	server := httptest.NewServer(s)
	defer server.Close()
	return fetchFrom(s.t.Context(), server.URL, key)
}

func fetchFrom(ctx context.Context, endpoint, key string) (secret.Login, error) {
	return manager.New(manager.Options{Settings: &aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""),
	}}, secret.Name{ID: arn, Key: key}).Fetch(ctx)
}

func TestFetch(t *testing.T) {
	t.Parallel()
	t.Run("GivesWhatTheSecretHolds", func(t *testing.T) {
		t.Parallel()
		got, err := (&service{t: t, body: map[string]any{"SecretString": whole}}).fetch("")
		if err != nil || got.User != "shop" || got.Password.Reveal() != "hunter2" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	for name, c := range map[string]struct {
		body map[string]any
		key  string
		says string
	}{
		"Bytes":        {map[string]any{"SecretBinary": []byte(whole)}, "", "holds bytes"},
		"Nothing":      {map[string]any{}, "", "no text"},
		"AKeyOfNobody": {map[string]any{"SecretString": whole}, "token", "under the key token"},
		"ATornObject":  {map[string]any{"SecretString": torn}, "password", "no JSON object"},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			_, err := (&service{t: t, body: c.body}).fetch(c.key)
			classed(t, err, fault.Misconfigured, c.says)
		})
	}
	t.Run("IsRetryableWithoutAService", func(t *testing.T) {
		t.Parallel()
		_, err := fetchFrom(t.Context(), "http://127.0.0.1:1", "")
		classed(t, err, fault.Retryable, "network")
	})
	t.Run("SaysThatNobodyIsLoggedIn", func(t *testing.T) {
		t.Parallel()
		_, err := manager.New(manager.Options{Settings: &aws.Config{
			Region: "eu-central-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, errors.New("none")
			}),
		}}, secret.Name{ID: arn}).Fetch(t.Context())
		classed(t, err, fault.Misconfigured, "log in again")
	})
	t.Run("SaysThatNoRegionIsSet", func(t *testing.T) {
		t.Parallel()
		_, err := manager.New(manager.Options{Settings: &aws.Config{}}, secret.Name{ID: "shop"}).Fetch(t.Context())
		classed(t, err, fault.Misconfigured, "AWS_REGION")
	})
}

// TestClasses is the table of what the service's errors ask of the caller.
func TestClasses(t *testing.T) {
	t.Parallel()
	for code, c := range map[string]struct {
		status int
		class  fault.Class
		hint   string
	}{
		"AccessDeniedException":       {400, fault.Misconfigured, "secretsmanager:GetSecretValue"},
		"DecryptionFailure":           {400, fault.Misconfigured, "kms:Decrypt"},
		"ResourceNotFoundException":   {400, fault.Misconfigured, "name a secret that is there"},
		"InvalidRequestException":     {400, fault.Misconfigured, "about to be deleted"},
		"InvalidParameterException":   {400, fault.Misconfigured, "name a secret"},
		"UnrecognizedClientException": {400, fault.Misconfigured, "credentials"},
		"ThrottlingException":         {400, fault.Retryable, "try again later"},
		"InternalServiceError":        {500, fault.Retryable, "try again later"},
		"Nameless":                    {503, fault.Retryable, "try again later"},
		"Unheard":                     {400, fault.Unclassified, ""},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			_, err := (&service{t: t, code: code, status: c.status}).fetch("")
			classed(t, err, c.class, c.hint)
			if !strings.Contains(fmt.Sprint(err), arn) {
				t.Errorf("got %v, want the secret's name in it", err)
			}
		})
	}
}

func classed(t *testing.T, err error, class fault.Class, says string) {
	t.Helper()
	line := fault.Line(err)
	if err == nil || fault.ClassOf(err) != class || !strings.Contains(line, says) || strings.Contains(line, "hunter2") {
		t.Errorf("got %s, want %s with %q and nothing of the secret", line, class, says)
	}
}
