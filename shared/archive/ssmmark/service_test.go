package ssmmark_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"tidemark/shared/archive/ssmmark"
)

const name = "/tidemark/shop/newest"

// service speaks as Systems Manager does about one parameter, which keeps its versions.
type service struct {
	t *testing.T

	mu       sync.Mutex
	values   []string // version n is values[n-1]
	puts     int
	refuse   string // the code of every answer, when set
	status   int
	onPut    func() // before a put takes effect, without the lock
	busy     int    // so many puts are refused as too many at once
	lastType string
}

func newService(t *testing.T, values ...string) *service {
	t.Helper()
	return &service{t: t, values: values, status: http.StatusBadRequest}
}

// mark is the parameter as a process of its own would see it.
func (s *service) mark() *ssmmark.Mark {
	return ssmmark.New(s.client(), name)
}

// client asks the service once, without repetitions.
func (s *service) client() *ssm.Client {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	return clientOf(server.URL)
}

func clientOf(endpoint string) *ssm.Client {
	return ssm.New(ssm.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(endpoint), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""),
	})
}

// forgetful takes every write and keeps none.
type forgetful struct{ *ssm.Client }

func (forgetful) PutParameter(context.Context, *ssm.PutParameterInput, ...func(*ssm.Options)) (*ssm.PutParameterOutput, error) {
	return &ssm.PutParameterOutput{Version: 1}, nil
}

type request struct {
	Name           string
	Value          string
	Type           string
	Overwrite      bool
	WithDecryption bool
}

// ServeHTTP answers one call.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.t.Errorf("a request that does not parse: %v", err)
	}
	isPut := strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutParameter")
	if isPut && s.onPut != nil {
		s.onPut()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, code := s.get(in)
	if isPut {
		answer, code = s.put(in)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if code != "" {
		w.WriteHeader(s.status)
		answer = map[string]any{"__type": code, "message": "no"}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

func (s *service) get(in request) (answer map[string]any, code string) {
	plain, selector, _ := strings.Cut(in.Name, ":")
	version := len(s.values)
	if selector != "" {
		version, _ = strconv.Atoi(selector)
	}
	switch {
	case s.refuse != "":
		return nil, s.refuse
	case plain != name || len(s.values) == 0:
		return nil, "ParameterNotFound"
	case version < 1 || version > len(s.values) || s.values[version-1] == "gone":
		return nil, "ParameterVersionNotFound"
	}
	return map[string]any{
		"Parameter": map[string]any{"Name": name, "Type": "String", "Value": s.values[version-1], "Version": version},
	}, ""
}

func (s *service) put(in request) (answer map[string]any, code string) {
	switch {
	case s.refuse != "":
		return nil, s.refuse
	case in.Name != name:
		return nil, "ValidationException"
	case s.busy > 0:
		s.busy--
		return nil, "TooManyUpdates"
	case len(s.values) > 0 && !in.Overwrite:
		return nil, "ParameterAlreadyExists"
	}
	s.values, s.puts, s.lastType = append(s.values, in.Value), s.puts+1, in.Type
	return map[string]any{"Version": len(s.values), "Tier": "Standard"}, ""
}
