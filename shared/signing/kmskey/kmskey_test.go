package kmskey_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/signing"
	"tidemark/shared/signing/kmskey"
)

const (
	arn   = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	alias = "alias/backup"
)

// question is what the service was asked, beside the operation's name.
type question struct {
	KeyId            string
	Message          []byte
	MessageType      string
	SigningAlgorithm string
}

// service answers as KMS does, with a key of its own.
type service struct {
	t       *testing.T
	private crypto.Signer
	spec    string
	usage   string

	mu     sync.Mutex
	asked  []question
	answer func(http.ResponseWriter) bool // says whether it has answered in the service's place
}

func newService(t *testing.T, private crypto.Signer, spec string) (*service, *kms.Client) {
	t.Helper()
	s := &service{t: t, private: private, spec: spec, usage: "SIGN_VERIFY"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, client(server.URL)
}

func client(endpoint string) *kms.Client {
	return kms.NewFromConfig(aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(endpoint), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "hunter2", ""),
	})
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q question
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		s.t.Errorf("read the question: %v", err)
	}
	s.asked = append(s.asked, q)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if s.answer != nil && s.answer(w) {
		return
	}
	var reply any
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "GetPublicKey":
		der, err := x509.MarshalPKIXPublicKey(s.private.Public())
		if err != nil {
			s.t.Errorf("write the key: %v", err)
		}
		reply = map[string]any{"KeyId": arn, "KeySpec": s.spec, "KeyUsage": s.usage, "PublicKey": der}
	case "Sign":
		reply = map[string]any{"KeyId": arn, "Signature": s.sign(q), "SigningAlgorithm": q.SigningAlgorithm}
	default:
		s.t.Errorf("asked for %s", operation)
	}
	if err := json.NewEncoder(w).Encode(reply); err != nil {
		s.t.Errorf("write the answer: %v", err)
	}
}

func (s *service) sign(q question) []byte {
	hash := crypto.Hash(0)
	if q.MessageType == "DIGEST" {
		hash = crypto.SHA256
	}
	signature, err := s.private.Sign(rand.Reader, q.Message, hash)
	if err != nil {
		s.t.Errorf("sign: %v", err)
	}
	return signature
}

func (s *service) set(answer func(http.ResponseWriter) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func edwards() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func nist(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func open(t *testing.T, client kmskey.Client) *kmskey.Key {
	t.Helper()
	key, err := kmskey.Open(t.Context(), client, alias)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func classed(t *testing.T, err error, class fault.Class, says ...string) {
	t.Helper()
	if fault.ClassOf(err) != class {
		t.Errorf("got %v of class %v, want %v", err, fault.ClassOf(err), class)
		return
	}
	line := fault.Line(err)
	for _, part := range says {
		if !strings.Contains(line, part) {
			t.Errorf("got %s, want it to say %q", line, part)
		}
	}
	if strings.Contains(line, "hunter2") {
		t.Errorf("the secret is in %s", line)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	t.Run("SignsWhatItsPublicHalfVerifiesWithoutTheService", func(t *testing.T) {
		t.Parallel()
		for spec, private := range map[string]crypto.Signer{
			"ECC_NIST_EDWARDS25519": edwards(), "ECC_NIST_P256": nist(t, elliptic.P256()),
		} {
			_, client := newService(t, private, spec)
			key := open(t, client)
			encoded, err := signing.Seal(t.Context(), "type", []byte("payload"), key)
			if err != nil {
				t.Fatal(err)
			}
			opened, err := signing.Keyring{{Key: key.Key()}}.Open("type", encoded)
			if err != nil || string(opened.Payload) != "payload" || key.ARN() != arn {
				t.Errorf("%s: got %s, %v, %s", spec, opened.Payload, err, key.ARN())
			}
		}
	})
	t.Run("AsksForTheKeyThatAnAliasMeantWhenItWasOpened", func(t *testing.T) {
		t.Parallel()
		message, sum := []byte("message"), sha256.Sum256([]byte("message"))
		for spec, c := range map[string]struct {
			private crypto.Signer
			want    question
		}{
			"ECC_NIST_EDWARDS25519": {edwards(), question{arn, message, "RAW", "ED25519_SHA_512"}},
			"ECC_NIST_P256":         {nist(t, elliptic.P256()), question{arn, sum[:], "DIGEST", "ECDSA_SHA_256"}},
		} {
			service, client := newService(t, c.private, spec)
			if _, err := open(t, client).Sign(t.Context(), message); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]question{{KeyId: alias}, c.want}, service.asked); diff != "" {
				t.Errorf("%s: %s", spec, diff)
			}
		}
	})
	t.Run("RefusesASignatureByAnotherKey", func(t *testing.T) {
		t.Parallel()
		for spec, keys := range map[string][2]crypto.Signer{
			"ECC_NIST_P256":         {nist(t, elliptic.P256()), nist(t, elliptic.P256())},
			"ECC_NIST_EDWARDS25519": {edwards(), ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", 32)))},
		} {
			service, client := newService(t, keys[0], spec)
			key := open(t, client)
			service.private = keys[1]
			signature, err := key.Sign(t.Context(), []byte("message"))
			classed(t, err, fault.Corrupt, arn, "not by the key that was opened", "keys show")
			if signature != nil {
				t.Errorf("%s: a signature beside the error", spec)
			}
		}
	})
	t.Run("RefusesALargeMessageByItself", func(t *testing.T) {
		t.Parallel()
		service, client := newService(t, nist(t, elliptic.P256()), "ECC_NIST_P256")
		key := open(t, client)
		if _, err := key.Sign(t.Context(), make([]byte, signing.MaxMessage)); err != nil {
			t.Error(err)
		}
		_, err := key.Sign(t.Context(), make([]byte, signing.MaxMessage+1))
		classed(t, err, fault.Bug, "4097")
		if asked := len(service.asked); asked != 2 {
			t.Errorf("the service was asked %d times, want 2", asked)
		}
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()
	t.Run("RefusesKeysThatCannotSignForTidemark", func(t *testing.T) {
		t.Parallel()
		large, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			private     crypto.Signer
			spec, usage string
			class       fault.Class
			says        string
		}{
			{large, "RSA_2048", "SIGN_VERIFY", fault.Misconfigured, "its kind is RSA_2048, want ECC_NIST_EDWARDS25519 or ECC_NIST_P256"},
			{nist(t, elliptic.P384()), "ECC_NIST_P384", "SIGN_VERIFY", fault.Misconfigured, "create-key"},
			{nist(t, elliptic.P256()), "ECC_NIST_P256", "KEY_AGREEMENT", fault.Misconfigured, "its usage is KEY_AGREEMENT"},
			{nist(t, elliptic.P256()), "ECC_NIST_P256", "", fault.Misconfigured, "want SIGN_VERIFY"},
			{nist(t, elliptic.P256()), "ECC_NIST_EDWARDS25519", "SIGN_VERIFY", fault.Corrupt, "another kind"},
			{edwards(), "ECC_NIST_P256", "SIGN_VERIFY", fault.Corrupt, "another kind"},
			{nist(t, elliptic.P384()), "ECC_NIST_P256", "SIGN_VERIFY", fault.Corrupt, "public key"},
		} {
			service, client := newService(t, c.private, c.spec)
			service.usage = c.usage
			key, err := kmskey.Open(t.Context(), client, alias)
			classed(t, err, c.class, alias, c.says)
			if key != nil {
				t.Errorf("%s: a key beside the error", c.spec)
			}
		}
	})
	t.Run("RefusesAnAnswerWithoutAKey", func(t *testing.T) {
		t.Parallel()
		service, client := newService(t, edwards(), "")
		service.set(func(w http.ResponseWriter) bool {
			_, err := fmt.Fprint(w, `{"KeySpec":"ECC_NIST_P256","KeyUsage":"SIGN_VERIFY"}`)
			return err == nil
		})
		_, err := kmskey.Open(t.Context(), client, alias)
		classed(t, err, fault.Corrupt, "public key")
	})
	t.Run("RefusesNoName", func(t *testing.T) {
		t.Parallel()
		_, err := kmskey.Open(t.Context(), nil, "")
		classed(t, err, fault.Misconfigured, "ARN")
	})
}

// failing fails every call.
type failing struct{ err error }

func (f failing) GetPublicKey(context.Context, *kms.GetPublicKeyInput, ...func(*kms.Options)) (*kms.GetPublicKeyOutput, error) {
	return nil, f.err
}

func (f failing) Sign(context.Context, *kms.SignInput, ...func(*kms.Options)) (*kms.SignOutput, error) {
	return nil, f.err
}

// TestErrors is the table of classes, row by row, as the service puts them on the wire.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status int
		code   string
		class  fault.Class
		says   string
	}{
		{400, "ThrottlingException", fault.Retryable, "later"},
		{400, "LimitExceededException", fault.Retryable, "later"},
		{429, "SomethingNew", fault.Retryable, "later"},
		{500, "KMSInternalException", fault.Retryable, "later"},
		{500, "InternalFailure", fault.Retryable, "later"},
		{500, "SomethingNew", fault.Retryable, "later"},
		{500, "KeyUnavailableException", fault.Retryable, "later"},
		{503, "DependencyTimeoutException", fault.Retryable, "later"},
		{503, "", fault.Retryable, "later"},
		{502, "", fault.Retryable, "later"},
		{400, "ExpiredTokenException", fault.Retryable, "log in again"},
		{400, "AccessDeniedException", fault.Misconfigured, "kms:Sign"},
		{400, "NotFoundException", fault.Misconfigured, "a key that exists"},
		{400, "InvalidArnException", fault.Misconfigured, "ARN"},
		{400, "ValidationException", fault.Misconfigured, "ARN"},
		{400, "DisabledException", fault.Misconfigured, "enable the key"},
		{400, "KMSInvalidStateException", fault.Misconfigured, "cancel its deletion"},
		{400, "InvalidKeyUsageException", fault.Misconfigured, "not for signing"},
		{400, "UnsupportedOperationException", fault.Misconfigured, "not for signing"},
		{400, "UnrecognizedClientException", fault.Misconfigured, "credentials"},
		{403, "InvalidSignatureException", fault.Misconfigured, "credentials"},
		{400, "IncompleteSignature", fault.Misconfigured, "credentials"},
		{400, "SomethingNew", fault.Unclassified, "SomethingNew"},
		{418, "", fault.Unclassified, ""},
	} {
		t.Run(fmt.Sprintf("%d%s", row.status, row.code), func(t *testing.T) {
			t.Parallel()
			service, client := newService(t, edwards(), "ECC_NIST_EDWARDS25519")
			key := open(t, client)
			service.set(func(w http.ResponseWriter) bool {
				w.WriteHeader(row.status)
				if row.code != "" {
					_, err := fmt.Fprintf(w, `{"__type":%q,"message":"why"}`, row.code)
					return err == nil
				}
				return true
			})
			_, err := key.Sign(t.Context(), []byte("message"))
			classed(t, err, row.class, "sign with KMS key "+arn, row.says)
			_, err = kmskey.Open(t.Context(), client, alias)
			classed(t, err, row.class, "open KMS key "+alias, row.says)
		})
	}
	t.Run("RetriesWhatTheServiceDidNotSay", func(t *testing.T) {
		t.Parallel()
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		_, err := kmskey.Open(t.Context(), client(gone.URL), alias)
		classed(t, err, fault.Retryable, "network")
		for _, cause := range []error{context.DeadlineExceeded, context.Canceled, errors.New("new")} {
			_, err := kmskey.Open(t.Context(), failing{cause}, alias)
			classed(t, err, fault.Retryable)
			if !errors.Is(err, cause) {
				t.Errorf("got %v, want it to wrap %v", err, cause)
			}
		}
	})
	t.Run("RetriesWhenTheWaitEnds", func(t *testing.T) {
		t.Parallel()
		service, client := newService(t, edwards(), "ECC_NIST_EDWARDS25519")
		key := open(t, client)
		ctx, cancel := context.WithCancel(t.Context())
		service.set(func(http.ResponseWriter) bool {
			cancel() // while the answer is on its way
			return false
		})
		for range 2 { // the second time before anything is asked
			_, err := key.Sign(ctx, []byte("message"))
			classed(t, err, fault.Retryable)
		}
	})
	t.Run("RetriesAnAnswerThatBreaksOff", func(t *testing.T) {
		t.Parallel()
		service, client := newService(t, edwards(), "ECC_NIST_EDWARDS25519")
		key := open(t, client)
		service.set(func(w http.ResponseWriter) bool {
			w.Header().Set("Content-Length", "500")
			_, err := fmt.Fprint(w, `{"KeyId":"x","Signature":"`)
			return err == nil
		})
		_, err := key.Sign(t.Context(), []byte("message"))
		classed(t, err, fault.Retryable)
	})
}
