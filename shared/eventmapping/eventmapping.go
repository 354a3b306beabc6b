// Package eventmapping asks AWS Lambda for the event source mappings of a function, and turns them off and on. It fulfils
// switchover.Mappings.
//
// It refuses to make, delete or reconfigure a mapping: an update says whether it is enabled and nothing else. It does not
// wait: the service takes minutes, and whoever asked looks again. Turning off what is off changes nothing. Mappings have no
// state and may be used by several goroutines.
package eventmapping

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"tidemark/shared/fault"
	"tidemark/shared/recovery/switchover"
)

// Client is what mappings need of lambda.Client.
type Client interface {
	lambda.ListEventSourceMappingsAPIClient
	GetEventSourceMapping(
		ctx context.Context, in *lambda.GetEventSourceMappingInput, options ...func(*lambda.Options),
	) (*lambda.GetEventSourceMappingOutput, error)
	UpdateEventSourceMapping(
		ctx context.Context, in *lambda.UpdateEventSourceMappingInput, options ...func(*lambda.Options),
	) (*lambda.UpdateEventSourceMappingOutput, error)
}

const callTimeout = 30 * time.Second // with the client's own retries: the client waits for an answer for ever

// Mappings are the event source mappings of one account in one region.
type Mappings struct{ client Client }

var _ switchover.Mappings = (*Mappings)(nil)

// New is the mappings that a client sees. The service is not asked.
func New(client Client) *Mappings { return &Mappings{client: client} }

// List gives every mapping of a function, by the function's name or ARN, in the order of their topics.
//
// Errors: fault.Misconfigured for a function that does not exist or may not be asked for, fault.Retryable when the service is
// away.
func (m *Mappings) List(ctx context.Context, function string) ([]switchover.Mapping, error) {
	var found []switchover.Mapping
	pages := lambda.NewListEventSourceMappingsPaginator(m.client, &lambda.ListEventSourceMappingsInput{FunctionName: &function})
	for pages.HasMorePages() {
		page, err := next(ctx, pages)
		if err != nil {
			return nil, classify("list the event source mappings of function "+function, err)
		}
		for i := range page.EventSourceMappings {
			found = append(found, told(&page.EventSourceMappings[i]))
		}
	}
	slices.SortFunc(found, func(a, b switchover.Mapping) int {
		if c := slices.Compare(a.Topics, b.Topics); c != 0 {
			return c
		}
		return strings.Compare(a.UUID, b.UUID)
	})
	return found, nil
}

func next(ctx context.Context, pages *lambda.ListEventSourceMappingsPaginator) (*lambda.ListEventSourceMappingsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return pages.NextPage(ctx)
}

// Get gives a mapping as it is now. Errors: as List's; fault.Misconfigured when there is none.
func (m *Mappings) Get(ctx context.Context, uuid string) (switchover.Mapping, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := m.client.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &uuid})
	if err != nil {
		return switchover.Mapping{}, classify("look at event source mapping "+uuid, err)
	}
	return told(&types.EventSourceMappingConfiguration{
		UUID: out.UUID, FunctionArn: out.FunctionArn, EventSourceArn: out.EventSourceArn, Topics: out.Topics,
		AmazonManagedKafkaEventSourceConfig: out.AmazonManagedKafkaEventSourceConfig,
		SelfManagedEventSource:              out.SelfManagedEventSource,
		SelfManagedKafkaEventSourceConfig:   out.SelfManagedKafkaEventSourceConfig,
		StartingPosition:                    out.StartingPosition, State: out.State, StateTransitionReason: out.StateTransitionReason,
		LastProcessingResult: out.LastProcessingResult,
	}), nil
}

// Disable asks the service to stop polling. Errors: as Get's; fault.Retryable while the mapping is being changed.
func (m *Mappings) Disable(ctx context.Context, uuid string) error {
	return m.update(ctx, uuid, "disable event source mapping "+uuid, false)
}

// Enable asks the service to poll. Errors: as Disable's.
func (m *Mappings) Enable(ctx context.Context, uuid string) error {
	return m.update(ctx, uuid, "enable event source mapping "+uuid, true)
}

func (m *Mappings) update(ctx context.Context, uuid, doing string, enabled bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := m.client.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: &uuid, Enabled: &enabled})
	if err != nil {
		return classify(doing, err)
	}
	return nil
}

// told is a mapping in the words of a switch.
func told(c *types.EventSourceMappingConfiguration) switchover.Mapping {
	m := switchover.Mapping{
		UUID: aws.ToString(c.UUID), Function: aws.ToString(c.FunctionArn), Source: aws.ToString(c.EventSourceArn), Topics: c.Topics,
		Starts: string(c.StartingPosition), State: switchover.State(aws.ToString(c.State)),
		Reason: aws.ToString(c.StateTransitionReason), Last: aws.ToString(c.LastProcessingResult),
	}
	if own := c.SelfManagedEventSource; own != nil && m.Source == "" {
		m.Source = strings.Join(own.Endpoints[string(types.EndPointTypeKafkaBootstrapServers)], ",")
	}
	if managed := c.AmazonManagedKafkaEventSourceConfig; managed != nil {
		m.Group = aws.ToString(managed.ConsumerGroupId)
	}
	if own := c.SelfManagedKafkaEventSourceConfig; own != nil && m.Group == "" {
		m.Group = aws.ToString(own.ConsumerGroupId)
	}
	return m
}

// classify gives an error of the client its class and a hint. Every call may be made again, so what nobody answered is
// Retryable.
func classify(doing string, err error) error {
	if ended := errors.Is(err, context.Canceled); ended {
		return fault.New(fault.Retryable, "%s: %w", doing, err)
	}
	return service().Classify(doing, err)
}
