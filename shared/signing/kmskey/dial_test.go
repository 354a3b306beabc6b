package kmskey_test

import (
	"crypto/elliptic"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tidemark/shared/fault"
	"tidemark/shared/signing/kmskey"
)

// TestDial changes the environment that the SDK reads, so nothing here runs in parallel.
func TestDial(t *testing.T) {
	service := &service{t: t, private: nist(t, elliptic.P256()), spec: "ECC_NIST_P256", usage: "SIGN_VERIFY"}
	scope := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scope = r.Header.Get("Authorization")
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "AWS_CONFIG_FILE": home + "/none", "AWS_SHARED_CREDENTIALS_FILE": home + "/none", "AWS_PROFILE": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hunter2",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ENDPOINT_URL_KMS": server.URL,
	} {
		t.Setenv(name, value)
	}
	t.Run("TakesTheRegionOfTheARN", func(t *testing.T) {
		t.Setenv("AWS_REGION", "us-east-1")
		key, err := kmskey.Dial(t.Context(), kmskey.Options{Region: "us-east-2"}, arn)
		if err != nil || key.ARN() != arn || !strings.Contains(scope, "/eu-west-1/kms/") {
			t.Errorf("got %v, %v, signed for %s", key, err, scope)
		}
	})
	t.Run("TakesTheRegionOfTheEnvironmentForAnAlias", func(t *testing.T) {
		t.Setenv("AWS_REGION", "us-east-1")
		_, err := kmskey.Dial(t.Context(), kmskey.Options{}, alias)
		if err != nil || !strings.Contains(scope, "/us-east-1/kms/") {
			t.Errorf("got %v, signed for %s", err, scope)
		}
	})
	t.Run("TakesAnEndpoint", func(t *testing.T) {
		t.Setenv("AWS_ENDPOINT_URL_KMS", "http://127.0.0.1:1")
		if _, err := kmskey.Dial(t.Context(), kmskey.Options{Region: "us-east-2", Endpoint: server.URL}, alias); err != nil {
			t.Error(err)
		}
	})
	t.Run("RefusesWithoutARegion", func(t *testing.T) {
		_, err := kmskey.Dial(t.Context(), kmskey.Options{}, alias)
		classed(t, err, fault.Misconfigured, alias, "AWS_REGION")
	})
	t.Run("RefusesWithoutCredentials", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		_, err := kmskey.Dial(t.Context(), kmskey.Options{}, arn)
		classed(t, err, fault.Misconfigured, arn, "credentials")
	})
	t.Run("RefusesAProfileThatIsNotThere", func(t *testing.T) {
		t.Setenv("AWS_PROFILE", "absent")
		_, err := kmskey.Dial(t.Context(), kmskey.Options{}, arn)
		classed(t, err, fault.Misconfigured, "AWS_")
	})
}
