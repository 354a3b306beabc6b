package switchover

import (
	"fmt"
	"strings"

	"tidemark/shared/position"
)

// Site is what is known of where a switch would happen. What is not known stands in the commands as a word in capitals.
type Site struct {
	Record  Record // as found; empty: nobody looked
	Flows   []Flow // whose functions may be unknown
	Brokers []string
	LogsIn  bool // the brokers want TLS or a login: the commands name a file with the client's settings
	At      map[string]position.Cut
}

// Steps are commands of a POSIX shell, in order.
type Steps struct {
	Stop  []string // before anything is recovered
	Move  []string // when the target is live
	Start []string
}

// Commands are what a person would run instead of Stop and Finish. Of a flow that stands nowhere no group is moved.
func Commands(s Site) Steps {
	var steps Steps
	if len(s.Record.Mappings) == 0 {
		s.Record = s.placeholders(&steps)
	}
	for _, m := range s.Record.Mappings {
		comment := " # topic " + m.Topic
		if m.Enabled {
			steps.Stop = append(steps.Stop, update(m, "--no-enabled")+comment)
			steps.Start = append(steps.Start, update(m, "--enabled")+comment)
		}
		steps.Move = append(steps.Move, s.moves(m)...)
	}
	for _, m := range s.Record.Mappings {
		steps.Stop = append(steps.Stop, await(m, Disabled))
		if m.Enabled {
			steps.Start = append(steps.Start, await(m, Enabled))
		}
	}
	return steps
}

// word is a word that a person replaces: it is not quoted.
const (
	wordFunction = "FUNCTION"
	wordUUID     = "UUID-OF-"
	wordGroup    = "GROUP-OF-"
	wordBrokers  = "BOOTSTRAP"
	wordClient   = "CLIENT.properties"
)

// placeholders is a record of one mapping for each topic, and the commands that say what the words stand for.
func (s Site) placeholders(steps *Steps) Record {
	var r Record
	for _, flow := range s.Flows {
		function := wordFunction
		if flow.Function != "" {
			function = quote(flow.Function)
		}
		steps.Stop = append(steps.Stop, "aws lambda list-event-source-mappings --function-name "+function+" --query "+
			quote("EventSourceMappings[].[UUID,State,Topics,AmazonManagedKafkaEventSourceConfig,SelfManagedKafkaEventSourceConfig]")+
			" # flow "+flow.Name+": its UUIDs, and groups as ConsumerGroupId; without one the group is the UUID")
		for _, topic := range flow.Topics {
			r.Mappings = append(r.Mappings, Remembered{
				Flow: flow.Name, UUID: wordUUID + topic, Topic: topic, Group: wordGroup + topic, Enabled: true,
			})
		}
	}
	return r
}

func update(m Remembered, to string) string {
	return "aws lambda update-event-source-mapping --uuid " + quote(m.UUID) + " " + to
}

// await polls: the command line of AWS waits for no mapping by itself.
func await(m Remembered, want State) string {
	return fmt.Sprintf(`until [ "$(aws lambda get-event-source-mapping --uuid %s --query State --output text)" = %s ]; do sleep 5; done`,
		quote(m.UUID), want)
}

// moves are the commands for a mapping's group, one for each partition since each has an offset of its own.
func (s Site) moves(m Remembered) (commands []string) {
	brokers := wordBrokers
	if len(s.Brokers) > 0 {
		brokers = quote(strings.Join(s.Brokers, ","))
	}
	command := "kafka-consumer-groups.sh --bootstrap-server " + brokers
	if s.LogsIn {
		command += " --command-config " + wordClient
	}
	at := s.At[m.Flow]
	for _, p := range at.Partitions() {
		if p.Topic == m.Topic {
			commands = append(commands, fmt.Sprintf("%s --group %s --topic %s --reset-offsets --to-offset %s --execute", command,
				quote(m.Group), quote(fmt.Sprintf("%s:%d", p.Topic, p.Number)), at[p]))
		}
	}
	return commands
}

// quote writes a word so that a POSIX shell reads it as it is.
func quote(word string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-"
	if word != "" && strings.Trim(word, plain) == "" && !strings.HasPrefix(word, "-") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
