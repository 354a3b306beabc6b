// Package config owns what Tidemark is told from outside: the TIDEMARK_* variables of a process and the flow file.
//
// One table per source (variables.go, archive.go, backup.go, recovery.go, brokers, expiry.go, keys.go) holds every setting with
// its range, its default and its meaning; reading, checking and the reference page docs/configuration.md come from it, so no rule is written twice. The
// package refuses what it does not know: a variable or key that nobody reads is a typing error that would otherwise
// be passed over in silence.
//
// Invariants: a value that is returned without an error satisfies every rule; an error names the setting, what was
// given, what is allowed and what to do, for all problems of a source at once, and is of class fault.Misconfigured;
// no output and no error holds a secret. The environment comes through a function that the caller passes, the flow
// file from disk; there is no other I/O and no state, so everything may be called from several goroutines.
package config

import (
	"log/slog"
	"slices"
	"time"

	"tidemark/shared/config/setting"
	"tidemark/shared/expiry/policy"
	"tidemark/shared/position"
	"tidemark/shared/secret"
)

// Process is what every process is told.
type Process struct {
	TargetID position.TargetID
	// Database is the connection string for pgx, complete: the password of TIDEMARK_DATABASE_PASSWORD and the sslmode are
	// in it.
	Database secret.Text
	// DatabaseSecret holds the login of each connection. Zero: the string's own.
	DatabaseSecret secret.Name
	SecretTTL      time.Duration // how long what a secret holds is believed
	DatabaseIAM    bool          // a token of IAM is sent in place of a password
	LedgerSchema   string
	Connections    int
	ConnectTimeout time.Duration
	// PreparedStatements is false behind a pooler that gives a session another connection.
	PreparedStatements bool
	LogLevel           slog.Level
}

// Apply is the environment of the apply function.
type Apply struct {
	Process
	FlowFile string // path
	// PartialReplies must be what the event source mapping says: a partial reply that the service does not expect is
	// taken for success.
	PartialReplies bool
}

// Command is the environment of the operator's command.
type Command struct {
	Process
	FlowFile string // path, empty when the environment names none
}

// Archivist is the environment of a verb on archives, which needs no database.
type Archivist struct {
	TargetID position.TargetID
	LogLevel slog.Level
	Archive  Archive
	Expiry   policy.Policy
}

// LoadApply reads the environment of the apply function. lookup and environ are os.LookupEnv and os.Environ(). An empty
// variable counts as absent.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func LoadApply(lookup func(string) (string, bool), environ []string) (Apply, error) {
	return load(applyVariables(), lookup, environ)
}

// LoadCommand reads the environment of the operator's command. It takes the variables of the other processes too, and
// leaves them alone: a shell may hold them all.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func LoadCommand(lookup func(string) (string, bool), environ []string) (Command, error) {
	return load(commandVariables(), lookup, environ)
}

// LoadArchivist reads the environment of a verb on archives. It leaves the variables of the other processes alone.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func LoadArchivist(lookup func(string) (string, bool), environ []string) (Archivist, error) {
	return load(archivistVariables(), lookup, environ)
}

// ApplySettings lists the variables of the apply function.
func ApplySettings() []setting.Setting { return setting.Describe(applyVariables()) }

// Settings lists the variables of the operator's command.
func (Command) Settings() []setting.Setting { return setting.Describe(commandVariables()) }

// Settings lists the variables of the verbs on archives.
func (Archivist) Settings() []setting.Setting { return setting.Describe(archivistVariables()) }

func load[T any](fields []setting.Field[T], lookup func(string) (string, bool), environ []string) (T, error) {
	from := setting.Environment{Lookup: lookup, Environ: environ, Prefix: "TIDEMARK_"}
	for _, s := range slices.Concat(ApplySettings(), Command{}.Settings(), Archivist{}.Settings(), Backup{}.Settings(),
		Recovery{}.Settings()) {
		from.Known = append(from.Known, s.Name)
	}
	hint := "set the variables in the process's environment and start it again; " + reference
	return setting.ReadVariables(fields, from, hint)
}

const reference = "docs/configuration.md lists every setting"
