package config

import (
	"time"

	"tidemark/shared/config/brokers"
	"tidemark/shared/config/setting"
)

// Recovery is the environment of whoever recovers a target.
type Recovery struct {
	Process
	Archive  Archive
	Kafka    brokers.Kafka
	FlowFile string // path, empty when the environment names none
}

// LoadRecovery reads the environment of whoever recovers a target. It leaves the variables of the other processes alone.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func LoadRecovery(lookup func(string) (string, bool), environ []string) (Recovery, error) {
	loaded, err := load(recoveryVariables(), lookup, environ)
	loaded.Kafka.SecretTTL = loaded.SecretTTL
	return loaded, err
}

// LoadKafka reads what the environment says of the brokers, for whoever asks nothing else of it. named is false where it names
// none.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func LoadKafka(lookup func(string) (string, bool), environ []string) (c brokers.Kafka, named bool, err error) {
	if at, _ := lookup("TIDEMARK_KAFKA_BROKERS"); at == "" {
		return c, false, nil
	}
	fields := append(brokers.Variables(), secretTTL(func(k *brokers.Kafka) *time.Duration { return &k.SecretTTL }))
	c, err = load(fields, lookup, environ)
	return c, true, err
}

// Settings lists the variables of whoever recovers a target.
func (Recovery) Settings() []setting.Setting { return setting.Describe(recoveryVariables()) }

// recoveryVariables is the table of the variables of whoever recovers a target.
func recoveryVariables() []setting.Field[Recovery] {
	fields := setting.Lift(processVariables(), func(r *Recovery) *Process { return &r.Process })
	fields = append(fields, setting.Lift(archiveVariables(), func(r *Recovery) *Archive { return &r.Archive })...)
	fields = append(fields, setting.Lift(brokers.Variables(), func(r *Recovery) *brokers.Kafka { return &r.Kafka })...)
	return append(fields, flowFile(false, func(r *Recovery) *string { return &r.FlowFile }))
}
