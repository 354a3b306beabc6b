package services

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/kafkalog"
)

// KafkaOptions says what a new cluster looks like.
type KafkaOptions struct {
	Brokers int              // 0: one
	Topics  map[string]int32 // topics and their numbers of partitions; CreateTopic adds others
}

// Kafka is a stand-in for a Kafka cluster in this process: it speaks the protocol on loopback and keeps the log in memory.
// It is no evidence of what a real broker does under failure: localstack/brokers has real ones.
type Kafka struct {
	*kafkalog.Log

	cluster *kfake.Cluster
}

// StartKafka starts a cluster that lives until Stop. No topic is made by writing to it.
func StartKafka(ctx context.Context, options KafkaOptions) (*Kafka, error) {
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(cmp.Or(options.Brokers, 1)),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": fmt.Sprint(kafkalog.LargestBatch)}),
	)
	if err != nil {
		return nil, fmt.Errorf("start the Kafka stand-in: %w", err)
	}
	log, err := kafkalog.Open(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		cluster.Close()
		return nil, fmt.Errorf("start the Kafka stand-in: %w", err)
	}
	k := &Kafka{Log: log, cluster: cluster}
	for _, topic := range slices.Sorted(maps.Keys(options.Topics)) {
		if err := k.CreateTopic(ctx, kafkalog.Topic{Name: topic, Partitions: options.Topics[topic]}); err != nil {
			k.Stop()
			return nil, err
		}
	}
	return k, nil
}

// Brokers are the addresses of the brokers.
func (k *Kafka) Brokers() []string { return k.cluster.ListenAddrs() }

// Stop ends the cluster; the log is gone.
func (k *Kafka) Stop() {
	k.Close()
	k.cluster.Close()
}
