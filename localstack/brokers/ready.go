package brokers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var errDied = errors.New("a broker ended while starting")

const (
	readyPoll    = 30 * time.Millisecond
	readyRequest = 2 * time.Second // bounds one question to a broker that is not up yet
)

// awaitReady asks each of the brokers itself until it has all that are up in its cluster.
func awaitReady(ctx context.Context, brokers, up []*node) error {
	for _, n := range brokers {
		if err := n.awaitReady(ctx, up); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) awaitReady(ctx context.Context, up []*node) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(n.address))
	if err != nil {
		return fmt.Errorf("make a Kafka client: %w", err)
	}
	defer client.Close()
	for {
		known, err := members(ctx, client.SeedBrokers()[0])
		switch {
		case err == nil && known == len(up):
			return nil
		case err == nil:
			err = fmt.Errorf("it knows %d brokers of %d", known, len(up))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for broker %d: %w: %s", n.id, err, n.logged())
		}
		for _, other := range up {
			if other.process.EndsWithin(readyPoll / time.Duration(len(up))) {
				return fmt.Errorf("broker %d: %w: %s", other.id, errDied, other.logged())
			}
		}
	}
}

// members asks a broker how many there are in its cluster.
func members(ctx context.Context, broker *kgo.Broker) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, readyRequest)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{} // none; nil would be all
	answer, err := broker.Request(ctx, request)
	if err != nil {
		return 0, err
	}
	response, ok := answer.(*kmsg.MetadataResponse)
	if !ok {
		return 0, errors.New("the answer to another question")
	}
	return len(response.Brokers), nil
}

// AwaitReplicas returns when every partition of every topic has all its replicas in step: after a Restart, when the broker
// has fetched what it missed.
func (c *Cluster) AwaitReplicas(ctx context.Context) error {
	client, err := kgo.NewClient(c.client...)
	if err != nil {
		return fmt.Errorf("make a Kafka client: %w", err)
	}
	defer client.Close()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		behind, err := lagging(ctx, client)
		if err == nil && behind == "" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for the replicas of %q: %w", behind, ctx.Err()), err)
		}
	}
}

// lagging names a topic with a replica that is not in step, if there is one.
func lagging(ctx context.Context, client *kgo.Client) (topic string, err error) {
	answer, err := client.Request(ctx, kmsg.NewPtrMetadataRequest())
	if err != nil {
		return "", err
	}
	response, ok := answer.(*kmsg.MetadataResponse)
	if !ok {
		return "", errors.New("the answer to another question")
	}
	for _, t := range response.Topics {
		for _, p := range t.Partitions {
			if len(p.ISR) < len(p.Replicas) && t.Topic != nil {
				return *t.Topic, nil
			}
		}
	}
	return "", nil
}
