package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/recovery/inspection"
)

// Topics describes topics; one that does not exist is not in the answer. A topic that may not be seen is an error.
func (l *Log) Topics(ctx context.Context, names []string) (map[string]inspection.Topic, error) {
	found := make(map[string]inspection.Topic, len(names))
	if len(names) == 0 {
		return found, nil
	}
	seen, err := l.metadata(ctx, names)
	if err != nil {
		return nil, err
	}
	request := kmsg.NewPtrDescribeConfigsRequest()
	for name, topic := range seen {
		found[name] = inspection.Topic{ID: uuid(topic.TopicID), Partitions: int32(len(topic.Partitions))} //nolint:gosec // numbered by int32
		resource := kmsg.NewDescribeConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, name
		resource.ConfigNames = []string{cleanupPolicy, deleteRetention, minCompactionLag}
		request.Resources = append(request.Resources, resource)
	}
	if len(found) == 0 {
		return found, nil
	}
	err = l.ask(ctx, "describe the settings of topics", func(ctx context.Context) error {
		answer, err := request.RequestWith(ctx, l.client)
		if err != nil {
			return err
		}
		return configure(found, answer.Resources)
	})
	return found, err
}

// metadata asks what the cluster knows of topics. One that does not exist is not in the answer.
func (s session) metadata(ctx context.Context, names []string) (map[string]kmsg.MetadataResponseTopic, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = false
	for _, name := range names {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		request.Topics = append(request.Topics, topic)
	}
	seen := make(map[string]kmsg.MetadataResponseTopic, len(names))
	err := s.ask(ctx, "describe topics", func(ctx context.Context) error {
		answer, err := request.RequestWith(ctx, s.client)
		if err != nil {
			return err
		}
		for _, topic := range answer.Topics {
			if topic.Topic == nil || topic.ErrorCode == kerr.UnknownTopicOrPartition.Code {
				continue
			}
			if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
				return fmt.Errorf("topic %s: %w", *topic.Topic, err)
			}
			if topic.TopicID == [16]byte{} {
				return fault.New(fault.Misconfigured, "topic %s has no id: the brokers are older than Kafka 3.1", *topic.Topic)
			}
			seen[*topic.Topic] = topic
		}
		return nil
	})
	return seen, err
}

// The settings that say what may go from a topic.
const (
	cleanupPolicy    = "cleanup.policy"
	deleteRetention  = "delete.retention.ms"
	minCompactionLag = "min.compaction.lag.ms"
)

// configure fills in what the topics are set to. One that was deleted in between goes.
func configure(topics map[string]inspection.Topic, resources []kmsg.DescribeConfigsResponseResource) error {
	left := len(topics)
	for _, r := range resources {
		topic, known := topics[r.ResourceName]
		switch err := kerr.ErrorForCode(r.ErrorCode); {
		case !known:
			continue
		case r.ErrorCode == kerr.UnknownTopicOrPartition.Code:
			delete(topics, r.ResourceName)
			left--
			continue
		case err != nil:
			return fmt.Errorf("topic %s: %w", r.ResourceName, err)
		}
		if err := settle(&topic, r.Configs); err != nil {
			return fmt.Errorf("topic %s: %w", r.ResourceName, err)
		}
		topics[r.ResourceName] = topic
		left--
	}
	if left > 0 {
		return fault.New(fault.Retryable, "the answer leaves out %d topics", left)
	}
	return nil
}

// settle takes what the brokers say. A time that they do not know is 0, which promises nothing; a policy that they do not
// say may be any.
func settle(topic *inspection.Topic, configs []kmsg.DescribeConfigsResponseResourceConfig) (err error) {
	values := map[string]string{}
	for _, config := range configs {
		if config.Value != nil {
			values[config.Name] = *config.Value
		}
	}
	policy, said := values[cleanupPolicy]
	if !said {
		return fault.New(fault.Misconfigured, "the brokers do not say what %s is", cleanupPolicy)
	}
	for part := range strings.SplitSeq(policy, ",") {
		switch strings.TrimSpace(part) {
		case "compact":
			topic.Compacted = true
		case "delete":
			topic.Deleted = true
		}
	}
	if topic.DeleteRetention, err = milliseconds(values, deleteRetention); err != nil {
		return err
	}
	topic.MinCompactionLag, err = milliseconds(values, minCompactionLag)
	return err
}

// milliseconds reads a setting. Kafka takes more of them than a duration holds, as a way to say "for ever".
func milliseconds(values map[string]string, name string) (time.Duration, error) {
	const longest = time.Duration(1<<63 - 1)
	if values[name] == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(values[name], 10, 64)
	if err != nil || number < 0 {
		return 0, fault.New(fault.Misconfigured, "the brokers say that %s is %q", name, values[name])
	}
	if number > longest.Milliseconds() {
		return longest, nil
	}
	return time.Duration(number) * time.Millisecond, nil
}

// uuid is an id in the form of UUIDs, as the ledger keeps it.
func uuid(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// names lists the topics of partitions, each once.
func names(cursors []*cursor) []string {
	var topics []string
	for _, c := range cursors {
		topics = append(topics, c.partition.Topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}
