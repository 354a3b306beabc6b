package config

import (
	"tidemark/shared/config/brokers"
	"tidemark/shared/config/setting"
	"tidemark/shared/secret"
)

// Recovery is the environment of whoever recovers a target.
type Recovery struct {
	Process
	Archive  Archive
	Kafka    brokers.Kafka
	FlowFile string // path, empty when the environment names none
	// Scratch is the database of rehearsals, as Process.Database is the target's. Zero: each makes one and drops it.
	Scratch secret.Text
}

// LoadRecovery reads the environment of whoever recovers a target. It leaves the variables of the other processes alone.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func LoadRecovery(lookup func(string) (string, bool), environ []string) (Recovery, error) {
	loaded, err := load(recoveryVariables(), lookup, environ)
	loaded.Kafka.SecretTTL = loaded.SecretTTL
	return loaded, err
}

// Settings lists the variables of whoever recovers a target.
func (Recovery) Settings() []setting.Setting { return setting.Describe(recoveryVariables()) }

// recoveryVariables is the table of the variables of whoever recovers a target.
func recoveryVariables() []setting.Field[Recovery] {
	fields := setting.Lift(processVariables(), func(r *Recovery) *Process { return &r.Process })
	fields = append(fields, setting.Lift(archiveVariables(), func(r *Recovery) *Archive { return &r.Archive })...)
	fields = append(fields, setting.Lift(brokers.Variables(), func(r *Recovery) *brokers.Kafka { return &r.Kafka })...)
	return append(fields, flowFile(false, func(r *Recovery) *string { return &r.FlowFile }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_SCRATCH_DATABASE_URL", Secret: true, Example: "postgres://tidemark@scratch.example.com:5432/rehearsal",
			Meaning: "An empty database that a rehearsal fills and leaves. Without a password in it the target's login is taken. " +
				"Not set: each rehearsal makes a database beside the target's, and drops it.",
		}, databaseURL(), func(r *Recovery) *secret.Text { return &r.Scratch }))
}
