package brokers

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidemark/localstack/authority"
	"tidemark/localstack/child"
	"tidemark/localstack/kafkalog"
)

// listener is one of the doors of a broker.
type listener int

const (
	listenerPlain listener = iota
	listenerController
	listenerSecure
	listeners // how many there are
)

// plan is what the brokers of a cluster know of each other.
type plan struct {
	id       string // of the cluster
	ports    [][listeners]int
	settings map[string]string
	password string // of the secure listener's user; empty without that listener
	keys     authority.Keys
}

func newPlan(ctx context.Context, options Options, count int) (*plan, error) {
	p := &plan{id: clusterID(), settings: options.Settings}
	free, err := child.FreePorts(ctx, count*int(listeners))
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(free, int(listeners)) {
		p.ports = append(p.ports, [listeners]int(chunk))
	}
	if options.Secure {
		p.password = rand.Text()
		p.keys, err = authority.New()
	}
	return p, err
}

// clusterID is a random id as Kafka writes them. One that begins with a hyphen would be taken for an option.
func clusterID() string {
	for {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		if text := base64.RawURLEncoding.EncodeToString(id[:]); text[0] != '-' {
			return text
		}
	}
}

func address(port int) string { return net.JoinHostPort(child.Loopback, strconv.Itoa(port)) }

// addresses are a listener of all brokers.
func (p *plan) addresses(of listener) []string {
	found := make([]string, 0, len(p.ports))
	for _, ports := range p.ports {
		found = append(found, address(ports[of]))
	}
	return found
}

// properties is a broker's configuration.
func (p *plan) properties(id int, dir string) string {
	settings := p.common()
	own := p.ports[id-1]
	doors := "PLAIN://" + address(own[listenerPlain])
	if p.password != "" {
		doors += ",SECURE://" + address(own[listenerSecure])
		maps.Copy(settings, map[string]string{
			"sasl.enabled.mechanisms": strings.Join([]string{string(SHA256), string(SHA512)}, ","),
			"ssl.keystore.type":       "PEM", "ssl.keystore.location": filepath.Join(dir, "server.pem"),
			// SCRAM keeps what it checks against in the cluster; this says only that it is served here.
			"listener.name.secure.scram-sha-256.sasl.jaas.config": scramModule,
			"listener.name.secure.scram-sha-512.sasl.jaas.config": scramModule,
		})
	}
	maps.Copy(settings, map[string]string{
		"node.id": strconv.Itoa(id), "log.dirs": filepath.Join(dir, "data"), "advertised.listeners": doors,
		"listeners": doors + ",CONTROLLER://" + address(own[listenerController]),
	})
	maps.Copy(settings, p.settings)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		_, _ = fmt.Fprintf(&text, "%s=%s\n", name, settings[name]) // a builder takes everything
	}
	return text.String()
}

const scramModule = "org.apache.kafka.common.security.scram.ScramLoginModule required;"

// common is what all brokers of the cluster share. A broker that was killed is given up after three seconds, and the
// cleaner of compacted topics, whose buffer alone is a third of the heap by default, gets a small one.
func (p *plan) common() map[string]string {
	replicas, inSync := len(p.ports), len(p.ports)/2+1
	voters := make([]string, 0, len(p.ports))
	for i, address := range p.addresses(listenerController) {
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, address))
	}
	settings := map[string]string{
		"process.roles": "broker,controller", "controller.quorum.voters": strings.Join(voters, ","),
		"controller.listener.names": "CONTROLLER", "inter.broker.listener.name": "PLAIN",
		"listener.security.protocol.map":   "PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
		"auto.create.topics.enable":        "false",
		"unclean.leader.election.enable":   "false",
		"default.replication.factor":       strconv.Itoa(replicas),
		"min.insync.replicas":              strconv.Itoa(inSync),
		"message.max.bytes":                strconv.Itoa(kafkalog.LargestBatch),
		"broker.session.timeout.ms":        "3000",
		"broker.heartbeat.interval.ms":     "300",
		"log.cleaner.dedupe.buffer.size":   strconv.Itoa(4 << 20),
		"group.initial.rebalance.delay.ms": "0",
	}
	for _, internal := range []string{"offsets.topic", "transaction.state.log", "share.coordinator.state.topic"} {
		settings[internal+".num.partitions"] = "1"
		settings[internal+".replication.factor"] = strconv.Itoa(replicas)
	}
	settings["transaction.state.log.min.isr"] = strconv.Itoa(inSync)
	settings["share.coordinator.state.topic.min.isr"] = strconv.Itoa(inSync)
	return settings
}

// format are the arguments that make a broker's storage, and in it the user of the secure listener.
func (p *plan) format(properties string) []string {
	arguments := []string{"format", "-t", p.id, "-c", properties}
	if p.password != "" {
		for _, mechanism := range []Mechanism{SHA256, SHA512} {
			arguments = append(arguments, "-S", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, user, p.password))
		}
	}
	return arguments
}
