package services_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/kafkalog/kafkalogtest"
	"tidemark/localstack/services"
)

func TestKafka(t *testing.T) {
	t.Parallel()
	k, err := services.StartKafka(t.Context(), services.KafkaOptions{Brokers: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Stop)
	kafkalogtest.Exercise(t, kgo.SeedBrokers(k.Brokers()...))
}
