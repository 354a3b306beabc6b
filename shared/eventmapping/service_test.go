package eventmapping_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"tidemark/shared/eventmapping"
)

const (
	function = "arn:aws:lambda:eu-central-1:123456789012:function:shop-apply"
	path     = "/2015-03-31/event-source-mappings"
)

// service speaks as Lambda does about mappings, one a page.
type service struct {
	t *testing.T

	mu       sync.Mutex
	mappings []map[string]any
	asked    []string // method, path, query and body
	refuse   string   // the code of every answer, when set
	status   int
}

func newService(t *testing.T, mappings ...map[string]any) *service {
	t.Helper()
	return &service{t: t, mappings: mappings, status: http.StatusBadRequest}
}

// mappings are what a process sees that asks once, without repetitions.
func (s *service) open() *eventmapping.Mappings {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	return openAt(server.URL)
}

func openAt(endpoint string) *eventmapping.Mappings {
	return eventmapping.New(lambda.New(lambda.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(endpoint), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""),
	}))
}

// ServeHTTP answers one call.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in map[string]any
	if r.Method == http.MethodPut {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			s.t.Errorf("a request that does not parse: %v", err)
		}
	}
	body, err := json.Marshal(in)
	if err != nil {
		s.t.Error(err)
	}
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+strings.TrimSuffix(string(body), "null")))
	answer, code, status := s.answer(r, in)
	w.Header().Set("Content-Type", "application/json")
	if code != "" {
		w.Header().Set("X-Amzn-Errortype", code+":http://internal.amazon.com/coral/com.amazonaws.lambda/")
		w.WriteHeader(status)
		answer = map[string]any{"Type": "User", "Message": "no"}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

func (s *service) answer(r *http.Request, in map[string]any) (answer map[string]any, code string, status int) {
	if s.refuse != "" {
		return nil, s.refuse, s.status
	}
	uuid, one := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), path+"/")
	if !one {
		return s.page(r.URL.Query().Get("FunctionName"), r.URL.Query().Get("Marker"))
	}
	for _, m := range s.mappings {
		if m["UUID"] != uuid {
			continue
		}
		if r.Method == http.MethodPut {
			if m["State"] == "Updating" {
				return nil, "ResourceInUseException", http.StatusConflict
			}
			m["State"] = "Disabling"
			if in["Enabled"] == true {
				m["State"] = "Enabling"
			}
		}
		return m, "", 0
	}
	return nil, "ResourceNotFoundException", http.StatusNotFound
}

func (s *service) page(name, marker string) (answer map[string]any, code string, status int) {
	if name != function && name != "shop-apply" {
		return nil, "ResourceNotFoundException", http.StatusNotFound
	}
	at, _ := strconv.Atoi(marker)
	answer = map[string]any{"EventSourceMappings": s.mappings[min(at, len(s.mappings)):min(at+1, len(s.mappings))]}
	if at+1 < len(s.mappings) {
		answer["NextMarker"] = strconv.Itoa(at + 1)
	}
	return answer, "", 0
}
