package eventmapping_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/eventmapping"
	"tidemark/shared/fault"
	"tidemark/shared/recovery/switchover"
)

func orders() map[string]any {
	return map[string]any{
		"UUID": "u1", "FunctionArn": function, "EventSourceArn": "arn:cluster", "Topics": []string{"orders"}, "State": "Enabled",
		"StartingPosition": "TRIM_HORIZON", "StateTransitionReason": "USER_INITIATED",
		"LastProcessingResult":                "PROBLEM: Connection error.",
		"AmazonManagedKafkaEventSourceConfig": map[string]any{"ConsumerGroupId": "shop-shop-orders"},
	}
}

func own() map[string]any {
	return map[string]any{
		"UUID": "u2", "FunctionArn": function, "Topics": []string{"lines"}, "State": "Disabled", "StartingPosition": "LATEST",
		"SelfManagedEventSource":            map[string]any{"Endpoints": map[string]any{"KAFKA_BOOTSTRAP_SERVERS": []string{"a:1", "b:2"}}},
		"SelfManagedKafkaEventSourceConfig": map[string]any{"ConsumerGroupId": "own"},
	}
}

func queue() map[string]any {
	return map[string]any{"UUID": "u3", "FunctionArn": function, "EventSourceArn": "arn:queue", "State": "Enabled"}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := newService(t, orders(), own(), queue())
	want := []switchover.Mapping{
		{UUID: "u3", Function: function, Source: "arn:queue", State: switchover.Enabled},
		{
			UUID: "u2", Function: function, Source: "a:1,b:2", Topics: []string{"lines"}, Group: "own", Starts: "LATEST",
			State: switchover.Disabled,
		},
		{
			UUID: "u1", Function: function, Source: "arn:cluster", Topics: []string{"orders"}, Group: "shop-shop-orders",
			Starts: "TRIM_HORIZON", State: switchover.Enabled, Reason: "USER_INITIATED", Last: "PROBLEM: Connection error.",
		},
	}
	for _, name := range []string{"shop-apply", function} {
		got, err := s.open().List(t.Context(), name)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if pages := 2 * 3; len(s.asked) != pages {
		t.Errorf("asked %q, want %d pages", s.asked, pages)
	}
	if got, err := newService(t).open().List(t.Context(), "shop-apply"); err != nil || len(got) > 0 {
		t.Errorf("a function without mappings: got %v, %v", got, err)
	}
}

// TestUpdate says whether the mapping is enabled, and nothing else: what is left out stays as it is.
func TestUpdate(t *testing.T) {
	t.Parallel()
	s := newService(t, orders())
	m := s.open()
	expect := func(want switchover.State) {
		t.Helper()
		got, err := m.Get(t.Context(), "u1")
		if err != nil || got.State != want || got.Group != "shop-shop-orders" || got.Last == "" {
			t.Errorf("got %+v, %v, want %s", got, err, want)
		}
	}
	expect(switchover.Enabled)
	if err := m.Disable(t.Context(), "u1"); err != nil {
		t.Error(err)
	}
	expect(switchover.Disabling)
	if err := m.Enable(t.Context(), "u1"); err != nil {
		t.Error(err)
	}
	expect(switchover.Enabling)
	const one = path + "/u1"
	want := []string{
		"GET " + one, "PUT " + one + ` {"Enabled":false}`, "GET " + one, "PUT " + one + ` {"Enabled":true}`, "GET " + one,
	}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestClasses is the table of what the service answers, and of what it means.
func TestClasses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		class  fault.Class
		hint   string
	}{
		"ResourceInUseException":          {http.StatusConflict, fault.Retryable, "being created, updated or deleted"},
		"ResourceConflictException":       {http.StatusConflict, fault.Retryable, "being created, updated or deleted"},
		"ResourceNotReadyException":       {http.StatusBadGateway, fault.Retryable, "being created, updated or deleted"},
		"PreconditionFailedException":     {http.StatusPreconditionFailed, fault.Retryable, "being created, updated or deleted"},
		"TooManyRequestsException":        {http.StatusTooManyRequests, fault.Retryable, "try again later"},
		"ServiceException":                {http.StatusInternalServerError, fault.Retryable, "try again later"},
		"NobodyKnowsThisException":        {http.StatusServiceUnavailable, fault.Retryable, "try again later"},
		"NobodyKnowsThatException":        {http.StatusBadRequest, fault.Unclassified, ""},
		"AccessDeniedException":           {http.StatusForbidden, fault.Misconfigured, "lambda:UpdateEventSourceMapping"},
		"AccessDenied":                    {http.StatusForbidden, fault.Misconfigured, "lambda:ListEventSourceMappings"},
		"ResourceNotFoundException":       {http.StatusNotFound, fault.Misconfigured, "check the name"},
		"InvalidParameterValueException":  {http.StatusBadRequest, fault.Misconfigured, "check the name"},
		"ValidationException":             {http.StatusBadRequest, fault.Misconfigured, "check the name"},
		"UnrecognizedClientException":     {http.StatusForbidden, fault.Misconfigured, "credentials"},
		"ExpiredTokenException":           {http.StatusForbidden, fault.Retryable, "credentials"},
		"CodeSigningConfigNotFoundNoSuch": {http.StatusTooManyRequests, fault.Retryable, "try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, orders())
			s.refuse, s.status = name, c.status
			m := s.open()
			_, listed := m.List(t.Context(), "shop-apply")
			_, got := m.Get(t.Context(), "u1")
			for _, err := range []error{listed, got, m.Disable(t.Context(), "u1"), m.Enable(t.Context(), "u1")} {
				if err == nil || fault.ClassOf(err) != c.class || !strings.Contains(fault.HintOf(err), c.hint) {
					t.Errorf("got %v of class %s and hint %q", err, fault.ClassOf(err), fault.HintOf(err))
				}
			}
		})
	}
}

func TestClasses_OfWhatNobodyAnswered(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	gone := openAt(server.URL)
	server.Close()
	if err := gone.Disable(t.Context(), "u1"); !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v of class %s", err, fault.ClassOf(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newService(t, orders()).open().Get(ctx, "u1"); !fault.Is(err, fault.Retryable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v of class %s", err, fault.ClassOf(err))
	}
	s := newService(t, orders())
	s.mappings[0]["State"] = "Updating"
	if err := s.open().Enable(t.Context(), "u1"); !fault.Is(err, fault.Retryable) {
		t.Errorf("of a mapping that is updated: got %v of class %s", err, fault.ClassOf(err))
	}
}

// TestDial reads the environment, so nothing runs beside it.
func TestDial(t *testing.T) {
	none := t.TempDir() + "/none"
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "",
		"AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
	} {
		t.Setenv(name, value)
	}
	server := httptest.NewServer(newService(t, orders()))
	defer server.Close()
	options := eventmapping.Options{Endpoint: server.URL}
	if _, err := eventmapping.Dial(t.Context(), options); !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "no region") {
		t.Errorf("without a region: %v", err)
	}
	options.Region = "eu-central-1"
	if _, err := eventmapping.Dial(t.Context(), options); !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
		t.Errorf("without credentials: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
	m, err := eventmapping.Dial(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.List(t.Context(), "shop-apply"); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}
